/**
 * Rules for the deadline, which covers a request from its start to the end of its answer.
 */
import { Duration, Effect } from "effect"
import type { Transport, TransportResult } from "../../ports/Transport.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual } from "../SuiteCase.ts"
import type { ReceiverScript, ReceiverStep, ScriptedReceivers } from "./Receivers.ts"
import { expectClosed, expectFailed, postTo, start } from "./Receivers.ts"

/** Deadline in milliseconds, long enough to connect and get headers even on a busy machine. */
const deadline = 1_000
/**
 * How much later than a plain timer of `deadline` a result may arrive, in milliseconds. If a transport restarted the
 * deadline, the result would arrive even later.
 */
const slack = 900

/** Writes single bytes for longer than the deadline. */
const drip = (text: string): ReadonlyArray<ReceiverStep> =>
  Array.from({ length: 300 }, (_, at) => [{ write: text.charAt(at % text.length) }, { wait: 5 }]).flat()

const expectAtTheDeadline = (what: string, { elapsed }: TransportResult, fired: Duration.Duration) =>
  // Timers count whole milliseconds, so a result may be up to 2 ms early.
  expectEqual(
    `${what} after ${elapsed} ms`,
    deadline - 2 <= elapsed && elapsed <= Duration.toMillis(fired) + slack,
    true
  )

/** Posts to a receiver for each script, concurrently to save time. */
const postToEach = Effect.fnUntraced(function* (scripts: Readonly<Record<string, ReceiverScript>>) {
  return yield* Effect.forEach(
    Object.entries(scripts),
    Effect.fnUntraced(function* ([what, script]) {
      const receiver = yield* start(script)
      // Measures when a plain timer of the same length fires, because timers fire late on a busy machine.
      const timer = Effect.timed(Effect.sleep(deadline))
      const [result, [fired]] = yield* Effect.all([postTo(receiver, { deadline }), timer], { concurrency: 2 })
      yield* expectAtTheDeadline(what, result, fired)
      yield* expectClosed(what, receiver)
      return { what, result }
    }),
    { concurrency: "unbounded" }
  )
})

const head = { write: "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n" }

export const deadlineCases: ReadonlyArray<SuiteCase<Transport | ScriptedReceivers>> = [
  {
    name: "reports timeout at the deadline if the headers are not complete, and closes the connection",
    run: Effect.gen(function* () {
      const posted = yield* postToEach({
        "no answer": {},
        "headers byte by byte": {
          onRequest: () => drip("HTTP/1.1 200 OK\r\nx-filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
        },
        "interim answers only": {
          onRequest: () => [{ write: "HTTP/1.1 103 Early Hints\r\n\r\n" }]
        }
      })
      for (const { result, what } of posted) yield* expectFailed(what, result, "timeout")
    }).pipe(Effect.scoped)
  },
  {
    name: "reads a body until the deadline, and reports when its headers were complete",
    run: Effect.gen(function* () {
      const posted = yield* postToEach({
        "a body that never arrives": { onRequest: () => [head] },
        "a body byte by byte": { onRequest: () => [head, ...drip("drip")] }
      })
      for (const { result, what } of posted) {
        if (result._tag === "Failed") return yield* expectEqual(what, result, "an answer")
        yield* expectEqual(what, [result.status, result.headers_elapsed < deadline], [200, true])
        yield* expectEqual(`${what}: the beginning`, /^(?:drip)*(?:d|dr|dri)?$/.test(result.excerpt), true)
        yield* expectEqual(
          `${what}: whether a part was read`,
          result.excerpt.length > 0,
          what === "a body byte by byte"
        )
      }
    }).pipe(Effect.scoped)
  }
]
