/**
 * What `--help` shows of a command with many flags.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { runHere } from "./harness/InProcess.ts"

it.live("shows the flags of a run of the suite under headings", () =>
  Effect.gen(function* () {
    const { code, stdout } = yield* runHere(["conformance", "run", "--help"], {})
    assert.strictEqual(code, 0)
    const flags = stdout.slice(stdout.indexOf("FLAGS\n"), stdout.indexOf("GLOBAL FLAGS"))
    const places = [
      "\n\n Target\n  --url ",
      "\n\n What the receiver shows\n  --probe ",
      "\n\n Hooks\n  --spawn ",
      "\n\n What is tested\n  --level ",
      "\n\n Time\n  --max-time ",
      "\n\n Reports\n  --report "
    ].map((text) => flags.indexOf(text))
    assert.notInclude(places, -1, flags)
    assert.deepStrictEqual(
      places,
      places.toSorted((a, b) => a - b)
    )
  })
)
