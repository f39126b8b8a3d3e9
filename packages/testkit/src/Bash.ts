/**
 * What bash makes of a command that was printed to be copied.
 */
import { execFileSync } from "node:child_process"

/** Its words, in a locale: the plainest there is, unless it is told. */
export const wordsOf = (command: string, locale = "C"): ReadonlyArray<string> =>
  execFileSync("bash", ["-c", `printf '%s\\0' ${command}`], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: locale }
  })
    .split("\0")
    .slice(0, -1)
