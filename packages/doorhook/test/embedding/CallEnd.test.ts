/**
 * The end of a call: what waits of the call is not sent any more, on every store and in every process.
 */
import { assert, describe } from "@effect/vitest"
import type { Doorhook, DoorhookOptions } from "doorhook"
import { Effect } from "effect"
import { join } from "node:path"
import { describeOnPostgres, hostPool, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import type { Received } from "@doorhook/testkit/Receiver"
import { publishInSql } from "../harness/Apps.ts"
import { codeOf, event, live, mount, start, tokenFrom, untilEnded } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { createIntegration } from "../harness/ThirdParty.ts"

const call = (id: number | string) => ({ ...event, resource_type: "call", data: { id } })
const end = (call_id: number | string) => ({
  ...event,
  resource_type: "call_end",
  data: { id: 900, call_id, reason: "answered_elsewhere", ended_at: "2026-03-02T07:00:00Z" }
})

const sent = ({ body }: Received): string => {
  const { event: one }: { event: { resource_type: string; data: { id: number | string } } } = JSON.parse(body)
  return `${one.resource_type} ${one.data.id}`
}

const integrate = Effect.fnUntraced(function* (doorhook: Doorhook, receiver: string) {
  const { url } = yield* mount(doorhook)
  const token = yield* tokenFrom(url)
  yield* Effect.promise(() => createIntegration(url, token, receiver, ["call", "call_end"]))
})

const deliveriesOf = (doorhook: Doorhook, event_id: string) =>
  Effect.map(
    Effect.promise(() => doorhook.deliveries.list({ event_id })),
    ({ deliveries }) => deliveries.map(({ attempts, reason, state }) => ({ attempts, reason, state }))
  )

/**
 * Opens as many calls as a receiver may have at once, which it answers only when the test says so, and one more, which
 * waits in the memory of the process. Then ends that one by `endCall`.
 */
const endWaiting = Effect.fnUntraced(function* (
  doorhook: Doorhook,
  hasForgotten: Effect.Effect<unknown>,
  endCall: Effect.Effect<unknown, unknown>
) {
  const opened = Promise.withResolvers<void>()
  const receiver = yield* startReceiver(async (received) => {
    if (sent(received).startsWith("call ")) await opened.promise
    return 200
  })
  yield* integrate(doorhook, receiver.url)
  yield* Effect.promise(() => doorhook.publish(Array.from({ length: 10 }, (_, id) => call(id + 1))))
  yield* Effect.promise(() => receiver.until(({ length }) => length === 10))
  const { id } = yield* Effect.promise(() => doorhook.publish(call(11)))
  yield* endCall
  assert.deepStrictEqual(yield* deliveriesOf(doorhook, id), [{ attempts: 0, reason: "call_ended", state: "cancelled" }])
  yield* hasForgotten
  opened.resolve()
  yield* Effect.promise(() => receiver.until((all) => all.map(sent).includes("call_end 900")))
  yield* Effect.promise(() => doorhook.publish(call(12)))
  yield* Effect.promise(() => receiver.until((all) => all.map(sent).includes("call 12")))
  assert.notInclude(receiver.received.map(sent), "call 11")
})

const retried = Effect.fnUntraced(function* (options: Partial<DoorhookOptions>) {
  const receiver = yield* startReceiver((received) => (sent(received) === "call 7" ? 500 : 200))
  // The end must be published before the retry, on a slow machine, too.
  const doorhook = yield* start({ callEnd: true, retry: { call: ["20s"] }, ...options })
  yield* integrate(doorhook, receiver.url)
  const { id } = yield* Effect.promise(() => doorhook.publish(call(7)))
  yield* eventually("a retry waits", deliveriesOf(doorhook, id), ([one]) => one?.state === "retrying")
  const ended = yield* Effect.promise(() => doorhook.publish(end("7")))
  assert.deepStrictEqual(yield* deliveriesOf(doorhook, id), [{ attempts: 1, reason: "call_ended", state: "cancelled" }])
  yield* untilEnded(doorhook, ended.id)
  const late = yield* Effect.promise(() => doorhook.publish(call("7")))
  assert.deepStrictEqual(yield* deliveriesOf(doorhook, late.id), [
    { attempts: 0, reason: "call_ended", state: "cancelled" }
  ])
  const { deliveries } = yield* Effect.promise(() => doorhook.deliveries.list({ event_id: id }))
  const shown = yield* Effect.promise(() => doorhook.deliveries.show(deliveries[0]?.id ?? ""))
  assert.include(JSON.stringify(shown), "The call has ended, so it is not sent any more.")
  assert.deepStrictEqual(receiver.received.map(sent), ["call 7", "call_end 900"])
})

describe("the end of a call", () => {
  live("cancels a waiting retry, and a call that is published after its end", function* () {
    yield* retried({})
  })

  live("does so in a file, too", function* () {
    yield* retried({ database: join(yield* temporaryFolder, "doors.db") })
  })

  live("takes back a call that waits in memory for a place at its receiver", function* () {
    const doorhook = yield* start({ callEnd: true })
    yield* endWaiting(
      doorhook,
      Effect.void,
      Effect.promise(() => doorhook.publish(end(11)))
    )
  })

  live("must name its call, and does not exist by default", function* () {
    const doorhook = yield* start({ callEnd: true })
    const { code, message } = yield* codeOf(doorhook.publish({ ...end(7), data: { id: 1, call_id: null } }))
    assert.strictEqual(code, "invalid_publish")
    assert.include(message, "/data/call_id: must be the `data.id` of the call that ends")
    const without = yield* start()
    assert.include((yield* codeOf(without.publish(end(7)))).message, "must be call or access_log")
    const own = start({ resourceTypes: { call_end: {} } })
    const { message: refused } = yield* codeOf(Effect.runPromise(Effect.scoped(own)))
    assert.include(refused, "is built in; switch it on with `callEnd`")
  })
})

await describeOnPostgres("a server", (server) => {
  describe("the end of a call", { concurrent: true }, () => {
    const database = Effect.map(newDatabase(server), server.url)

    live("cancels a waiting retry, and a call that is published after its end", function* () {
      yield* retried({ database: yield* database })
    })

    for (const [by, publishEnd] of [
      ["another process", (_: string, other: Doorhook) => Effect.promise(() => other.publish(end(11)))],
      ["SQL", (url: string) => publishInSql(url, JSON.stringify(end(11)))]
    ] as const) {
      live(`published by ${by} takes back a call from the process that was about to send it`, function* () {
        const url = yield* database
        const doorhook = yield* start({ database: url, callEnd: true })
        const other = yield* start({ database: url, callEnd: true, deliver: false })
        const pool = yield* hostPool(url)
        const leases = "SELECT 1 FROM doorhook.deliveries WHERE reason = 'call_ended' AND worker IS NOT NULL"
        const hasForgotten = eventually(
          "the process has released the call",
          Effect.promise(() => pool.query(leases)),
          ({ rows }) => rows.length === 0
        )
        yield* endWaiting(doorhook, hasForgotten, publishEnd(url, other))
      })
    }
  })
})
