import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { CommandFailure } from "@doorhook/core"
import { presetNames } from "@doorhook/simulator"
import { plan } from "../src/plan/Plan.ts"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Sink, Stdio, Stream } from "effect"
import { TestConsole } from "effect/testing"
import { OperatorClient } from "../src/run/OperatorApi.ts"
import { clientOf, platform, printed, simulate } from "./simulateCli.ts"
import { scenarioOf, startAt } from "./support.ts"

/**
 * Starts a service that answers with this status and records the keys of requests. Every accepted request creates three
 * deliveries.
 */
const service = Effect.fnUntraced(function* (status: number) {
  const keys: Array<string | undefined> = []
  const rows = ["dlv_1", "dlv_2", "dlv_3"].map((id, at) => {
    return { id, event_id: "evt_1", integration_id: at + 1, state: "delivered", attempts: 1 }
  })
  const { origin: url } = yield* startReceiver(({ headers, method }) => {
    if (method === "GET")
      return { status: 200, body: JSON.stringify({ deliveries: keys.length > 0 ? rows : [], next: null }) }
    keys.push(headers.authorization)
    return { status, body: JSON.stringify({ events: [{ id: "evt_1", deliveries: rows.length }] }) }
  })
  return { keys, url }
})

const quietDay = ["--preset", "quiet", "--seed", "7", "--start", "2026-03-03T00:00"] as const

const expectedLines = plan(scenarioOf("quiet"), {
  seed: 7,
  start: startAt("2026-03-03T00:00"),
  duration: 86_400_000
}).pipe(
  Stream.map((event) => `${JSON.stringify(event)}\n`),
  Stream.mkString
)

describe("simulate plan", () => {
  it.live("writes the plan to a file", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "events.ndjson")
      yield* simulate("plan", ...quietDay, "--duration", "24h", "--out", file)
      const text = yield* Effect.promise(() => readFile(file, "utf8"))
      assert.strictEqual(text, yield* expectedLines)
      assert.include((yield* TestConsole.errorLines).join("\n"), "events written")
    }).pipe(Effect.provide(platform()))
  )

  it.live("accepts /dev/null for both files", () =>
    Effect.gen(function* () {
      yield* simulate("plan", ...quietDay, "--out", "/dev/null", "--labels", "/dev/null")
      assert.include((yield* TestConsole.errorLines).join("\n"), "events written")
    }).pipe(Effect.provide(platform()))
  )

  it.live("writes only the plan to standard output", () =>
    Effect.gen(function* () {
      let output = ""
      const decoder = new TextDecoder()
      const collect = Sink.forEach((chunk: string | Uint8Array) =>
        Effect.sync(() => {
          output += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true })
        })
      )
      yield* Effect.provide(simulate("plan", ...quietDay), Stdio.layerTest({ stdout: () => collect }))
      assert.strictEqual(output, yield* expectedLines)
      assert.strictEqual(yield* printed, "")
    }).pipe(Effect.provide(platform()))
  )

  it.live("names the file that it can't write", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "nowhere", "events.ndjson")
      const failure = yield* Effect.flip(simulate("plan", ...quietDay, "--out", file))
      assert.instanceOf(failure, CommandFailure)
      assert.include(failure.message, file)
    }).pipe(Effect.provide(platform()))
  )
})

describe("simulate preview", () => {
  it.live("draws as many events as the plan has, by local hour", () =>
    Effect.gen(function* () {
      yield* simulate("preview", ...quietDay)
      const text = yield* printed
      const hours = text.split("\n").flatMap((line) => {
        const match = /^(\d\d) +(\d+) +(\d+)/.exec(line)
        return match === null ? [] : [match.slice(1).map(Number)]
      })
      assert.deepStrictEqual(
        hours.map(([hour]) => hour),
        Array.from({ length: 24 }, (_, hour) => hour)
      )
      const events = (yield* expectedLines).trim().split("\n")
      const total = hours.reduce((sum, [, calls = 0, accesses = 0]) => sum + calls + accesses, 0)
      assert.strictEqual(total, events.length)
      // Berlin is one hour ahead of UTC in March.
      const atSix = events.filter((line) => line.startsWith('{"at":"2026-03-03T17:')).length
      const [, calls = 0, accesses = 0] = hours[18] ?? []
      assert.strictEqual(calls + accesses, atSix)
    }).pipe(Effect.provide(platform()))
  )
})

describe("simulate run", () => {
  it.live("publishes with the key from the environment and prints a summary", () =>
    Effect.gen(function* () {
      const { keys, url } = yield* service(202)
      yield* simulate("run", ...quietDay, "--to", `${url}/`, "--as-fast-as-possible", "--batch", "1000")
      assert.deepStrictEqual(keys, ["Bearer from the environment"])
      const text = yield* printed
      const count = (yield* expectedLines).trim().split("\n").length
      assert.match(text, new RegExp(`planned +${count} events`))
      assert.match(text, new RegExp(`accepted +${count}\n`))
      assert.match(text, /deliveries +3\n/)
    }).pipe(Effect.provide(platform({ DOORHOOK_OPERATOR_KEY: "from the environment" })))
  )

  it.live("takes the key from a file, and prefers the flag to both", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "key")
      yield* Effect.promise(() => writeFile(file, "from a file\n"))
      const { keys, url } = yield* service(202)
      const args = ["run", ...quietDay, "--to", url, "--as-fast-as-possible", "--batch", "1000"].concat([
        "--operator-key-file",
        file
      ])
      yield* simulate(...args)
      yield* simulate(...args, "--operator-key", "from the flag")
      assert.deepStrictEqual(keys, ["Bearer from a file", "Bearer from the flag"])
    }).pipe(Effect.provide(platform({ DOORHOOK_OPERATOR_KEY: "from the environment" })))
  )

  it.live("refuses a key file with two lines", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "key")
      yield* Effect.promise(() => writeFile(file, "old\nnew\n"))
      const failure = yield* Effect.flip(
        simulate("run", ...quietDay, "--to", "http://127.0.0.1:1", "--operator-key-file", file)
      )
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.exitCode, CommandFailure.usageExitCode)
      assert.include(failure.message, "expected one key on one line")
      assert.notInclude(failure.message, "old")
    }).pipe(Effect.provide(platform()))
  )

  it.live("fails after its summary if events were not accepted", () =>
    Effect.gen(function* () {
      const { url } = yield* service(422)
      const failure = yield* Effect.flip(
        simulate("run", ...quietDay, "--to", url, "--as-fast-as-possible", "--operator-key", "k")
      )
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.exitCode, 1)
      assert.include(failure.message, "422")
      assert.match(yield* printed, /failed +\d+ \(last: status 422/)
    }).pipe(Effect.provide(platform()))
  )

  const busy = Effect.sync(() => new Response("busy", { status: 503 }))
  it.live.each([
    ["a defect in a later request", Effect.die(new Error("out of order")), "Error: out of order"],
    ["a service that does not report its deliveries", busy, "accepted events: status 503: busy; a longer --grace"]
  ] as const)("fails after %s, and writes its report", ([, afterwards, says]) =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "report.json")
      let published = false
      const client = clientOf(({ method }) => {
        if (method === "GET" && published) return afterwards
        published = method === "POST"
        const body = published ? { events: [{ id: "evt_1", deliveries: 1 }] } : { deliveries: [], next: null }
        return Effect.succeed(Response.json(body))
      })
      const args = ["run", ...quietDay, "--to", "http://127.0.0.1:1", "--operator-key", "k"].concat([
        "--as-fast-as-possible",
        "--batch",
        "1000"
      ])
      const exit = yield* simulate(...args, "--grace", "0s", "--report", `json=${file}`).pipe(
        Effect.provideService(OperatorClient, client),
        Effect.exit
      )
      assert.include(String(exit), says)
      const { totals, verdict } = JSON.parse(yield* Effect.promise(() => readFile(file, "utf8")))
      assert.deepStrictEqual([verdict, totals.lost], ["fail", null])
    }).pipe(Effect.provide(platform()))
  )
})

describe("a long command that sends nothing", () => {
  it.live.each(["preview", "validate"])(
    "%s ends when it is interrupted",
    (command) =>
      Effect.gen(function* () {
        const running = yield* Effect.forkChild(simulate(command, "--duration", "3650d", "--preset", "office-1000"))
        // The command is running, and other fibers get their turns.
        for (let turn = 0; turn < 20; turn++) yield* Effect.promise(setImmediate)
        assert.isUndefined(running.pollUnsafe())
        yield* Fiber.interrupt(running)
        const exit = yield* Fiber.await(running)
        assert.isTrue(Exit.hasInterrupts(exit))
        assert.strictEqual(yield* printed, "")
      }).pipe(Effect.provide(platform())),
    15_000
  )
})

describe("wrong usage", () => {
  const run = ["run", "--to", "http://127.0.0.1:1", "--operator-key", "k"] as const
  it.effect.each([
    { args: ["plan", "--preset", "castle"], says: presetNames.join(", ") },
    { args: ["plan", "--preset", "constructor"], says: presetNames.join(", ") },
    { args: ["plan", "--seed", "1.5"], says: "--seed 1.5: expected a whole number" },
    { args: ["plan", "--seed", "99999999999999999"], says: "--seed" },
    { args: ["plan", "--start", "2000-01-01"], says: "like 2026-03-02T00:00 or 2026-03-02, between 2001 and 2078" },
    { args: ["plan", "--start", "2026-02-30"], says: "--start 2026-02-30: expected a local time like" },
    { args: ["plan", "--duration", "24"], says: "--duration 24: expected a duration like" },
    { args: ["plan", "--duration", "4000d"], says: "at most 3650d" },
    { args: ["plan", "--out", "same", "--labels", "./same"], says: "must not be the same file as --out same" },
    { args: ["preview", "--rate-scale", "0"], says: "--rate-scale 0: expected a number above 0" },
    { args: ["preview", "--rate-scale", "1e3"], says: "at most 1000" },
    { args: [...run, "--speed", "fast"], says: "--speed fast: expected a factor above 0, like 60x" },
    { args: [...run, "--speed", "0x"], says: "--speed 0x" },
    { args: [...run, "--speed", "2x", "--as-fast-as-possible"], says: "can't be used together" },
    { args: [...run, "--max-inflight", "0"], says: "from 1 to 10000" },
    { args: ["run", "--operator-key", "k"], says: "--operator-key needs --to" },
    {
      args: ["run", "--to", "ftp://service", "--operator-key", "k"],
      says: "--to ftp://service: expected the base URL"
    },
    { args: ["run", "--to", "http://127.0.0.1:1"], says: "DOORHOOK_OPERATOR_KEY" },
    { args: ["run", "--to", "http://127.0.0.1:1", "--operator-key-file", "/nowhere/key"], says: "/nowhere/key" }
  ])("refuses $args and says what is accepted", ({ args, says }) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(simulate(...args))
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.exitCode, CommandFailure.usageExitCode)
      assert.include(failure.message, says)
      assert.notInclude(failure.message, "\n")
    }).pipe(Effect.provide(platform()))
  )
})
