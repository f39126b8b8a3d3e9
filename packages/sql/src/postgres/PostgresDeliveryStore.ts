/**
 * The delivery store on PostgreSQL, shared by any number of processes.
 *
 * A call that changes anything is usually one statement (`Enqueue`, `Settle`). Otherwise it is one transaction with a
 * few statements, whatever the number of rows. Core's `delivery/Transitions` decides state changes. Deliveries are
 * leased to workers, which are rows of `members`. The heartbeat that ends a membership releases its leases.
 */
import type { Heartbeat, IntegrationId, Membership, ResourceTypeTable, Scope } from "@doorhook/core"
import { AgreedSettings, DeliveryStore, ResourceTypes, rootMessage, runForever } from "@doorhook/core"
import { Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import type { IntegrationReader } from "../IntegrationReader.ts"
import { failAs, failAsBegun } from "../StoreFailure.ts"
import { Cancellations } from "../stores/Cancellations.ts"
import { IntegrationLocks } from "../stores/SqlIntegrationStore.ts"
import * as PostgresCancellations from "./Cancellations.ts"
import { makeClaim } from "./Claim.ts"
import { Switches } from "./Switches.ts"
import { makeEnqueue } from "./Enqueue.ts"
import { writeResourceTypes } from "./migrations/PublishFunction.ts"
import type { Sql } from "./DeliveryTables.ts"
import { int8s, texts } from "./PostgresDialect.ts"
import * as Records from "./Records.ts"
import { redeliver } from "./Redeliver.ts"
import { makeSettle, writeNotifications } from "./Settle.ts"
import * as Statements from "./statements/DeliveryStatements.ts"
import { compactTallies, mostCompacted } from "./statements/TallyStatements.ts"
import { feedEnds } from "./Watermarks.ts"

// ---- Agreement of settings

const { agreedName, decodeAgreed, differencesOf, encodeAgreed, mayReplace, replacing } = AgreedSettings

interface SettingRow {
  readonly value: string
}

const storedSettings = `SELECT value FROM settings WHERE name = '${agreedName}'`
const insertSettings = `INSERT INTO settings (name, value) VALUES ('${agreedName}', $1) ON CONFLICT (name) DO NOTHING`
const replaceSettings = `UPDATE settings SET value = $1 WHERE name = '${agreedName}'`
const otherMembers = `SELECT 1 FROM members WHERE until > $1 AND worker <> $2 LIMIT 1`

interface Worker {
  readonly worker: string
  /** Members whose end is later count as such; 0 for all, while the clock can't be relied on. */
  readonly now: number
  readonly isMember: boolean
}

/**
 * Compares a worker's settings with the stored ones (core's `delivery/Agreement`). Every member's settings are the
 * stored ones: a worker becomes a member only while it has locked the stored row, and the row is replaced by a heartbeat
 * only if there is no other member. A locked row is skipped instead of awaited, so a machine that vanishes within a
 * heartbeat does not stop the others. Returns how the settings disagree; undefined if they are the stored ones. Runs in the transaction
 * of a heartbeat.
 */
const agree = Effect.fnUntraced(function* (
  sql: Sql,
  own: AgreedSettings.AgreedSettings,
  types: ResourceTypeTable,
  { isMember, now, worker }: Worker
) {
  const read = (lock: string) =>
    Effect.map(sql.unsafe<SettingRow>(`${storedSettings}${lock}`), ([row]) =>
      row === undefined ? null : decodeAgreed(row.value)
    )

  if ((yield* read("")) === null) yield* sql.unsafe(insertSettings, [encodeAgreed(own)])
  const current = (yield* read("")) ?? own
  const isSame = differencesOf(current, own).length === 0
  if (isMember) return isSame ? undefined : { stored: current, isReplaced: false }
  const locked = yield* read(isSame ? " FOR SHARE SKIP LOCKED" : " FOR UPDATE SKIP LOCKED")
  const known = locked ?? current
  const differs = differencesOf(known, own).length > 0
  const mayJoin =
    locked !== null &&
    (!differs || (!isSame && mayReplace(known, own) && (yield* sql.unsafe(otherMembers, [now, worker])).length === 0))
  if (!mayJoin) return { stored: known, isReplaced: false }
  if (differs) yield* sql.unsafe(replaceSettings, [encodeAgreed(replacing(known, own))])
  yield* writeResourceTypes(sql, types, { isAgreed: true })
  return differs ? { stored: known, isReplaced: true } : undefined
})

// ---- Heartbeats and calls

type Operation = keyof DeliveryStore["Service"]

/** Runs in a transaction. */
const heartbeat = Effect.fnUntraced(function* (sql: Sql, types: ResourceTypeTable, beat: Heartbeat) {
  const { holds, now, settings, spares = false, worker } = beat
  const [own] = yield* sql.unsafe<{ readonly until: number | null }>(Statements.lockOwn, [worker])
  const wasMember = own !== undefined && own.until !== null
  const hasLapsed = wasMember && own.until <= now && !spares
  // This heartbeat releases leases of its own worker. Nothing may be leased to that worker at the same time, for
  // example by a resend.
  if (hasLapsed || holds !== undefined) yield* sql.unsafe(Statements.lockAlone, [worker])
  const isMember = wasMember && !hasLapsed
  const disagreement =
    settings === undefined ? undefined : yield* agree(sql, settings, types, { worker, now: spares ? 0 : now, isMember })
  const isRefused = disagreement !== undefined && !disagreement.isReplaced && !isMember
  const until = isRefused ? null : beat.until
  const others = spares ? [] : yield* sql.unsafe<{ readonly worker: string }>(Statements.lapsed, [now, worker])
  const ended = others.map((each) => each.worker)
  const leaving = until === null ? [...ended, worker] : ended
  if (leaving.length > 0) yield* sql.unsafe(Statements.leave, [texts(leaving)])
  if (until !== null) yield* sql.unsafe(Statements.renewMembership, [worker, until])
  if (hasLapsed || (wasMember && until === null)) ended.push(worker)
  if (ended.length > 0 || holds !== undefined) {
    const released = [texts(ended), worker, holds?.before ?? 0, int8s(holds?.ids ?? [])]
    yield* sql.unsafe(Statements.releaseAllOf, released)
    yield* sql.unsafe(Statements.forget, released)
  }
  const [roll] = yield* sql.unsafe<Omit<Membership, "continued">>(Statements.roll, [worker])
  return {
    workers: roll?.workers ?? 0,
    rank: roll?.rank ?? 0,
    continued: isMember,
    ...(disagreement !== undefined && { disagreement })
  } satisfies Membership
})

/**
 * Compacts the table `tallies` at start and whenever the returned effect runs, for the lifetime of the scope.
 *
 * Every change of the counts appends a row, including changes by hosts that publish in SQL. Compaction runs separately,
 * so that its failure can't fail these calls. Each process compacts at start and with each heartbeat.
 */
const startCompaction = Effect.fnUntraced(function* (sql: Sql) {
  const wanted = yield* Queue.sliding<void>(1)

  const compactAll = Effect.gen(function* () {
    for (let taken = mostCompacted; taken === mostCompacted;) {
      const [folded] = yield* sql.unsafe<{ readonly taken: number }>(compactTallies)
      taken = folded?.taken ?? 0
    }
  })

  const round = compactAll.pipe(
    Effect.catchTag("SqlError", (error) =>
      // Compaction is not needed for correct counts, and the next heartbeat retries.
      Effect.logWarning(`Can't compact the rows of counts, will retry: ${rootMessage(error)}`)
    ),
    Effect.andThen(Queue.take(wanted))
  )
  yield* Effect.forkScoped(runForever("Compacting counts", round))

  return Effect.asVoid(Queue.offer(wanted, undefined))
})

const make = Effect.fnUntraced(function* (reader: IntegrationReader) {
  const sql = yield* SqlClient.SqlClient
  const endings = yield* Cancellations
  const types = yield* ResourceTypes
  const fold = yield* startCompaction(sql)
  const { claim, nextDue } = makeClaim(sql, reader, yield* Switches)
  const { settle, warn } = makeSettle(sql, endings)

  const named = (operation: Operation) => failAs(`DeliveryStore.${operation}`)

  /** Gives a call's error the operation's name, and whether a part of the operation was carried out. */
  const inParts =
    (operation: Operation) =>
    <A, E>(call: (noteBegun: () => void) => Effect.Effect<A, E>) =>
      Effect.suspend(() => {
        let isBegun = false
        const noteBegun = () => {
          isBegun = true
        }
        return failAsBegun(`DeliveryStore.${operation}`, () => isBegun)(call(noteBegun))
      })

  return DeliveryStore.of({
    enqueue: makeEnqueue(sql),
    claim: (request) => named("claim")(claim(request)),
    settle: (outcomes, now, disableAfter) =>
      inParts("settle")((noteBegun) => settle(outcomes, now, disableAfter, noteBegun)),
    heartbeat: (beat) =>
      named("heartbeat")(sql.withTransaction(heartbeat(sql, types, beat))).pipe(
        Effect.tap(Effect.andThen(fold, endings.resume))
      ),
    redeliver: (request, now) => inParts("redeliver")((noteBegun) => redeliver(sql, endings, request, now, noteBegun)),
    warn: (now, disableAfter, limit) => named("warn")(warn(now, disableAfter, limit)),
    addNotification: Effect.fnUntraced(function* (notification) {
      const [stored] = yield* named("addNotification")(sql.withTransaction(writeNotifications(sql, [notification])))
      return stored ?? (yield* Effect.die(new Error("a notification was stored and not returned")))
    }),
    find: (id) => named("find")(Records.find(sql, id)),
    findEvent: (id) => named("findEvent")(Records.findEvent(sql, id)),
    list: (filter) => named("list")(Records.list(sql, filter)),
    excerpts: (ids) => named("excerpts")(Records.excerpts(sql, ids)),
    feed: (of) => named("feed")(Records.feed(sql, of)),
    eventFeed: (of) => named("eventFeed")(Records.eventFeed(sql, of)),
    feedPlace: (of) => named("feedPlace")(Records.feedPlace(sql, of)),
    feedEnds: named("feedEnds")(feedEnds(sql)),
    lastPurged: (of) => named("lastPurged")(Records.lastPurged(sql, of)),
    newScopes: (of) => named("newScopes")(Records.newScopes(sql, of)),
    events: (filter) => named("events")(Records.events(sql, filter)),
    eventsFrom: (filter) => named("eventsFrom")(Records.eventsFrom(sql, filter)),
    notifications: (filter) => named("notifications")(Records.notifications(sql, filter)),
    purge: (request) => named("purge")(sql.withTransaction(Records.purge(sql, request))),
    figures: (filter) => named("figures")(Records.figures(sql, filter)),
    summary: (now) => named("summary")(Effect.flatMap(nextDue, (due) => Records.summary(sql, due, now)))
  })
})

const locks = Effect.map(SqlClient.SqlClient, (sql) =>
  IntegrationLocks.of({
    forChange: (id: IntegrationId) => Effect.asVoid(sql.unsafe(Statements.lockForChange, [id])),
    scope: ({ id, type }: Scope) => Effect.asVoid(sql.unsafe(Statements.lockScope, [`${type} ${id}`]))
  })
)

/** Provides the delivery store, and the services that change integrations. */
export const layer = (
  reader: IntegrationReader
): Layer.Layer<DeliveryStore | Cancellations | IntegrationLocks, never, SqlClient.SqlClient> =>
  Layer.effect(DeliveryStore, make(reader)).pipe(
    Layer.provideMerge(PostgresCancellations.layer),
    Layer.merge(Layer.effect(IntegrationLocks, locks))
  )
