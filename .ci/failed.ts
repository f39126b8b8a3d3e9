/**
 * Names the failed tests of a run, from its output on standard input, and runs each of them a second time, alone. A
 * machine that was busy can fail a test that waits for processes and sockets; such a test is named as unsteady, so that
 * it gets mended. A property that found a counterexample stays failed: another seed proves nothing. Prints as its last
 * line how many of the failed tests passed.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { stripVTControlCharacters } from "node:util"

/** A run with more failures is not a matter of a busy machine. */
const most = 3

const output = stripVTControlCharacters(readFileSync(0, "utf8"))

/** The sections of vitest's list of failures: "FAIL  file > suite > test", and then the reason. */
const failures = output
  .split(/^ FAIL {2}/m)
  .slice(1)
  .flatMap((section) => {
    const [title = "", ...reason] = section.split("\n")
    const [file = "", ...names] = title.split(" > ")
    return names.length === 0 ? [] : [{ title, file, name: names.join(" > "), reason: reason.slice(0, 8).join("\n") }]
  })

const isSteady = ({ file, name, reason }: (typeof failures)[number]): boolean => {
  if (reason.includes("Property failed")) return true
  const config = file.endsWith(".long.test.ts") ? ".ci/vitest.long.config.ts" : ".ci/vitest.config.ts"
  const literal = name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
  // Vitest cuts long values in titles, at the end.
  const exactly = literal.endsWith("…") ? `^${literal.slice(0, -1)}` : `^${literal}$`
  // A random sample of a matrix might lack the test.
  const env = { ...process.env, DOORHOOK_WHOLE: "1" }
  const { status, stdout } = spawnSync("vitest", ["run", "--config", config, file, "-t", exactly], {
    encoding: "utf8",
    env
  })
  // A pattern that matches no test ends with 0, too.
  return status !== 0 || !/Tests .*\b[1-9]\d* passed/.test(stripVTControlCharacters(stdout))
}

const again = failures.length > most || output.includes("Unhandled Error") ? [] : failures
const unsteady = again.filter((failure) => !isSteady(failure))
for (const failure of failures) {
  const verdict = unsteady.includes(failure) ? "UNSTEADY, passed when run alone" : "FAILED"
  process.stdout.write(`${verdict}: ${failure.title}\n${failure.reason}\n`)
}
process.stdout.write(`${unsteady.length}\n`)
