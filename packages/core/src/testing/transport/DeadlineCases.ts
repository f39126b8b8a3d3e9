/**
 * Rules of the deadline: one, from the start of a request to the end of its answer.
 */
import { Duration, Effect } from "effect"
import type { Transport, TransportResult } from "../../ports/Transport.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual } from "../SuiteCase.ts"
import type { ReceiverScript, ReceiverStep, ScriptedReceivers } from "./Receivers.ts"
import { expectClosed, expectFailed, postTo, start } from "./Receivers.ts"

/** In milliseconds. Even of this a busy machine must leave enough to connect, and to be sent headers. */
const deadline = 1_000
/** How much later than a timer of its own a result may come, in milliseconds: less than any that counts anew. */
const slack = 900

/** Bytes one by one, for longer than the deadline. */
const drip = (text: string): ReadonlyArray<ReceiverStep> =>
  Array.from({ length: 300 }, (_, at) => [{ write: text.charAt(at % text.length) }, { wait: 5 }]).flat()

const expectAtTheDeadline = (what: string, { elapsed }: TransportResult, fired: Duration.Duration) =>
  // Timers count whole milliseconds.
  expectEqual(
    `${what} after ${elapsed} ms`,
    deadline - 2 <= elapsed && elapsed <= Duration.toMillis(fired) + slack,
    true
  )

/** Posts to receivers that do this, beside each other: what they take is time. */
const postToEach = Effect.fnUntraced(function* (scripts: Readonly<Record<string, ReceiverScript>>) {
  return yield* Effect.forEach(
    Object.entries(scripts),
    Effect.fnUntraced(function* ([what, script]) {
      const receiver = yield* start(script)
      // When a timer of as many milliseconds fires, which on a busy machine is late.
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
    name: "tells timeout at the deadline where the headers are not complete, and closes the connection",
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
    name: "reads a body until the deadline, and tells when its headers were complete",
    run: Effect.gen(function* () {
      const posted = yield* postToEach({
        "a body that does not come": { onRequest: () => [head] },
        "a body byte by byte": { onRequest: () => [head, ...drip("drip")] }
      })
      for (const { result, what } of posted) {
        if (result._tag === "Failed") return yield* expectEqual(what, result, "an answer")
        yield* expectEqual(what, [result.status, result.headers_elapsed < deadline], [200, true])
        yield* expectEqual(`${what}: the beginning`, /^(?:drip)*(?:d|dr|dri)?$/.test(result.excerpt), true)
        yield* expectEqual(`${what}: some of it`, result.excerpt.length > 0, what === "a body byte by byte")
      }
    }).pipe(Effect.scoped)
  }
]
