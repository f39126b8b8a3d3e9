/**
 * Parses printed commands as bash would after copy and paste.
 */
import { execFileSync } from "node:child_process"

/** Returns the words into which bash splits a command, in the given locale. */
export const wordsOf = (command: string, locale = "C"): ReadonlyArray<string> =>
  execFileSync("bash", ["-c", `printf '%s\\0' ${command}`], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: locale }
  })
    .split("\0")
    .slice(0, -1)
