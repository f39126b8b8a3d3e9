/**
 * Deliveries on SQLite. A call that changes anything is one transaction of a few statements, whatever its number of rows;
 * where a delivery stands afterwards is decided by core's `rules/Standing`.
 */
import type { ResendResult } from "@doorhook/core"
import { DeliveryStore, Standing } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { decodeAttempts, decodeDeliveries, decodeEvents } from "../DeliveryRows.ts"
import type { SecretBox } from "../SecretBox.ts"
import { failAs } from "../StoreFailure.ts"
import { claimDue } from "./Claiming.ts"
import type { StateCount } from "./DeliveryTable.ts"
import { currentOf, move, standingsOf, statusesOf } from "./DeliveryTable.ts"
import { enqueueAll } from "./Enqueueing.ts"
import { settleAll } from "./Settling.ts"
import { nextDue } from "./statements/ClaimStatements.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import { attemptsOf, deliveryById, eventById, list } from "./statements/ListStatements.ts"
import { readTallies, Tally } from "./Tally.ts"

type Service = DeliveryStore["Service"]

const make = Effect.fnUntraced(function* (secrets: SecretBox) {
  const sql = yield* SqlClient.SqlClient

  /** Runs a call in a transaction of its own, or in the caller's. */
  const transact =
    (operation: keyof Service) =>
    <A, E, R>(call: Effect.Effect<A, E, R>) =>
      failAs(`DeliveryStore.${operation}`)(sql.withTransaction(call))

  const read = (operation: keyof Service) => failAs(`DeliveryStore.${operation}`)

  const release: Service["release"] = Effect.fnUntraced(function* (leases, dueAt) {
    const held = (yield* currentOf(sql, leases)).filter(({ from }) => from.state === "delivering")
    const tally = new Tally()
    yield* move(
      sql,
      tally,
      held.map(({ from }) => ({ from, to: Standing.released(from, dueAt) }))
    )
    yield* tally.write(sql)
  }, transact("release"))

  const resend: Service["resend"] = Effect.fnUntraced(function* (
    id,
    now
  ): Effect.fn.Return<ResendResult, SqlError.SqlError> {
    const [from] = yield* standingsOf(sql, [id])
    if (from === undefined) return "not_found"
    const status = (yield* statusesOf(sql, [from.integration_id])).get(from.integration_id)
    if (status === undefined) return "integration_deleted"
    if (status === "disabled") return "integration_disabled"
    const tally = new Tally()
    yield* move(sql, tally, [{ from, to: Standing.resent(from, now) }])
    yield* tally.write(sql)
    return "resent"
  }, transact("resend"))

  const recover: Service["recover"] = Effect.fnUntraced(function* (integration, since, now) {
    if ((yield* statusesOf(sql, [integration])).get(integration) !== "enabled") return 0
    const counts = yield* sql.unsafe<StateCount>(Statements.countRecoverable, [integration, since])
    if (counts.length === 0) return 0
    yield* sql.unsafe(Statements.recover, [now, integration, since])
    const tally = new Tally()
    for (const { count, state } of counts) tally.move(state, "pending", count)
    yield* tally.write(sql)
    return counts.reduce((sum, { count }) => sum + count, 0)
  }, transact("recover"))

  const earliestDue = Effect.map(
    sql.unsafe<{ readonly due_at: number | null }>(nextDue),
    (rows) => rows[0]?.due_at ?? null
  )

  return DeliveryStore.of({
    enqueue: (records) => (records.length === 0 ? Effect.succeed([]) : transact("enqueue")(enqueueAll(sql, records))),

    claim: (request) => transact("claim")(claimDue(sql, secrets, request)),

    settle: (settlements, now) =>
      settlements.length === 0 ? Effect.succeed(new Set()) : transact("settle")(settleAll(sql, settlements, now)),

    release,
    nextDue: read("nextDue")(earliestDue),

    find: Effect.fnUntraced(function* (id) {
      const [delivery] = yield* decodeDeliveries(yield* sql.unsafe(deliveryById, [id]))
      return delivery ?? null
    }, read("find")),

    list: Effect.fnUntraced(function* (filter) {
      const { params, text } = list(filter)
      return yield* decodeDeliveries(yield* sql.unsafe(text, params))
    }, read("list")),

    attempts: Effect.fnUntraced(function* (id) {
      return yield* decodeAttempts(yield* sql.unsafe(attemptsOf, [id]))
    }, read("attempts")),

    findEvent: Effect.fnUntraced(function* (id) {
      const [event] = yield* decodeEvents(yield* sql.unsafe(eventById, [id]))
      return event ?? null
    }, read("findEvent")),

    resend,
    recover,

    summary: Effect.fnUntraced(function* (now) {
      const { events, ...states } = yield* readTallies(sql)
      const due = yield* earliestDue
      return { events, states, oldest_due_at: due !== null && due <= now ? due : null }
    }, read("summary"))
  })
})

export const layer = (secrets: SecretBox): Layer.Layer<DeliveryStore, never, SqlClient.SqlClient> =>
  Layer.effect(DeliveryStore, make(secrets))
