/**
 * Parses commands that were printed for copying, like bash.
 */
import { execFileSync } from "node:child_process"

/** Returns the words of a command in a locale, by default the plain C locale. */
export const wordsOf = (command: string, locale = "C"): ReadonlyArray<string> =>
  execFileSync("bash", ["-c", `printf '%s\\0' ${command}`], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: locale }
  })
    .split("\0")
    .slice(0, -1)
