/**
 * From a failure to its end, as a user goes: a run finds out a receiver that reads back only its latest ids after a
 * restart, and the command that the report gives says FIXED once it is, and not before.
 */
import { assert, describe, it } from "@effect/vitest"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { conformanceProgram } from "@doorhook/testkit/Programs"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync, writeFileSync } from "node:fs"
import { conformance, idsWith } from "./support/command.ts"

const receiver = new URL("../src/mutants/main.ts", import.meta.url).pathname
const node = `${process.execPath} --conditions=source --no-warnings`

/** Runs a line of a report in a shell; answers its exit code and all that it printed. */
const paste = (line: string) =>
  Effect.callback<{ readonly exitCode: number; readonly output: string }>((resume) => {
    const child = execFile(
      "/bin/sh",
      ["-c", line.replace("npx doorhook conformance", `${process.execPath} ${conformanceProgram}`)],
      (_, stdout, stderr) => resume(Effect.succeed({ exitCode: child.exitCode ?? -1, output: stdout + stderr }))
    )
  })

describe("a receiver that reads back its latest hundred ids after a restart", () => {
  it.live("is found out, never said to be fixed while it is not, and said so once it is", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const fault = `${folder}/fault`
      writeFileSync(fault, "warm-100")
      const { exitCode, output, report } = yield* conformance(
        "run",
        "--url",
        "http://127.0.0.1:0/hook",
        "--spawn",
        `exec env DATABASE=${folder}/receiver.db FAULT=$(cat ${fault}) ${node} ${receiver}`,
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
        "2m"
      )
      assert.strictEqual(exitCode, 1, output)
      assert.deepStrictEqual([...idsWith(report, "FAIL")], ["R-CRA-03"], output)
      const failed = report?.requirements[0]
      const replay = failed?.replay ?? assert.fail(output)
      const stored = failed?.stored ?? assert.fail(output)

      const unmended = yield* paste(replay)
      assert.match(unmended.output, /^(FAILS|OPEN) /m)
      assert.notInclude(unmended.output, "FIXED")
      assert.include([1, 2], unmended.exitCode)
      assert.isTrue(existsSync(stored), "it is kept")

      writeFileSync(fault, "")
      const mended = yield* paste(replay)
      assert.match(mended.output, /^FIXED /m, mended.output)
      assert.strictEqual(mended.exitCode, 0)
      assert.isFalse(existsSync(stored))
    })
  )
})
