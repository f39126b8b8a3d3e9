/**
 * The command that a report prints to do it again: it says all that the run was told, so it means the same.
 */
import { assert, describe, it } from "@effect/vitest"
import { wordsOf } from "@doorhook/testkit/Bash"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { Effect, Option, Redacted } from "effect"
import { Argument, Command } from "effect/cli"
import { plainOptionsOf } from "../src/command/RunCommand.ts"
import { checkFlags } from "../src/command/RunFlags.ts"
import type { TargetFlags } from "../src/command/RunFlags.ts"
import { targetFlags } from "../src/command/Shared.ts"
import { invocationOf } from "../src/report/MakeReport.ts"
import { rerunOf } from "../src/report/Rerun.ts"
import { factsOf } from "../src/record/Facts.ts"
import { withDefaults } from "../src/record/SuiteOptions.ts"

/** The flags that `replay` reads out of a command line. */
const parsed = (...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const seen: Array<TargetFlags> = []
    const replay = Command.make("replay", { what: Argument.String("what"), ...targetFlags }, (flags) =>
      Effect.sync(() => void seen.push(flags))
    )
    yield* Command.runWith(replay, { version: "0" })(args)
    const [flags] = seen
    return flags ?? assert.fail("nothing was read")
  }).pipe(Effect.provide(NodePlatform.layer))

/** What is printed for a run with these flags. */
const printed = Effect.fnUntraced(function* (flags: TargetFlags) {
  const options = withDefaults(plainOptionsOf(flags, yield* checkFlags(flags)), 7)
  return rerunOf(invocationOf(factsOf(options)), "R-ACK-01")
})

const secret = "whsec_dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI="

/** One value for each flag that a run has. A new flag belongs here, and into what is printed. */
const values: Readonly<Record<keyof typeof targetFlags, ReadonlyArray<string>>> = {
  url: ["--url", "http://127.0.0.1:9000/hook", "--url", "http://127.0.0.1:9000/hook/other"],
  probe: ["--probe", "exec:grep -cw \"$EVENT_ID\" 'a file' || true"],
  restartCmd: ["--restart-cmd", "kill $(cat pid); ./start &"],
  killCmd: ["--kill-cmd", "kill -9 $(cat pid)"],
  readyUrl: ["--ready-url", "http://127.0.0.1:9000/ready"],
  pauseCmd: ["--pause-cmd", "kill -STOP 1"],
  resumeCmd: ["--resume-cmd", "kill -CONT 1"],
  advanceCmd: ["--advance-cmd", "faketime"],
  controlUrl: ["--control-url", "http://127.0.0.1:9000/control"],
  spawn: ["--spawn", "exec node 'my server.js'"],
  portEnv: ["--port-env", "PORT"],
  secret: ["--secret", secret],
  secretFile: [],
  level: ["--level", "3"],
  profile: ["--profile", "signed,tenant", "--profile", "clock,load"],
  peakRate: ["--peak-rate", "3000/m"],
  ack: ["--ack", "2xx"],
  deadline: ["--deadline", "400ms"],
  settle: ["--settle", "30s"],
  dedupKey: ["--dedup-key", "header"],
  seed: ["--seed", "11"],
  maxTime: ["--max-time", "5m"],
  report: ["--report", "json=a.json"],
  cases: ["--cases", "elsewhere"],
  owned: ["--i-own-this-target"]
}

/** What is not said again: it says nothing of what is sent, or is a secret. */
const unsaid = { report: [], cases: "", secret: Option.none(), secretFile: Option.none(), profile: [] }

const without = (...names: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.entries(values).flatMap(([name, words]) => (names.includes(name) ? [] : words))

const runs: ReadonlyArray<readonly [what: string, flags: ReadonlyArray<string>]> = [
  ["every flag, with commands", without("spawn", "portEnv")],
  ["every flag, with a receiver of its own", without("restartCmd", "killCmd", "pauseCmd", "resumeCmd")],
  ["a second URL, as the tenant profile needs", [...values.url, "--profile", "tenant", ...values.probe]],
  ["level 1 beside a probe", ["--url", "http://127.0.0.1:9000/hook", ...values.probe, "--level", "1", "--seed", "3"]],
  ["level 2 beside a way to restart", [...values.url, ...values.probe, ...values.restartCmd, "--level", "2"]]
]

describe("the command that does it again", () => {
  it.effect.each(runs)("means the same: %s", ([, given]) =>
    Effect.gen(function* () {
      const flags = yield* parsed("R-ACK-01", ...given)
      const words = wordsOf(yield* printed(flags))
      const signed = Option.isSome(flags.secret)
      assert.strictEqual(words[0], signed ? "DOORHOOK_CONFORMANCE_SECRET=whsec_..." : "npx")
      const from = words.indexOf("replay") + 1
      const again = yield* parsed(...words.slice(from), ...(signed ? values.secret : []))
      const seed = Option.orElseSome(flags.seed, () => 7)
      // The level follows from the means where none was given.
      assert.deepStrictEqual({ ...again, ...unsaid, level: null }, { ...flags, ...unsaid, seed, level: null })
      const meant = ({ secret, ...checked }: Effect.Success<ReturnType<typeof checkFlags>>) => ({
        ...checked,
        secret: secret === null ? null : Redacted.value(secret)
      })
      assert.deepStrictEqual(meant(yield* checkFlags(again)), meant(yield* checkFlags(flags)))
    })
  )
})
