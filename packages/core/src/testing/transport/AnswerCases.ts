/**
 * Rules for handling receivers' answers.
 */
import { Effect } from "effect"
import { maxExcerptLength } from "../../model/Delivery.ts"
import type { Transport } from "../../ports/Transport.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual } from "../SuiteCase.ts"
import type { ReceiverStep, ScriptedReceivers } from "./Receivers.ts"
import {
  answer,
  answering,
  expectClosed,
  expectFailed,
  ok,
  outcomeOf,
  patience,
  postTo,
  requestTo,
  post,
  start
} from "./Receivers.ts"

/** Returns the body excerpt of an immediate answer; the whole result if no answer came immediately. */
const excerptOf = Effect.fnUntraced(function* (...steps: ReadonlyArray<ReceiverStep>) {
  const result = yield* postTo(yield* answering(...steps))
  return result._tag === "Answered" && result.elapsed < patience ? result.excerpt : result
})

const head = (...headers: ReadonlyArray<string>): ReceiverStep => ({
  write: `HTTP/1.1 200 OK\r\n${headers.map((line) => `${line}\r\n`).join("")}\r\n`
})

/** Expected outcomes for answers without complete headers. */
const failures = {
  "connection_reset for a connection that ends before the answer": [
    ["end"],
    [{ write: "HTTP/1.1 200 OK\r\nx" }, "end"]
  ],
  "connection_reset for a connection that is reset": [
    ["reset"],
    [{ write: "HTTP/1.1 200 OK\r\nx" }, { wait: 20 }, "reset"]
  ],
  "invalid_response for an answer that is not HTTP/1.1": [
    [{ write: "SSH-2.0-OpenSSH_9.9\r\n" }, "end"],
    [{ write: "HTTP/1.1 OK\r\ncontent-length: 0\r\n\r\n" }, "end"],
    [{ write: "HTTP/1.1 000 Nothing\r\ncontent-length: 0\r\n\r\n" }, "end"],
    [{ write: "HTTP/1.1 200 OK\r\nx a: b\r\ncontent-length: 0\r\n\r\n" }, "end"],
    [{ write: "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n" }, "end"]
  ]
} as const satisfies Record<string, ReadonlyArray<ReadonlyArray<ReceiverStep>>>

export const answerCases: ReadonlyArray<SuiteCase<Transport | ScriptedReceivers>> = [
  {
    name: "reports the status and the body of any answer",
    run: Effect.gen(function* () {
      for (const [status, body] of [
        [200, "ok"],
        [201, ""],
        [204, ""],
        [404, "no é here"],
        [410, "gone"],
        [500, "down"],
        [503, "later"]
      ] as const) {
        const result = yield* postTo(yield* answering(answer(status, body)))
        yield* expectEqual("status", outcomeOf(result), status)
        if (result._tag === "Failed") continue
        yield* expectEqual("body", [result.excerpt, result.retry_after], [body, null])
        const { elapsed, headers_elapsed } = result
        yield* expectEqual("times in order", 0 <= headers_elapsed && headers_elapsed <= elapsed, true)
        yield* expectEqual("in time", elapsed < patience, true)
      }
    }).pipe(Effect.scoped)
  },
  {
    name: "reports Retry-After exactly as sent",
    run: Effect.gen(function* () {
      for (const retry_after of ["7", "Fri, 31 Dec 1999 23:59:59 GMT", "soon"]) {
        const result = yield* postTo(yield* answering(answer(503, "", `Retry-After: ${retry_after}`)))
        yield* expectEqual("retry-after", result._tag === "Answered" && result.retry_after, retry_after)
      }
    }).pipe(Effect.scoped)
  },
  {
    name: "waits for the final answer after an interim one",
    run: Effect.gen(function* () {
      const hint = { write: "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" }
      const result = yield* postTo(yield* answering(hint, { wait: 20 }, hint, ok))
      yield* expectEqual("outcome", outcomeOf(result), 200)
    }).pipe(Effect.scoped)
  },
  {
    name: "joins a body that arrives in pieces, and replaces bytes that are not valid text",
    run: Effect.gen(function* () {
      const pieces: ReadonlyArray<ReceiverStep> = [
        head("content-length: 4"),
        { wait: 20 },
        { write: Uint8Array.of(0x61, 0xc3) },
        { wait: 20 },
        { write: Uint8Array.of(0xa9, 0x62) }
      ]
      yield* expectEqual("a letter split between two pieces", yield* excerptOf(...pieces), "aéb")
      const chunks = { write: "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n" }
      yield* expectEqual("chunks", yield* excerptOf(head("transfer-encoding: chunked"), chunks), "abc")
      const odd = { write: Uint8Array.of(0x61, 0xff, 0x62) }
      yield* expectEqual("no text", yield* excerptOf(head("content-length: 3"), odd), "a\ufffdb")
    }).pipe(Effect.scoped)
  },
  {
    name: "keeps at most the first 16 KiB of a body, and stops reading an endless one",
    run: Effect.gen(function* () {
      const body = `x${"é".repeat(maxExcerptLength)}`
      const endless = yield* answering(head("content-length: 1000000000000"), { write: body })
      const result = yield* postTo(endless)
      yield* expectEqual("outcome", outcomeOf(result), 200)
      yield* expectClosed("a body without end", endless)
      if (result._tag === "Failed") return
      yield* expectEqual("in time", result.elapsed < patience, true)
      yield* expectEqual("the beginning", body.startsWith(result.excerpt), true)
      // The limit may apply to bytes or characters.
      const { length } = result.excerpt
      yield* expectEqual(`${length} long`, maxExcerptLength / 2 <= length && length <= maxExcerptLength, true)
    }).pipe(Effect.scoped)
  },
  {
    name: "accepts an answer once its headers are complete, whatever happens to the body",
    run: Effect.gen(function* () {
      const begun = [head("content-length: 10"), { write: "ok" }, { wait: 20 }] as const
      yield* expectEqual("ends early", yield* excerptOf(...begun, "end"), "ok")
      yield* expectEqual("breaks off", yield* excerptOf(...begun, "reset"), "ok")
    }).pipe(Effect.scoped)
  },
  {
    name: "reports for each request the answer to that request, even if another answer arrives too late or too early",
    run: Effect.gen(function* () {
      const slow = yield* start({
        onRequest: ({ body }) => [{ wait: body === "first" ? 150 : 200 }, answer(200, `to the ${body}`)]
      })
      yield* expectFailed("too late", yield* postTo(slow, { body: "first", deadline: 100 }), "timeout")
      const second = yield* postTo(slow, { body: "second" })
      yield* expectEqual("after that", second._tag === "Answered" && second.excerpt, "to the second")
      const more = yield* answering(ok, answer(200, "unasked"))
      for (let i = 0; i < 5; i++) {
        const result = yield* postTo(more)
        yield* expectEqual("its own", result._tag === "Answered" && result.excerpt, "ok")
      }
    }).pipe(Effect.scoped)
  },
  ...Object.entries(failures).map(([rule, scripts]) => ({
    name: `reports ${rule}`,
    run: Effect.gen(function* () {
      for (const steps of scripts) {
        const receiver = yield* answering(...steps)
        const result = yield* postTo(receiver)
        const outcome = rule.startsWith("invalid") ? "invalid_response" : "connection_reset"
        yield* expectFailed(JSON.stringify(steps), result, outcome)
        yield* expectEqual("asked once", (yield* receiver.received).length, 1)
        yield* expectClosed(JSON.stringify(steps), receiver)
      }
    }).pipe(Effect.scoped)
  })),
  {
    name: "reports connection_refused without a listener, dns for a name without an address, tls for a peer without TLS",
    run: Effect.gen(function* () {
      const gone = yield* Effect.scoped(start({}))
      yield* expectFailed("nobody listens", yield* postTo(gone), "connection_refused")
      yield* expectFailed("no address", yield* post(requestTo("receiver.invalid")), "dns")
      const plain = yield* start({ onConnection: [answer(400), "end"] })
      const url = `https://127.0.0.1:${plain.port}/hook?token=url-secret`
      yield* expectFailed("no TLS", yield* postTo(plain, { url }), "tls")
    }).pipe(Effect.scoped)
  }
]
