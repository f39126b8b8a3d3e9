/**
 * `simulate run` as a process, against a real receiver, a service that loses deliveries, and modelled receivers, and
 * after Ctrl-C.
 */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { CommandFailure } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Option, Schema } from "effect"
import { Webhook } from "standardwebhooks"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { runDoorhook, startDoorhook } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { platform, printed, simulate } from "./simulateCli.ts"

const Totals = Schema.Record(Schema.String, Schema.NullOr(Schema.Finite))
const Report = Schema.fromJsonString(
  Schema.Struct({
    interrupted: Schema.Boolean,
    verdict: Schema.String,
    command: Schema.String,
    target: Schema.String,
    ack_timeout: Schema.NullOr(Schema.Finite),
    totals: Totals,
    slos: Schema.Array(Schema.Struct({ met: Schema.Boolean }))
  })
)

const readReport = (file: string) =>
  Effect.flatMap(
    Effect.promise(() => readFile(file, "utf8")),
    Schema.decodeEffect(Report)
  )

const live = (name: string, body: Effect.Effect<void, unknown, Effect.Services<typeof temporaryFolder>>) =>
  it.live(name, () => Effect.scoped(body))

const secret = "whsec_c2VjcmV0IG9mIHRoZSByZWNlaXZlciBvZiB0ZXN0cw=="
const soon = ["--retry", "access_log=50ms,50ms", "--retry", "call=50ms,50ms"]

/** Runs a command in this process and returns its failure. */
const failureOf = (args: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const failure = yield* Effect.flip(simulate(...args))
    return failure instanceof CommandFailure ? failure : assert.fail(String(failure))
  }).pipe(Effect.provide(platform(environment)))

/** Starts a service that accepts everything but does not list some of the deliveries. */
const forgetfulService = (hidden: number) => {
  let count = 0
  const row = (number: number) => ({
    id: `dlv_${number}`,
    event_id: `evt_${number}`,
    integration_id: "1",
    state: "delivered",
    attempts: 1,
    next_attempt_at: null,
    created_at: "2026-03-02T08:00:00.000Z"
  })
  const attempts = [{ number: 1, started_at: "2026-03-02T08:00:00.000Z", duration_ms: 30, outcome: "acknowledged" }]
  const answer = (status: number, body: unknown) => ({ status, body: JSON.stringify(body) })
  return startReceiver(({ body, path }) => {
    const url = new URL(path, "http://service")
    if (url.pathname.startsWith("/operator/deliveries/")) return answer(200, { ...row(1), attempts })
    if (url.pathname === "/operator/deliveries") {
      const [, only] = /evt_(\d+)/.exec(url.searchParams.get("event_id") ?? "") ?? []
      const after = Number(url.searchParams.get("after")?.slice(4) ?? 0)
      const shown = Array.from({ length: Math.max(0, count - hidden) }, (_, at) => at + 1)
      const rows = shown.filter((number) => (only === undefined ? number > after : number === Number(only)))
      const page = rows.slice(0, 50)
      const next = rows.length > page.length ? `dlv_${page.at(-1)}` : null
      return answer(200, { deliveries: page.map(row), next })
    }
    const sent: ReadonlyArray<unknown> = body === "" ? [] : JSON.parse(body)
    return answer(202, { events: sent.map(() => ({ id: `evt_${++count}`, deliveries: 1 })) })
  })
}

// Run concurrently, because these tests mostly wait.
describe.concurrent("simulate run", () => {
  live(
    "delivers to a real receiver, signed and retried until everything is acknowledged",
    Effect.gen(function* () {
      const refused = new Set<string>()
      const receiver = yield* startReceiver(({ headers }) => {
        const id = String(headers["webhook-id"])
        // Some events are refused at the first attempt.
        if (refused.has(id) || !/[abc]$/.test(id)) return 200
        refused.add(id)
        return 503
      })
      const file = join(yield* temporaryFolder, "report.json")
      const { code, stderr, stdout } = yield* runDoorhook(
        [
          "simulate",
          "run",
          "--to-receiver",
          `${receiver.url}?key=hush`,
          "--as-fast-as-possible",
          "--duration",
          "2h"
        ].concat(
          ["--start", "2026-03-03T17:00", "--slo", "lost=0,exhausted=0,ack_p99<5s", "--report", `json=${file}`],
          soon
        ),
        { DOORHOOK_RECEIVER_SECRET: secret }
      )
      assert.strictEqual(code, 0, stderr + stdout)
      const { command, target, totals, verdict } = yield* readReport(file)
      assert.strictEqual(verdict, "pass")
      // The query is hidden, because it might contain a secret and reports are passed on.
      assert.strictEqual(target, `against ${receiver.url}?...`)
      assert.notInclude(command + stdout + stderr, "hush")
      assert.strictEqual(totals["delivered"], totals["deliveries"])
      assert.isAbove(refused.size, 0)
      // Each delivery is accepted, and each refused one was sent again. On a busy machine, an attempt can time out although
      // it was accepted, and is then repeated, so accepted deliveries are counted by id.
      const ids = receiver.received.map(({ headers }) => String(headers["webhook-id"]))
      assert.strictEqual(new Set(ids).size, totals["deliveries"])
      for (const id of refused) assert.isAtLeast(ids.filter((one) => one === id).length, 2, id)
      const verifier = new Webhook(secret)
      for (const { body, headers } of receiver.received) {
        const own = Object.entries(headers).map(([name, value]) => [name, String(value)] as const)
        assert.doesNotThrow(() => verifier.verify(body, Object.fromEntries(own)))
      }
      const missed = yield* runDoorhook(
        ["simulate", "run", "--to-receiver", receiver.url, "--as-fast-as-possible", "--duration", "1h"].concat(
          ["--start", "2026-03-03T17:00", "--slo", "ack_max<1ms"],
          soon
        )
      )
      assert.strictEqual(missed.code, 1)
      assert.match(missed.stderr, /^doorhook: Objectives missed: ack_max<1ms \([\d.]+ m?s\)\n$/)
    })
  )

  live(
    "names the origin of an invalid secret",
    Effect.gen(function* () {
      const to = ["run", "--to-receiver", "http://127.0.0.1:9/hook"]
      const given = yield* failureOf([...to, "--secret", "whsec_?"], { DOORHOOK_RECEIVER_SECRET: secret })
      assert.strictEqual(given.message, "--secret: expected whsec_ and at least 24 bytes in base64")
      const found = yield* failureOf(to, { DOORHOOK_RECEIVER_SECRET: "whsec_?" })
      assert.strictEqual(found.message, "DOORHOOK_RECEIVER_SECRET: expected whsec_ and at least 24 bytes in base64")
      assert.deepStrictEqual([given.exitCode, found.exitCode], [3, 3])
    })
  )

  live(
    "names the key that a service refused, and its answer",
    Effect.gen(function* () {
      const errors = [{ status: "401", code: "unauthorized", detail: "This is not the key." }]
      const { origin } = yield* startReceiver(() => ({ status: 401, body: JSON.stringify({ errors }) }))
      const file = join(yield* temporaryFolder, "key.txt")
      yield* Effect.promise(() => writeFile(file, "wrong\n"))
      const refusal = (environment: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const report = ["--report", `json=${file}.json`]
          const failure = yield* Effect.flip(simulate("run", "--to", origin, "--duration", "1h", ...args, ...report))
          assert.strictEqual((yield* readReport(`${file}.json`)).verdict, "fail")
          // A run that did not begin prints no zeros.
          assert.notInclude(yield* printed, "planned")
          return failure instanceof CommandFailure ? failure.message : ""
        }).pipe(Effect.provide(platform(environment)))
      const variable = { DOORHOOK_OPERATOR_KEY: "wrong" }
      const refusedKey = (where: string) =>
        `${origin} refused the operator key of ${where}. Use the key of that service. It answered with status 401: This is not the key.`
      assert.strictEqual(yield* refusal(variable), refusedKey("DOORHOOK_OPERATOR_KEY"))
      assert.strictEqual(
        yield* refusal(variable, "--operator-key-file", file),
        refusedKey(`--operator-key-file ${file}`)
      )
      assert.strictEqual(yield* refusal(variable, "--operator-key", "wrong"), refusedKey("--operator-key"))
    })
  )

  live(
    "reads each event's deliveries from a service, and reports lost ones",
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const run = Effect.fnUntraced(function* (hidden: number) {
        const { origin } = yield* forgetfulService(hidden)
        const file = join(folder, `${hidden}.json`)
        const args = ["run", "--to", origin, "--as-fast-as-possible", "--duration", "6h", "--operator-key", "k"]
        const more = ["--start", "2026-03-03T08:00", "--grace", "1s", "--slo", "lost=0,ack_p99<5s", "--report"]
        const exit = yield* simulate(...args, ...more, `json=${file}`).pipe(Effect.exit, Effect.provide(platform()))
        return { exit, ...(yield* readReport(file)) }
      })
      const [honest, forgetful] = yield* Effect.all([run(0), run(3)], { concurrency: "unbounded" })
      assert.isTrue(Exit.isSuccess(honest.exit), String(honest.exit))
      assert.isAbove(honest.totals["accepted"] ?? 0, 60)
      assert.deepStrictEqual([honest.totals["delivered"], honest.totals["lost"]], [honest.totals["accepted"], 0])
      // Figures that a service does not report are null, not zero.
      assert.deepStrictEqual(
        [honest.totals["backlog"], honest.totals["broken"], honest.ack_timeout],
        [null, null, null]
      )
      const failure = Option.getOrThrow(Exit.findErrorOption(forgetful.exit))
      assert.instanceOf(failure, CommandFailure)
      assert.strictEqual(failure.exitCode, 1)
      assert.strictEqual(forgetful.totals["lost"], 3)
      assert.match(failure.message, /3 deliveries of accepted events are not accounted for/)
    })
  )

  live(
    "writes its report and ends with 130 after Ctrl-C",
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "report.json")
      const { child, finished, printed } = yield* startDoorhook(
        ["simulate", "run", "--start", "2026-03-03T17:00", "--rate-scale", "20"].concat(
          ["--speed", "20x", "--report", `json=${file}`],
          soon
        )
      )
      yield* Effect.promise(() => printed(/--virtual takes moments/))
      child.kill("SIGINT")
      const { code, stdout } = yield* Effect.promise(() => finished)
      assert.strictEqual(code, 130, stdout)
      assert.match(stdout, /Ctrl-C again ends the wait/)
      const { interrupted, totals } = yield* readReport(file)
      assert.isTrue(interrupted)
      assert.deepStrictEqual([totals["lost"], totals["broken"]], [0, 0])
    })
  )

  for (const signal of ["SIGINT", "SIGTERM"] as const)
    live(
      `says in its report that ${signal} ended the wait for open deliveries`,
      Effect.gen(function* () {
        const file = join(yield* temporaryFolder, "report.json")
        const { child, finished, printed } = yield* startDoorhook(
          ["simulate", "run", "--preset", "quiet", "--duration", "12h", "--as-fast-as-possible"].concat(
            ["--receiver", "down", "--retry", "access_log=1h", "--grace", "10m"],
            ["--report", `json=${file}`]
          )
        )
        yield* Effect.promise(() => printed(/waiting for open deliveries/))
        child.kill(signal)
        const { code, stdout } = yield* Effect.promise(() => finished)
        assert.strictEqual(code, 130, stdout)
        const { interrupted, totals } = yield* readReport(file)
        assert.isTrue(interrupted)
        assert.isAbove(totals["open"] ?? 0, 0)
      })
    )

  live(
    "reports how undelivered deliveries ended, although all are accounted for",
    Effect.gen(function* () {
      const args = ["run", "--virtual", "--preset", "quiet", "--duration", "12h", "--retry", "access_log=5s"]
      const said = yield* Effect.andThen(simulate(...args, "--receiver", "down"), printed).pipe(
        Effect.provide(platform())
      )
      assert.match(said, /^lost\? +No\. \d+ deliveries of \d+ accepted events: \d+ given up after the last retry/m)
    })
  )
})
