/**
 * Rules for requests: each arrives unchanged, once, and at its receiver only.
 */
import { Deferred, Effect, Fiber } from "effect"
import { Transport } from "../../ports/Transport.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual } from "../SuiteCase.ts"
import type { ScriptedReceivers } from "./Receivers.ts"
import {
  answer,
  answering,
  expectClosed,
  expectFailed,
  ok,
  outcomeOf,
  post,
  postTo,
  requestTo,
  start,
  to
} from "./Receivers.ts"

/** Headers that HTTP/1.1 itself requires. */
const carrying = new Set(["host", "connection", "content-length", "transfer-encoding"])

/** Spellings of a loopback address that URL parsers and connections accept. */
const loopbackHosts = [
  "127.0.0.1",
  "localhost",
  "LOCALHOST",
  "0x7f.1",
  "0177.0.0.1",
  "2130706433",
  "127.1",
  "%31%32%37.1",
  "127。0。0。1",
  "１２７.0.0.1",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]"
]

export const requestCases: ReadonlyArray<SuiteCase<Transport | ScriptedReceivers>> = [
  {
    name: "posts the body once, with exactly the given headers",
    run: Effect.gen(function* () {
      const receiver = yield* answering(ok)
      const request = requestTo(`127.0.0.1:${receiver.port}`)
      yield* expectEqual("outcome", outcomeOf(yield* post(request)), 200)
      const received = yield* receiver.received
      const own = received.map(({ body, headers, method, path }) => ({
        method,
        path,
        headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !carrying.has(name))),
        body
      }))
      const { body, headers } = request
      yield* expectEqual("received", own, [{ method: "POST", path: "/hook?token=url-secret", headers, body }])
      yield* expectEqual("host", received[0]?.headers["host"], `127.0.0.1:${receiver.port}`)
    }).pipe(Effect.scoped)
  },
  {
    name: "posts a large body completely",
    run: Effect.gen(function* () {
      const receiver = yield* answering(ok)
      const body = "é".repeat(1024 * 1024)
      yield* expectEqual("outcome", outcomeOf(yield* postTo(receiver, { body })), 200)
      const [received] = yield* receiver.received
      // `===` is used, because the message of `expectEqual` would contain the whole bodies.
      yield* expectEqual("received", received?.body === body, true)
    }).pipe(Effect.scoped)
  },
  {
    name: "posts any number of concurrent requests, each once",
    run: Effect.gen(function* () {
      const receiver = yield* answering({ wait: 20 }, ok)
      const results = yield* concurrently(20, (n) => postTo(receiver, { body: `number ${n}` }))
      yield* expectEqual("outcomes", new Set(results.map(outcomeOf)), new Set([200]))
      const bodies = (yield* receiver.received).map(({ body }) => body)
      yield* expectEqual("received", [bodies.length, new Set(bodies).size], [20, 20])
    }).pipe(Effect.scoped)
  },
  {
    name: "posts again if a kept-alive connection ends before the first byte of the answer",
    run: Effect.gen(function* () {
      for (const ending of ["end", "reset"] as const) {
        const receiver = yield* start({ onRequest: ({ nth }) => (nth === 1 ? [ok] : [ending]) })
        for (let i = 1; i <= 3; i++) {
          yield* expectEqual(`${ending}: outcome`, outcomeOf(yield* postTo(receiver, { body: `number ${i}` })), 200)
        }
        // At most twice rather than exactly twice, because a transport without kept-alive connections repeats no
        // request.
        const bodies = (yield* receiver.received).map(({ body }) => body)
        const atMostTwice = bodies.every((body, at) => bodies.indexOf(body) >= at - 1)
        yield* expectEqual(`${ending}: each at most twice`, [new Set(bodies).size, atMostTwice], [3, true])
      }
    }).pipe(Effect.scoped)
  },
  {
    name: "never posts a third time, and posts only once if an answer has begun",
    run: Effect.gen(function* () {
      let answered = 0
      const failing = yield* start({ onRequest: () => (++answered === 1 ? [ok] : ["end"]) })
      yield* expectEqual("first", outcomeOf(yield* postTo(failing)), 200)
      yield* expectFailed("second", yield* postTo(failing), "connection_reset")
      yield* expectEqual("at most twice", (yield* failing.received).length <= 3, true)
      const begun = yield* start({ onRequest: ({ nth }) => (nth === 1 ? [ok] : [{ write: "H" }, { wait: 20 }, "end"]) })
      for (let i = 0; i < 2; i++) yield* postTo(begun)
      yield* expectEqual("each once", (yield* begun.received).length, 2)
    }).pipe(Effect.scoped)
  },
  {
    name: "does not follow a redirect, and reports its target",
    run: Effect.gen(function* () {
      const target = yield* answering(ok)
      const location = `http://127.0.0.1:${target.port}/elsewhere`
      for (const status of [301, 302, 303, 307, 308]) {
        const result = yield* postTo(yield* answering(answer(status, "", `location: ${location}`)))
        yield* expectEqual("outcome", outcomeOf(result), status)
        yield* expectEqual("location", result._tag === "Answered" && result.location, location)
      }
      yield* expectEqual("connections to the redirect target", yield* target.accepted, 0)
    }).pipe(Effect.scoped)
  },
  {
    name: "does not connect to a refused address in any spelling",
    run: Effect.gen(function* () {
      const receiver = yield* answering(ok)
      for (const host of loopbackHosts) {
        const result = yield* post(requestTo(`${host}:${receiver.port}`, { allow: [] }))
        yield* expectFailed(host, result, "blocked_address")
      }
      yield* expectEqual("connections", yield* receiver.accepted, 0)
    }).pipe(Effect.scoped)
  },
  {
    name: "does not reuse a connection whose address is not on the request's own allow-list",
    run: Effect.gen(function* () {
      const receiver = yield* answering(ok)
      yield* expectEqual("allowed", outcomeOf(yield* postTo(receiver)), 200)
      yield* expectFailed("not allowed", yield* postTo(receiver, { allow: [] }), "blocked_address")
      yield* expectEqual("received", (yield* receiver.received).length, 1)
    }).pipe(Effect.scoped)
  },
  {
    name: "refuses URLs that are not http or https",
    run: Effect.gen(function* () {
      for (const url of ["ftp://127.0.0.1/", "nonsense"]) {
        yield* expectFailed(url, yield* post(requestTo("", { url })), "blocked_address")
      }
    })
  },
  {
    name: "reports each request once, however it ends; cancelling it afterwards has no effect",
    run: Effect.gen(function* () {
      const answers = yield* answering(ok)
      const breaking = yield* answering("reset")
      const silent = yield* start({})
      const requests = {
        "an answer": to(answers),
        "a broken connection": to(breaking),
        "no answer": to(silent, { deadline: 200 }),
        "no URL": requestTo("", { url: "nonsense" })
      }
      const reported: Array<string> = []
      const { send } = yield* Transport
      for (const [what, request] of Object.entries(requests)) {
        const report = Deferred.makeUnsafe<void>()
        const cancel = send(request, () => {
          reported.push(what)
          Deferred.doneUnsafe(report, Effect.void)
        })
        yield* Deferred.await(report)
        cancel()
      }
      yield* expectClosed("a broken connection", breaking)
      yield* expectClosed("no answer", silent)
      yield* expectEqual("later", outcomeOf(yield* postTo(answers)), 200)
      yield* expectEqual("reports", reported, Object.keys(requests))
    }).pipe(Effect.scoped)
  },
  {
    name: "closes the connection of a cancelled request, and does not report it",
    run: Effect.gen(function* () {
      const silent = yield* start({})
      let reports = 0
      const { send } = yield* Transport
      const cancel = send(to(silent), () => reports++)
      yield* silent.hasReceived
      cancel()
      cancel()
      yield* expectClosed("cancelled after the request was sent", silent)
      send(to(silent), () => reports++)()
      yield* expectClosed("cancelled before the connection was open", silent)
      yield* expectEqual("later", outcomeOf(yield* postTo(yield* answering(ok))), 200)
      yield* expectEqual("reports", reports, 0)
    }).pipe(Effect.scoped)
  },
  {
    name: "closes the connection when the effect is interrupted",
    run: Effect.gen(function* () {
      const receiver = yield* start({})
      const posting = yield* Effect.forkChild(postTo(receiver))
      yield* receiver.hasReceived
      yield* Fiber.interrupt(posting)
      yield* expectClosed("after the interruption", receiver)
    }).pipe(Effect.scoped)
  }
]
