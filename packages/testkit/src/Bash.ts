/**
 * How bash parses a command that was printed for copying.
 */
import { execFileSync } from "node:child_process"

/** The words of a command in a locale. The default is the plain C locale. */
export const wordsOf = (command: string, locale = "C"): ReadonlyArray<string> =>
  execFileSync("bash", ["-c", `printf '%s\\0' ${command}`], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: locale }
  })
    .split("\0")
    .slice(0, -1)
