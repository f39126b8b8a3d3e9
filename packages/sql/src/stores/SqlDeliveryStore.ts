/**
 * Deliveries in a SQL database. A call that changes anything is one transaction of a few statements, whatever its number
 * of rows; where a delivery stands afterwards is decided by core's `rules/Standing`.
 */
import type { Delivery, DeliveryId, FeedItem, IntegrationId, ProbeResult, ResendResult } from "@doorhook/core"
import { DeliveryStore, Standing } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { decodeAttempts, decodeLastAttempts, decodeDeliveries, decodeEvents } from "../DeliveryRows.ts"
import { DeliveryTables } from "../DeliveryTables.ts"
import { fleeting } from "../Durability.ts"
import type { IntegrationReader } from "../IntegrationReader.ts"
import { fromRows as noticesFromRows } from "../NoticeRows.ts"
import { failAs, failAsBegun, failAsUnlessTaken } from "../StoreFailure.ts"
import type { Claims } from "./Claiming.ts"
import { claimDue } from "./Claiming.ts"
import { enqueueAll, enqueueAtOnce } from "./Enqueueing.ts"
import { Endings } from "./Endings.ts"
import { currentOf, move, standingsOf, targetsOf } from "./Moving.ts"
import { purgeOld } from "./Purging.ts"
import { makePuttingOff } from "./PuttingOff.ts"
import { recoverAll } from "./Recovering.ts"
import type { Settlements } from "./Settling.ts"
import { settleAll, settleAtOnce, warnAll, writeNotices } from "./Settling.ts"
import { readTallies, Tally } from "./Tally.ts"
import { makeTelling } from "./Telling.ts"

type Service = DeliveryStore["Service"]

/** How often a claim looks again, when all that is due is being looked at by others. */
const claimTries = 3

const make = Effect.fnUntraced(function* (reader: IntegrationReader) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* DeliveryTables
  const endings = yield* Endings
  const claims: Claims = { tables, reader, putOff: makePuttingOff() }
  const recording: Settlements = { tables, endings, isTimeToTell: makeTelling() }

  /** Runs a call in a transaction of its own, or in the caller's. */
  const transact =
    (operation: keyof Service) =>
    <A, E, R>(call: Effect.Effect<A, E, R>) =>
      failAs(`DeliveryStore.${operation}`)(sql.withTransaction(call))

  const read = (operation: keyof Service) => failAs(`DeliveryStore.${operation}`)

  const release: Service["release"] = Effect.fnUntraced(
    function* (leases, dueAt) {
      const held = (yield* currentOf(tables, leases)).filter(({ from }) => from.state === "delivering")
      const tally = new Tally()
      yield* move(
        tables,
        tally,
        held.map(({ from }) => ({ from, to: Standing.released(from, dueAt) }))
      )
      yield* tally.write(tables)
    },
    transact("release"),
    fleeting
  )

  const resend: Service["resend"] = Effect.fnUntraced(function* (
    id,
    now
  ): Effect.fn.Return<ResendResult, SqlError.SqlError> {
    yield* tables.lockIntegrations(yield* tables.integrationsOf([id]))
    const [from] = yield* standingsOf(tables, [id])
    if (from === undefined) return "not_found"
    const target = (yield* targetsOf(tables, [from.integration_id])).get(from.integration_id)
    if (target === undefined) return "integration_deleted"
    if (target.status === "disabled") return "integration_disabled"
    const tally = new Tally()
    yield* move(tables, tally, [{ from, to: Standing.resent(from, now) }])
    yield* tally.write(tables)
    return "resent"
  }, transact("resend"))

  const probeOf = Effect.fnUntraced(function* (
    integration: IntegrationId,
    now: number,
    lease: number
  ): Effect.fn.Return<ProbeResult, SqlError.SqlError> {
    yield* tables.lockIntegrations([integration])
    const [subject] = yield* tables.subjects([integration])
    if (subject === undefined) return "not_found"
    if (subject.status === "enabled" || subject.disabled_reason === "manual") return "not_disabled"
    yield* endings.finish(integration)
    const newest = yield* tables.newestUnacknowledged(integration, now - lease)
    const [from] = newest === null ? [] : yield* standingsOf(tables, [newest])
    if (from === undefined) return "nothing_to_send"
    const tally = new Tally()
    yield* move(tables, tally, [{ from, to: Standing.resent(from, now) }])
    yield* tally.write(tables)
    return from.id
  }, sql.withTransaction)

  const probe: Service["probe"] = (integration, now, lease) =>
    failAs("DeliveryStore.probe")(Effect.andThen(endings.prepare(integration), probeOf(integration, now, lease)))

  return DeliveryStore.of({
    enqueue: Effect.fnUntraced(function* (records, keys = []) {
      if (records.length === 0 && keys.length === 0) return []
      const stored = keys.length > 0 ? null : yield* enqueueAtOnce(tables, records)
      return stored ?? (yield* sql.withTransaction(enqueueAll(tables, records, keys)))
    }, failAsUnlessTaken("DeliveryStore.enqueue")),

    claim: Effect.fnUntraced(
      function* (request) {
        for (let more = claimTries; ; more--) {
          const { claimed, passedOver } = yield* sql.withTransaction(claimDue(claims, request))
          if (!passedOver || more === 0) return claimed
          yield* tables.pause
        }
      },
      failAs("DeliveryStore.claim"),
      fleeting
    ),

    settle: Effect.fnUntraced(function* (settlements, now, disableAfter) {
      if (settlements.length === 0) return { applied: new Set<DeliveryId>(), changed: [], notices: [], dueAgain: false }
      const atOnce = yield* settleAtOnce(tables, settlements, now)
      if (atOnce !== null) return atOnce
      const settled = yield* sql.withTransaction(settleAll(recording, settlements, now, disableAfter))
      if (settled.changed.length > 0) yield* endings.goOn
      return settled
    }, failAs("DeliveryStore.settle")),

    warn: (now, disableAfter, limit) => transact("warn")(warnAll(recording, now, disableAfter, limit)),

    addNotice: Effect.fnUntraced(function* (notice) {
      const [kept] = yield* writeNotices(tables, [notice])
      return kept ?? (yield* Effect.die(new Error("a notice was stored and not returned")))
    }, transact("addNotice")),

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

    lastAttempts: Effect.fnUntraced(function* (ids) {
      if (ids.length === 0) return new Map()
      const last = yield* decodeLastAttempts(yield* tables.lastAttempts(ids))
      return new Map(last.map(({ delivery_id, ...attempt }) => [delivery_id, attempt]))
    }, read("lastAttempts")),

    findEvent: Effect.fnUntraced(function* (id) {
      const [event] = yield* decodeEvents(yield* tables.eventsById([id]))
      return event ?? null
    }, read("findEvent")),

    resend,
    recover: (integration, since, now) =>
      Effect.suspend(() => {
        let isBegun = false
        const noteBegun = () => {
          isBegun = true
        }
        return recoverAll(sql, tables, integration, since, now, noteBegun).pipe(
          failAsBegun("DeliveryStore.recover", () => isBegun)
        )
      }),
    probe,

    feed: Effect.fnUntraced(function* ({ after, integration_id, limit }) {
      const items: Array<FeedItem> = []
      for (let last: DeliveryId | 0 | undefined = after; last !== undefined && items.length < limit;) {
        const wanted = limit - items.length
        const deliveries: ReadonlyArray<Delivery> = yield* decodeDeliveries(
          yield* tables.feed(integration_id, last, wanted)
        )
        const ids = new Set(deliveries.map(({ event_id }) => event_id))
        const events = yield* decodeEvents(yield* tables.eventsById([...ids]))
        const byId = new Map(events.map((event) => [event.id, event]))
        for (const delivery of deliveries) {
          const event = byId.get(delivery.event_id)
          // One that is not there any more was purged a moment ago: what comes after it takes its place.
          if (event !== undefined) items.push({ delivery, event })
        }
        last = deliveries.length < wanted ? undefined : deliveries.at(-1)?.id
      }
      return items
    }, read("feed")),

    events: Effect.fnUntraced(function* (filter) {
      const { items, total } = yield* tables.events(filter)
      return { items: yield* decodeEvents(items), total: total ?? filter.countUpTo, isCapped: total === null }
    }, read("events")),

    notices: Effect.fnUntraced(function* (filter) {
      return yield* noticesFromRows(yield* tables.notices(filter))
    }, read("notices")),

    purge: (request) => transact("purge")(purgeOld(tables, request)),

    beat: (worker, now, until) =>
      fleeting(transact("beat")(tables.beat(worker, now, until))).pipe(Effect.tap(endings.goOn)),
    leave: (worker) => fleeting(read("leave")(tables.leave(worker))),

    summary: Effect.fnUntraced(function* (now) {
      const { events, ...states } = yield* readTallies(tables)
      const due = yield* tables.nextDue
      return { events, states, oldest_due_at: due !== null && due <= now ? due : null }
    }, read("summary"))
  })
})

export const layer = (
  reader: IntegrationReader
): Layer.Layer<DeliveryStore, never, SqlClient.SqlClient | DeliveryTables | Endings> =>
  Layer.effect(DeliveryStore, make(reader))
