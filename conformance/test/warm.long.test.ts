/**
 * Receivers that forget ids. One loads only its latest ids after a restart: it fails the run, and the command in the
 * report says FIXED only once it is fixed. The other one forgets ids after a minute.
 */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { conformanceProgram, receiverProgram } from "@doorhook/testkit/Doorhook"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync, writeFileSync } from "node:fs"
import { conformance, idsWith } from "./support/command.ts"

const node = `${process.execPath} --no-warnings`

/** Runs a line of a report in a shell. Returns the exit code and everything that was printed. */
const paste = (line: string) =>
  Effect.callback<{ readonly exitCode: number; readonly output: string }>((resume) => {
    const child = execFile(
      "/bin/sh",
      ["-c", line.replace("npx doorhook conformance", `${process.execPath} ${conformanceProgram}`)],
      (_, stdout, stderr) => resume(Effect.succeed({ exitCode: child.exitCode ?? -1, output: stdout + stderr }))
    )
  })

describe("a receiver that loads only its latest hundred ids after a restart", () => {
  it.live("fails, and is reported as fixed when it is, not before", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const fault = `${folder}/fault`
      writeFileSync(fault, "warm-100")
      const { exitCode, output, report } = yield* conformance(
        "run",
        "--url",
        "http://127.0.0.1:0/hook",
        "--spawn",
        `exec env DATABASE=${folder}/receiver.db FAULT=$(cat ${fault}) ${node} ${receiverProgram}`,
        "--port-env",
        "PORT",
        "--probe",
        "http://127.0.0.1:0/probe",
        "--level",
        "3",
        "--only",
        "R-CRA-03",
        "--cases",
        `${folder}/cases`,
        "--max-time",
        "6m"
      )
      assert.strictEqual(exitCode, 1, output)
      assert.deepStrictEqual([...idsWith(report, "FAIL")], ["R-CRA-03"], output)
      const failed = report?.requirements[0]
      const replay = failed?.replay ?? assert.fail(output)
      const stored = failed?.stored ?? assert.fail(output)

      const unfixed = yield* paste(replay)
      assert.match(unfixed.output, /^(STILL FAILS|OPEN) /m, `${unfixed.output}\n${output}`)
      assert.notInclude(unfixed.output, "FIXED")
      assert.include([1, 2], unfixed.exitCode)
      assert.isTrue(existsSync(stored), "it is kept")

      writeFileSync(fault, "")
      const fixed = yield* paste(replay)
      assert.match(fixed.output, /^FIXED /m, fixed.output)
      assert.strictEqual(fixed.exitCode, 0)
      assert.isFalse(existsSync(stored))
    })
  )
})

describe("a receiver that remembers ids for a minute", () => {
  it.live("fails a usual run at level 3, without a clock that can be moved", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { exitCode, output, report } = yield* conformance(
        "run",
        "--url",
        "http://127.0.0.1:0/hook",
        "--spawn",
        `exec env DATABASE=${folder}/receiver.db FAULT=one-minute ${node} ${receiverProgram}`,
        "--port-env",
        "PORT",
        "--probe",
        "http://127.0.0.1:0/probe",
        "--max-time",
        "2m"
      )
      assert.strictEqual(report?.level, 3)
      // The failures that follow from it, such as R-DUP-02, are folded under it.
      const failed = report?.requirements.filter(({ fails, under }) => fails && under === null).map(({ id }) => id)
      assert.deepStrictEqual([exitCode, failed], [1, ["R-DUP-05"]], output)
      assert.include(report?.requirements.find(({ id }) => id === "R-DUP-05")?.case?.title, "a minute")
    })
  )
})
