/**
 * No connection leads to a refused address. The tests use real sockets and their own name lookup.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Transport } from "@doorhook/core"
import { NameLookup, UndiciTransport } from "@doorhook/node"
import { Effect } from "effect"
import type { Scope } from "effect"
import { answers, answersAndEnds, ok, onRequest, serve } from "@doorhook/testkit/hostile/RawReceiver"
import { blackHole } from "@doorhook/testkit/hostile/BlackHole"
import { detailOf, loopback, networks, outcomeOf, post } from "./Posting.ts"

/** Makes a lookup that returns the given answers in turn, repeating the last one. Counts the lookups. */
const resolving = (...turns: ReadonlyArray<ReadonlyArray<string>>) => {
  let asked = 0
  const lookup: NameLookup.NameLookup = async () => turns[Math.min(asked++, turns.length - 1)] ?? []
  return { lookup, asked: () => asked }
}

const test = (
  name: string,
  body: Effect.Effect<void, never, Transport | Scope.Scope>,
  lookup: NameLookup.NameLookup = NameLookup.system
) => it.live(name, () => Effect.scoped(body.pipe(Effect.provide(UndiciTransport.layer({ lookup })))))

const rebinding = resolving(["127.0.0.1"], ["127.0.0.2"])
const several = resolving(["127.0.0.1", "10.0.0.1"])
const withGaps = resolving(["127.0.0.3", "127.0.0.1"])
const late = Promise.withResolvers<ReadonlyArray<string>>()

describe("the address guard", () => {
  test(
    "looks up a name once per connection, connects to that answer, and checks the next answer again",
    Effect.gen(function* () {
      const receiver = yield* serve(answersAndEnds(ok))
      const victim = yield* serve(answers(ok), { host: "127.0.0.2", port: receiver.port })
      const url = `http://rebinding.example:${receiver.port}/`
      const allow = networks("127.0.0.1")
      assert.strictEqual(outcomeOf(yield* post(url, { allow })), 200)
      assert.strictEqual(rebinding.asked(), 1)
      yield* Effect.promise(receiver.allClosed)
      const second = yield* post(url, { allow })
      assert.strictEqual(outcomeOf(second), "blocked_address")
      assert.match(detailOf(second) ?? "", /^rebinding\.example resolves to 127\.0\.0\.2, which is private/)
      assert.strictEqual(rebinding.asked(), 2)
      assert.deepStrictEqual([receiver.accepted(), victim.accepted()], [1, 0])
    }),
    rebinding.lookup
  )

  test(
    "refuses a name with one bad address among good ones",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      const result = yield* post(`http://several.example:${receiver.port}/`)
      assert.strictEqual(outcomeOf(result), "blocked_address")
      assert.match(detailOf(result) ?? "", /10\.0\.0\.1/)
      assert.strictEqual(receiver.accepted(), 0)
    }),
    several.lookup
  )

  test(
    "tries the addresses in turn",
    Effect.gen(function* () {
      const { port } = yield* serve(answers(ok))
      assert.strictEqual(outcomeOf(yield* post(`http://gaps.example:${port}/`)), 200)
    }),
    withGaps.lookup
  )

  test(
    "allows an address enough time for a distant handshake, and tries the next well before the deadline",
    Effect.gen(function* () {
      const { port } = yield* serve(answers(ok))
      yield* blackHole("127.0.0.3", port)
      const result = yield* post(`http://gaps.example:${port}/`, { deadline: 30_000 })
      assert.strictEqual(outcomeOf(result), 200)
      assert.isAtLeast(result.elapsed, 1_250)
    }),
    withGaps.lookup
  )

  test(
    "checks the peer again before sending, because 0.0.0.0 leads to another address",
    Effect.gen(function* () {
      let asked = 0
      const receiver = yield* serve((socket) => onRequest(socket, () => asked++))
      const result = yield* post(`http://0.0.0.0:${receiver.port}/`, { allow: networks("0.0.0.0/8") })
      assert.strictEqual(outcomeOf(result), "blocked_address")
      assert.match(detailOf(result) ?? "", /127\.0\.0\.1.* is private or reserved and not on the allow-list$/)
      yield* Effect.promise(receiver.allClosed)
      assert.strictEqual(asked, 0)
    })
  )

  test(
    "reuses connections that were opened under an equal allow-list, but not under another",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      assert.strictEqual(outcomeOf(yield* post(receiver.url)), 200)
      assert.strictEqual(outcomeOf(yield* post(receiver.url, { allow: [] })), "blocked_address")
      assert.strictEqual(outcomeOf(yield* post(receiver.url, { allow: networks("127.0.0.1") })), 200)
      assert.strictEqual(receiver.accepted(), 2)
      assert.strictEqual(outcomeOf(yield* post(receiver.url, { allow: networks("127.0.0.0/8") })), 200)
      assert.strictEqual(outcomeOf(yield* post(receiver.url, { allow: loopback })), 200)
      assert.strictEqual(receiver.accepted(), 2)
    })
  )

  test(
    "reports a name without an address",
    Effect.gen(function* () {
      const result = yield* post("http://receiver.invalid/hook?token=url-secret")
      assert.strictEqual(outcomeOf(result), "dns")
      assert.match(detailOf(result) ?? "", /^no address was found for receiver\.invalid \(E\w+\)$/)
    })
  )

  test(
    "treats an empty answer as no answer",
    Effect.gen(function* () {
      assert.strictEqual(outcomeOf(yield* post("http://empty.example/")), "dns")
    }),
    resolving([]).lookup
  )

  test(
    "gives up on a name that is not looked up in time, and opens nothing when the answer arrives later",
    Effect.gen(function* () {
      const receiver = yield* serve(answers(ok))
      const result = yield* post(`http://late.example:${receiver.port}/`, { deadline: 100 })
      assert.strictEqual(outcomeOf(result), "timeout")
      assert.strictEqual(detailOf(result), "no answer within 100 ms; the name was still being looked up")
      late.resolve(["127.0.0.1"])
      assert.strictEqual(outcomeOf(yield* post(receiver.url)), 200)
      assert.strictEqual(receiver.accepted(), 1)
    }),
    () => late.promise
  )

  test(
    "names every address that refused the connection",
    Effect.gen(function* () {
      const { port } = yield* Effect.scoped(serve(answers(ok)))
      const result = yield* post(`http://gaps.example:${port}/`)
      assert.strictEqual(outcomeOf(result), "connection_refused")
      assert.strictEqual(detailOf(result), `could not connect to 127.0.0.3:${port}, 127.0.0.1:${port} (ECONNREFUSED)`)
    }),
    withGaps.lookup
  )
})
