/**
 * The output of `--help`, for all commands and for one with many flags.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { live } from "./harness/Embedded.ts"
import { runHere } from "./harness/InProcess.ts"

/** Returns the commands in a help text. */
const subcommandsIn = (help: string): ReadonlyArray<string> =>
  [...(/\nSUBCOMMANDS\n([^]*?)(?:\n\n|$)/.exec(`${help}\n`)?.[1] ?? "").matchAll(/^ {2}([a-z-]+)/gm)].map(
    ([, name = ""]) => name
  )

/** Prints the help of a command and of all its subcommands. Returns their names. */
const explained = (path: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const { code, stderr, stdout } = yield* runHere([...path, "--help"])
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" }, path.join(" "))
    assert.include(stdout, ["doorhook", ...path].join(" "))
    const below = yield* Effect.forEach(subcommandsIn(stdout), (name) => explained([...path, name]))
    return [path.join(" "), ...below.flat()]
  })

it.live("explains each of the commands", () =>
  Effect.map(explained([]), (commands) =>
    assert.includeMembers(
      [...commands],
      ["serve", "worker", "deliveries recover", "simulate merge", "conformance replay"]
    )
  )
)

live("shows the flags of `conformance run` under headings", function* () {
  const { code, stdout } = yield* runHere(["conformance", "run", "--help"], {})
  assert.strictEqual(code, 0)
  const flags = stdout.slice(stdout.indexOf("FLAGS\n"), stdout.indexOf("GLOBAL FLAGS"))
  const places = [
    "\n\n Target\n  --url ",
    "\n\n Probe and control\n  --probe ",
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
