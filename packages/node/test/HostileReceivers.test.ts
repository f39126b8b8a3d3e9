/**
 * Misbehaving receivers: the sender reports the right outcome in time, and leaves nothing open.
 */
import { assert, describe, it } from "@effect/vitest"
import { Acknowledgement, maxExcerptLength } from "@doorhook/core"
import type { Transport } from "@doorhook/core"
import { UndiciTransport } from "@doorhook/node"
import { Effect } from "effect"
import type { Scope } from "effect"
import { queryObjects } from "node:v8"
import { Client } from "undici"
import {
  onHttp,
  onHttps,
  sendsInvalidUtf8,
  sendsLongText,
  sendsMore,
  sendsNul
} from "@doorhook/testkit/hostile/Catalogue"
import type { HostileReceiver } from "@doorhook/testkit/hostile/Catalogue"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import { answers, ok, serve } from "@doorhook/testkit/hostile/RawReceiver"
import { nextTurn } from "@doorhook/testkit/Turn"
import type { Posted } from "./Posting.ts"
import { detailOf, outcomeOf, post } from "./Posting.ts"

const authority = makeAuthority()
const catalogue: ReadonlyArray<HostileReceiver> = [...onHttp, ...onHttps(authority)]

const test = (
  name: string,
  body: Effect.Effect<void, never, Transport | Scope.Scope>,
  options: UndiciTransport.UndiciTransportOptions = {}
) => {
  const transport = UndiciTransport.layer({ authorities: [authority.cert], ...options })
  return it.live(name, () => Effect.scoped(body.pipe(Effect.provide(transport))))
}

/**
 * Deadlines in milliseconds, for receivers that exceed the deadline and for all others. Even the shorter one must leave
 * a busy machine enough time to connect and receive headers.
 */
const deadlines = { "at the deadline": 1_000, "at once": 60_000 }
/**
 * Maximum delay of a result after a plain timer fires, in milliseconds. If the deadline restarted during the request,
 * the delay would exceed this.
 */
const slack = 900

const outcomeUnder = (result: Posted, deadline: number, rule: Acknowledgement.AcknowledgementRule) =>
  result._tag === "Answered" || result._tag === "Failed"
    ? Acknowledgement.judge(result, deadline, rule)
    : outcomeOf(result)

const assertReported = (result: Posted, { detail, known, name, outcome }: HostileReceiver) => {
  assert.strictEqual(outcomeUnder(result, deadlines[known], "200"), outcome, name)
  if (result._tag === "Answered") return assert.isAtMost(Buffer.byteLength(result.excerpt), maxExcerptLength)
  assert.match(result.detail, detail ?? /^no detail is expected$/, name)
  assert.notMatch(result.detail, /secret|[\u0000-\u001f]|:\d+:\d+|undici|openssl|node/i)
  return assert.isAtMost(result.detail.length, 500)
}

/** Waits for a plain timer, and resolves to the elapsed time, which exceeds `after` on a busy machine. */
const firing = (after: number): Promise<number> => {
  const started = performance.now()
  return new Promise((resolve) => setTimeout(() => resolve(performance.now() - started), after))
}

const assertInTime = ({ elapsed }: Posted, { known, name }: HostileReceiver, fired: number) => {
  const deadline = deadlines[known]
  if (known === "at once") return assert.isBelow(elapsed, deadline)
  // Node's timers count whole milliseconds, so they can fire slightly early.
  assert.isAtLeast(elapsed, deadline - 2, name)
  return assert.isAtMost(elapsed, fired + slack, name)
}

/** Returns the types of all open resources, including those that earlier tests still hold. */
const heldResources = (): ReadonlyArray<string> =>
  process
    .getActiveResourcesInfo()
    .filter((type) => /Socket|TLS|Timeout|Connect|Addr/.test(type))
    .toSorted()

const serveHostile = ({ behave, scheme }: HostileReceiver) => serve(behave, { scheme })

const meet = Effect.fnUntraced(function* (hostile: HostileReceiver) {
  const receiver = yield* serveHostile(hostile)
  const deadline = deadlines[hostile.known]
  const timer = hostile.known === "at the deadline" ? firing(deadline) : Promise.resolve(0)
  const first = yield* post(receiver.url, { deadline })
  assertReported(first, hostile)
  assertInTime(first, hostile, yield* Effect.promise(() => timer))
  // The first request must not affect a later one.
  assertReported(yield* post(receiver.url, { deadline }), hostile)
  yield* Effect.promise(receiver.allClosed)
})

describe("each hostile receiver", () => {
  for (const hostile of catalogue.filter(({ known }) => known === "at once")) {
    test(`${hostile.name}: ${hostile.outcome} immediately`, meet(hostile), { keepAlive: 20 })
  }

  // Concurrent, because these requests mostly wait.
  const late = catalogue.filter(({ known }) => known === "at the deadline")
  test(
    `at the deadline: ${late.map(({ name, outcome }) => `${name} ${outcome}`).join(", ")}`,
    Effect.forEach(late, meet, { concurrency: "unbounded", discard: true }),
    { keepAlive: 20 }
  )
})

describe("hostile receivers", () => {
  test(
    "delay neither the beginning nor the end of a large request",
    Effect.gen(function* () {
      const body = "x".repeat(8 * 1024 * 1024)
      for (const hostile of catalogue.filter(({ name }) => /^(?:neverReads|resets\w+|answersEarly\w+)$/.test(name))) {
        const receiver = yield* serveHostile(hostile)
        const result = yield* post(receiver.url, { deadline: deadlines[hostile.known], body })
        assert.strictEqual(outcomeUnder(result, deadlines[hostile.known], "200"), hostile.outcome, hostile.name)
        yield* Effect.promise(receiver.allClosed)
      }
    })
  )

  test(
    "leave no socket, timer or client behind after hundreds of requests",
    Effect.gen(function* () {
      const receivers = yield* Effect.forEach(catalogue, serveHostile)
      const held = heldResources()
      const clientsBefore = queryObjects(Client, { format: "count" })
      const urls = Array.from({ length: 4 }, () => receivers.map(({ url }) => url)).flat()
      assert.isAtLeast(urls.length, 200)
      yield* Effect.forEach(urls, (url) => post(url, { deadline: 50 }), { concurrency: 16 })
      const hinting = receivers[catalogue.findIndex(({ name }) => name === "hintsEarly")]
      assert.strictEqual(outcomeOf(yield* post(hinting?.url ?? "", { deadline: 60_000 })), 200)
      yield* Effect.forEach(receivers, ({ allClosed }) => Effect.promise(allClosed))
      // Receivers see the last closed connections one event loop turn later.
      yield* nextTurn
      const left = [...heldResources()]
      // Resources of earlier tests might have been closed in the meantime.
      for (const type of held) if (left.includes(type)) left.splice(left.indexOf(type), 1)
      assert.deepStrictEqual(left, [])
      assert.isAtMost(queryObjects(Client, { format: "count" }), clientsBefore)
    }),
    { keepAlive: 20 }
  )

  test(
    "can't answer a request before it is made",
    Effect.gen(function* () {
      const receiver = yield* serve(sendsMore)
      for (let i = 0; i < 5; i++) assert.deepInclude(yield* post(receiver.url), { status: 200, excerpt: "ok" })
      assert.strictEqual(receiver.accepted(), 5)
    })
  )

  test(
    "can't fill the excerpt with more than 16 KiB, whatever bytes they send",
    Effect.gen(function* () {
      const excerptOf = Effect.fnUntraced(function* (behave: Parameters<typeof serve>[0]) {
        const result = yield* post((yield* serve(behave)).url)
        return result._tag === "Answered" ? result.excerpt : ""
      })
      assert.strictEqual(yield* excerptOf(sendsInvalidUtf8), "\ufffd".repeat(Math.floor(maxExcerptLength / 3)))
      assert.strictEqual(yield* excerptOf(sendsLongText), `x${"é".repeat(maxExcerptLength / 2 - 1)}`)
      assert.strictEqual(yield* excerptOf(sendsNul), "a\u0000b")
    })
  )

  test(
    "do not delay healthy receivers",
    Effect.gen(function* () {
      const receivers = yield* Effect.forEach(catalogue, serveHostile)
      const healthy = yield* serve(answers(ok))
      const urls = Array.from({ length: 3 }, () => receivers.map(({ url }) => url)).flat()
      yield* Effect.forkChild(Effect.forEach(urls, (url) => post(url, { deadline: 200 }), { concurrency: "unbounded" }))
      for (let i = 0; i < 10; i++) assert.strictEqual(outcomeOf(yield* post(healthy.url)), 200)
    })
  )

  test(
    "that don't exist are reported with their address",
    Effect.gen(function* () {
      const { port, url } = yield* Effect.scoped(serve(answers(ok)))
      const result = yield* post(url)
      assert.strictEqual(outcomeOf(result), "connection_refused")
      assert.strictEqual(detailOf(result), `could not connect to 127.0.0.1:${port} (ECONNREFUSED)`)
    })
  )
})
