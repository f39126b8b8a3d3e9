/**
 * What bash makes of a command that was printed to be copied.
 */
import { execFileSync } from "node:child_process"

/** Its words. */
export const wordsOf = (command: string): ReadonlyArray<string> =>
  execFileSync("bash", ["-c", `export LC_ALL=C.UTF-8; printf '%s\\0' ${command}`], { encoding: "utf8" })
    .split("\0")
    .slice(0, -1)
