/**
 * Deliveries in a SQL database. A call that changes anything is one transaction of a few statements, whatever its number
 * of rows; where a delivery stands afterwards is decided by core's `rules/Standing`.
 */
import type { DeliveryId, ResendResult } from "@doorhook/core"
import { DeliveryStore, Standing } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { decodeAttempts, decodeDeliveries, decodeEvents } from "../DeliveryRows.ts"
import { DeliveryTables } from "../DeliveryTables.ts"
import type { SecretBox } from "../SecretBox.ts"
import { failAs } from "../StoreFailure.ts"
import { claimDue } from "./Claiming.ts"
import { enqueueAll, enqueueAtOnce } from "./Enqueueing.ts"
import { currentOf, move, statusesOf } from "./Moving.ts"
import { settleAll, settleAtOnce } from "./Settling.ts"
import { readTallies, Tally } from "./Tally.ts"

type Service = DeliveryStore["Service"]

const make = Effect.fnUntraced(function* (secrets: SecretBox) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* DeliveryTables

  /** Runs a call in a transaction of its own, or in the caller's. */
  const transact =
    (operation: keyof Service) =>
    <A, E, R>(call: Effect.Effect<A, E, R>) =>
      failAs(`DeliveryStore.${operation}`)(sql.withTransaction(call))

  const read = (operation: keyof Service) => failAs(`DeliveryStore.${operation}`)

  const release: Service["release"] = Effect.fnUntraced(function* (leases, dueAt) {
    const held = (yield* currentOf(tables, leases)).filter(({ from }) => from.state === "delivering")
    const tally = new Tally()
    yield* move(
      tables,
      tally,
      held.map(({ from }) => ({ from, to: Standing.released(from, dueAt) }))
    )
    yield* tally.write(tables)
  }, transact("release"))

  const resend: Service["resend"] = Effect.fnUntraced(function* (
    id,
    now
  ): Effect.fn.Return<ResendResult, SqlError.SqlError> {
    yield* tables.lockIntegrationsOf([id])
    const [from] = yield* tables.standings([id])
    if (from === undefined) return "not_found"
    const status = (yield* statusesOf(tables, [from.integration_id])).get(from.integration_id)
    if (status === undefined) return "integration_deleted"
    if (status === "disabled") return "integration_disabled"
    const tally = new Tally()
    yield* move(tables, tally, [{ from, to: Standing.resent(from, now) }])
    yield* tally.write(tables)
    return "resent"
  }, transact("resend"))

  const recover: Service["recover"] = Effect.fnUntraced(function* (integration, since, now) {
    if ((yield* statusesOf(tables, [integration])).get(integration) !== "enabled") return 0
    const counts = yield* tables.recover(integration, since, now)
    const tally = new Tally()
    for (const { count, state } of counts) tally.move(state, "pending", count)
    yield* tally.write(tables)
    return counts.reduce((sum, { count }) => sum + count, 0)
  }, transact("recover"))

  return DeliveryStore.of({
    enqueue: Effect.fnUntraced(function* (records) {
      if (records.length === 0) return []
      const stored = yield* enqueueAtOnce(tables, records)
      return stored ?? (yield* sql.withTransaction(enqueueAll(tables, records)))
    }, failAs("DeliveryStore.enqueue")),

    claim: (request) => transact("claim")(claimDue(tables, secrets, request)),

    settle: Effect.fnUntraced(function* (settlements, now) {
      if (settlements.length === 0) return new Set<DeliveryId>()
      const settled = yield* settleAtOnce(tables, settlements, now)
      return settled ?? (yield* sql.withTransaction(settleAll(tables, settlements, now)))
    }, failAs("DeliveryStore.settle")),

    release,
    nextDue: read("nextDue")(tables.nextDue),

    find: Effect.fnUntraced(function* (id) {
      const [delivery] = yield* decodeDeliveries(yield* tables.deliveryById(id))
      return delivery ?? null
    }, read("find")),

    list: Effect.fnUntraced(function* (filter) {
      return yield* decodeDeliveries(yield* tables.list(filter))
    }, read("list")),

    attempts: Effect.fnUntraced(function* (id) {
      return yield* decodeAttempts(yield* tables.attemptsOf(id))
    }, read("attempts")),

    findEvent: Effect.fnUntraced(function* (id) {
      const [event] = yield* decodeEvents(yield* tables.eventsById([id]))
      return event ?? null
    }, read("findEvent")),

    resend,
    recover,

    summary: Effect.fnUntraced(function* (now) {
      const { events, ...states } = yield* readTallies(tables)
      const due = yield* tables.nextDue
      return { events, states, oldest_due_at: due !== null && due <= now ? due : null }
    }, read("summary"))
  })
})

export const layer = (secrets: SecretBox): Layer.Layer<DeliveryStore, never, SqlClient.SqlClient | DeliveryTables> =>
  Layer.effect(DeliveryStore, make(secrets))
