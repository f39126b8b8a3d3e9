/**
 * Settings: flags, the command that repeats a run, and the evidence agree.
 */
import { CommandFailure } from "@doorhook/core"
import { wordsOf } from "@doorhook/testkit/Bash"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { checkFlags, runFlags, targetFlags } from "../src/command/Flags.ts"
import { defaults, Options, repeatCommand, rows } from "../src/record/Options.ts"
import type { Options as Settings } from "../src/record/Options.ts"

/** Reads a command line. Returns its settings, or what is wrong with it. */
const read = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const found: Array<Settings> = []
  const command = Command.make(
    "replay",
    { what: Argument.String("what"), ...targetFlags },
    Effect.fnUntraced(function* (flags) {
      const { options } = yield* checkFlags(flags)
      found.push({ ...options, seed: options.seed ?? -1 })
    })
  )
  const exit = yield* Command.runWith(command, { version: "0.0.0" })(words).pipe(
    Effect.provide(NodePlatform.layer),
    Effect.exit
  )
  if (Exit.isSuccess(exit)) return found[0] ?? assert.fail("nothing was read")
  const error = Cause.squash(exit.cause)
  return error instanceof CommandFailure ? error.message : assert.fail(String(error))
})

const url = "http://127.0.0.1:9000/hook"
const usual: Settings = { ...defaults, url: [url], seed: 7 }

const cases: ReadonlyArray<readonly [what: string, Partial<Settings>]> = [
  ["nothing but the URL", {}],
  ["a probe", { level: 2, probe: "exec:./count it" }],
  ["a level beside a probe", { level: 1, probe: "http:http://127.0.0.1:9000/probe" }],
  ["bindings", { binding: ["access_log:create"] }],
  [
    "the criteria",
    { ack: "2xx", deadline: 400, tolerance: 600_000, dedupKey: "body", peakRate: 50, profile: ["load"] }
  ],
  ["times", { settle: 300, maxTime: 90_000 }],
  [
    "hooks",
    { level: 3, probe: "exec:count", restartCmd: "./restart it's", killCmd: "kill", pauseCmd: "p", resumeCmd: "r" }
  ],
  ["a spawned receiver", { level: 3, probe: "exec:count", spawn: "node server.js", portEnv: "PORT" }],
  ["two URLs", { url: [url, "http://127.0.0.1:9000/other"], level: 2, probe: "exec:count", profile: ["tenant"] }],
  ["an owned target", { owned: true, readyUrl: "http://127.0.0.1:9000/ready", controlUrl: "http://127.0.0.1:9/c" }]
]

describe("the command that repeats a run", () => {
  it.live.each(cases)("gives the same settings: %s", ([, over]) =>
    Effect.gen(function* () {
      const options = { ...usual, ...over }
      const [npx, doorhook, conformance, replay, ...words] = wordsOf(repeatCommand(options, "R-ACK-01"))
      assert.deepStrictEqual([npx, doorhook, conformance, replay], ["npx", "doorhook", "conformance", "replay"])
      assert.deepStrictEqual(yield* read(...words), options)
    })
  )

  it("leaves out defaults, queries and secrets", () => {
    assert.strictEqual(
      repeatCommand(usual, "R-ACK-01"),
      `npx doorhook conformance replay R-ACK-01 --url ${url} --seed 7`
    )
    const hidden = { ...usual, url: [`${url}?token=hush`], signed: true, only: ["R-ACK-01"], trace: "x.json" }
    assert.strictEqual(
      repeatCommand(hidden, "R-ACK-01"),
      `DOORHOOK_CONFORMANCE_SECRET=whsec_... npx doorhook conformance replay R-ACK-01 --url '${url}?...' --seed 7`
    )
  })
})

describe("a setting", () => {
  it("has a flag of the same name; other flags only give a secret, a report or a dry run", () => {
    const named = Object.keys(runFlags)
    assert.deepStrictEqual(
      Object.keys(rows).filter((name) => !named.includes(name)),
      []
    )
    assert.deepStrictEqual(
      named.filter((name) => !Object.hasOwn(rows, name)),
      ["secret", "secretFile", "dryRun", "report"]
    )
  })

  it("is stored in evidence unchanged", () => {
    const json = Schema.fromJsonString(Options)
    for (const [, over] of cases) {
      const options = { ...usual, ...over }
      assert.deepStrictEqual(Schema.decodeSync(json)(Schema.encodeSync(json)(options)), options)
    }
  })
})

describe("the command refuses", () => {
  const refusals: ReadonlyArray<readonly [flags: ReadonlyArray<string>, says: string]> = [
    [["--binding", "visit:create"], "--binding visit:create: no such binding; use access_log:create or call:create"],
    [["--tolerance", "0s"], "--tolerance must be more than 0s"]
  ]
  it.live.each(refusals)("%s", ([flags, says]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* read("R-ACK-01", "--url", url, ...flags), says)
    })
  )
})
