/**
 * The two forms of a transport, `post` and `send`: either can be derived from the other.
 */
import { Transport, TransportUnavailable } from "@doorhook/core"
import type { TransportReport, TransportRequest, TransportResult } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"

const request: TransportRequest = {
  client: "client",
  url: "https://receiver.example/hook",
  headers: {},
  body: "{}",
  deadline: 5_000,
  allow: []
}

const answered = (elapsed: number): TransportResult => ({
  _tag: "Answered",
  status: 200,
  retry_after: null,
  excerpt: "",
  headers_elapsed: elapsed,
  elapsed
})

const unavailable = new TransportUnavailable({ message: "no way out" })
const defect = new Error("a bug")

/** Calls `send` and collects its reports. */
const sendBy = (transport: Transport["Service"]) => {
  const reports: Array<TransportReport> = []
  return { reports, cancel: transport.send(request, (report) => reports.push(report)) }
}

const fails = (): never => {
  throw defect
}

describe("a transport written as an effect", () => {
  it.effect("runs on the clock of its layer, and reports what it returns", () =>
    Effect.gen(function* () {
      const { cancel, reports } = sendBy(yield* Transport)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(reports, [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(reports, [answered(3_000)])
      cancel()
    }).pipe(
      Effect.provide(
        Layer.effect(
          Transport,
          Transport.fromPost(() => Effect.map(Effect.delay(Clock.currentTimeMillis, "3 seconds"), answered))
        )
      )
    )
  )

  it.effect("is interrupted and reports nothing when the request is cancelled", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const post = () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      const { cancel, reports } = sendBy(yield* Transport.fromPost(post))
      assert.strictEqual(interrupted, 0)
      cancel()
      yield* Effect.yieldNow
      assert.strictEqual(interrupted, 1)
      cancel()
      assert.deepStrictEqual(reports, [])
    })
  )

  it.effect("reports results, failures and defects synchronously if it need not wait", () =>
    Effect.gen(function* () {
      const report = Effect.fnUntraced(function* (post: Transport["Service"]["post"]) {
        return sendBy(yield* Transport.fromPost(post)).reports
      })
      for (const [post, expected] of [
        [() => Effect.succeed(answered(1)), answered(1)],
        [() => Effect.sync(() => answered(1)), answered(1)],
        [() => Effect.fail(unavailable), unavailable],
        [() => Effect.suspend(() => Effect.fail(unavailable)), unavailable],
        [() => Effect.die(defect), { _tag: "TransportDefect", cause: Cause.die(defect) }],
        [() => Effect.sync(fails), { _tag: "TransportDefect", cause: Cause.die(defect) }],
        [fails, { _tag: "TransportDefect", cause: Cause.die(defect) }]
      ] as const) {
        assert.deepStrictEqual(yield* report(post), [expected])
      }
      const [interrupted] = yield* report(() => Effect.interrupt)
      assert.isTrue(interrupted?._tag === "TransportDefect" && Cause.hasInterruptsOnly(interrupted.cause))
    })
  )
})

describe("a transport written with callbacks", () => {
  it.effect("returns its reports, synchronously or later", () =>
    Effect.gen(function* () {
      for (const [report, expected] of [
        [answered(1), Exit.succeed(answered(1))],
        [unavailable, Exit.fail(unavailable)],
        [{ _tag: "TransportDefect", cause: Cause.die(defect) }, Exit.die(defect)]
      ] as const) {
        const noop = () => undefined
        const now = Transport.make({
          send: (_, done) => {
            done(report)
            return noop
          }
        })
        assert.deepStrictEqual(yield* Effect.exit(now.post(request)), expected)
        const later = Transport.make({
          send: (_, done) => {
            queueMicrotask(() => done(report))
            return noop
          }
        })
        assert.deepStrictEqual(yield* Effect.exit(later.post(request)), expected)
      }
    })
  )

  it.effect("cancels an interrupted request", () =>
    Effect.gen(function* () {
      let cancelled = 0
      const transport = Transport.make({ send: () => () => cancelled++ })
      const posting = yield* Effect.forkChild(transport.post(request), { startImmediately: true })
      assert.strictEqual(cancelled, 0)
      yield* Fiber.interrupt(posting)
      assert.strictEqual(cancelled, 1)
    })
  )
})
