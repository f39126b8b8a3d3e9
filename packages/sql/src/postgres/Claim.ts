/**
 * Claims deliveries lane by lane. Each round within a lane takes one delivery per integration, the earliest due first.
 */
import type {
  Claimed,
  ClaimRequest,
  DeliveryId,
  Integration,
  IntegrationId,
  Lane,
  LeasedDelivery
} from "@doorhook/core"
import { ClaimAllowance, lanes, RecentMap, Transitions } from "@doorhook/core"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { EventRow, StandingRow } from "../DeliveryRows.ts"
import { decodeEvents } from "../DeliveryRows.ts"
import type { IntegrationReader } from "../IntegrationReader.ts"
import type { IntegrationRow } from "../IntegrationRows.ts"
import { integrationStatements } from "../statements/IntegrationStatements.ts"
import type { Unsendable } from "../UnreadableRows.ts"
import { logUnsendable } from "../UnreadableRows.ts"
import type { Move, Sql, Tally } from "./DeliveryTables.ts"
import { idsOf, move, writeTally } from "./DeliveryTables.ts"
import { int8s, postgres, texts } from "./PostgresDialect.ts"
import * as Statements from "./statements/ClaimStatements.ts"
import type * as Switches from "./Switches.ts"
import { keepWorkers, pause } from "./statements/DeliveryStatements.ts"

/** Maximum number of retries while other claims have locked all due deliveries. */
const claimTries = 3

/** Maximum number of times that a claim chooses other deliveries in place of those that it ends. */
const refills = 3

/** Maximum number of cached integrations. */
const maxRemembered = 10_000

/** The first waiting delivery of an integration in a lane. */
interface Head {
  readonly lane: Lane
  readonly integration_id: IntegrationId
  readonly due_at: number
}

/** A delivery that is locked but not leased yet. */
type Chosen = Pick<
  StandingRow,
  "id" | "event_id" | "integration_id" | "created_at" | "attempts" | "early" | "lane" | "resend"
> & { readonly due_at: number }

/** A row that the lease statement returns: an event, or an integration's id with the transaction that last wrote its row. */
type LeaseRow =
  | (EventRow & { readonly integration_id: null; readonly version: null })
  | { readonly id: null; readonly integration_id: IntegrationId; readonly version: number }

/** Decoded rows, and the failures of rows that can't be decoded. */
interface Readable<Id, A> {
  readonly found: ReadonlyMap<Id, A>
  readonly faults: ReadonlyMap<Id, unknown>
}

const byId = <A extends { readonly id: unknown }>(all: ReadonlyArray<A>): ReadonlyMap<A["id"], A> =>
  new Map(all.map((each) => [each.id, each]))

/** Decodes all rows at once, or one by one if that fails. */
const readable = <Row extends { readonly id: unknown }, A extends { readonly id: Row["id"] }, E>(
  rows: ReadonlyArray<Row>,
  readAll: (rows: ReadonlyArray<Row>) => Effect.Effect<ReadonlyArray<A>, E>
): Effect.Effect<Readable<Row["id"], A>> =>
  readAll(rows).pipe(
    Effect.map((all) => ({ found: byId(all), faults: new Map() })),
    Effect.catch(() => readEach(rows, readAll))
  )

const readEach = Effect.fnUntraced(function* <
  Row extends { readonly id: unknown },
  A extends { readonly id: Row["id"] },
  E
>(rows: ReadonlyArray<Row>, readAll: (rows: ReadonlyArray<Row>) => Effect.Effect<ReadonlyArray<A>, E>) {
  const found: Array<A> = []
  const faults = new Map<Row["id"], unknown>()
  for (const row of rows) {
    yield* Effect.match(readAll([row]), {
      onSuccess: (read) => found.push(...read),
      onFailure: (cause) => faults.set(row.id, cause)
    })
  }
  return { found: byId(found), faults }
})

/** Order within a round. */
const byDue = (a: Pick<Head, "due_at" | "integration_id">, b: Pick<Head, "due_at" | "integration_id">): number =>
  a.due_at - b.due_at || a.integration_id - b.integration_id

/** Takes one delivery of each integration per round, up to the limit of the integration. */
const inRounds = (due: ReadonlyArray<Chosen>, roomOf: (delivery: Chosen) => number): ReadonlyArray<Chosen> => {
  const rounds: Array<Array<Chosen>> = []
  const taken = new Map<IntegrationId, number>()
  for (const delivery of due.toSorted((a, b) => a.due_at - b.due_at || a.id - b.id)) {
    const round = taken.get(delivery.integration_id) ?? 0
    if (round >= roomOf(delivery)) continue
    taken.set(delivery.integration_id, round + 1)
    const members = (rounds[round] ??= [])
    members.push(delivery)
  }
  return rounds.flatMap((round) => round.toSorted(byDue))
}

const nextOf = (heads: ReadonlyArray<Head>): number | null =>
  heads.reduce<number | null>((next, { due_at }) => (next === null || due_at < next ? due_at : next), null)

/** Makes `DeliveryStore.claim`. */
export const makeClaim = (sql: Sql, reader: IntegrationReader, { claim: how }: Switches.Values) => {
  const { byIds } = integrationStatements(postgres)
  const remembered = new RecentMap<IntegrationId, { readonly integration: Integration; readonly version: number }>(
    maxRemembered
  )

  const waiting = sql.unsafe<Head>(Statements.waiting)

  /** Reads when the first delivery that is not leased becomes due. */
  const nextDue = Effect.map(waiting, nextOf)

  /** Selects and locks deliveries that can be leased. */
  const lockFree = Effect.fnUntraced(function* (statement: string, params: ReadonlyArray<unknown>) {
    if (how === "skip-locked") return yield* sql.unsafe<Chosen>(statement, params)
    // Two claims that wait for each other's rows must take them in the same order.
    const found = yield* sql.unsafe<Chosen>(Statements.withoutLocks(statement), params)
    const ids = int8s(found.map(({ id }) => id).toSorted((a, b) => a - b))
    const free = new Set(yield* idsOf(sql.unsafe<{ readonly id: DeliveryId }>(Statements.lockStillFree, [ids])))
    return found.filter(({ id }) => free.has(id))
  })

  /**
   * Locks enough due deliveries of each integration to fill the claim. Starts with an equal share for each, which is
   * usually enough.
   */
  const chooseInLane = Effect.fnUntraced(function* (
    lane: Lane,
    heads: ReadonlyArray<Head>,
    allowance: ClaimAllowance,
    now: number
  ) {
    const roomOf = ({ integration_id }: Pick<Head, "integration_id">): number => allowance.roomOf(integration_id, lane)
    const open = heads.filter((head) => head.lane === lane && roomOf(head) > 0)
    const room = allowance.room(lane)
    if (open.length === 0) return []
    // If there is room for fewer deliveries than integrations, the claim takes one delivery each from the integrations
    // whose first deliveries are due earliest.
    const wanted = open.length > room ? open.toSorted(byDue).slice(0, room) : open
    const integrations = int8s(wanted.map(({ integration_id }) => integration_id))
    const deepest = Math.max(...wanted.map(roomOf))
    for (let depth = Math.ceil(room / wanted.length); ; depth *= 4) {
      const params = [integrations, lane, now, Math.min(depth, deepest)]
      const chosen = inRounds(yield* lockFree(Statements.firstDue, params), roomOf).slice(0, room)
      if (chosen.length === room || depth >= deepest) return chosen
    }
  })

  const chooseEarly = Effect.fnUntraced(function* (integration: IntegrationId, allowance: ClaimAllowance, now: number) {
    // Urgent limits don't apply to early retries.
    const most = allowance.roomOf(integration, 3)
    if (most <= 0) return []
    const chosen = yield* lockFree(Statements.earlyRetries, [integration, now, most])
    for (const _ of chosen) allowance.take(integration)
    return chosen
  })

  const chooseDue = Effect.fnUntraced(function* (heads: ReadonlyArray<Head>, allowance: ClaimAllowance, now: number) {
    const chosen: Array<Chosen> = []
    for (const lane of lanes) {
      for (const delivery of yield* chooseInLane(lane, heads, allowance, now)) {
        allowance.take(delivery.integration_id)
        chosen.push(delivery)
      }
    }
    return chosen
  })

  /**
   * Returns integrations from the cache, or from their rows if the version is not cached. A version is the transaction
   * that last wrote the row.
   */
  const integrationsOf = Effect.fnUntraced(function* (versions: ReadonlyMap<IntegrationId, number>) {
    const found = new Map<IntegrationId, Integration>()
    const unknown: Array<IntegrationId> = []
    for (const [id, version] of versions) {
      const known = remembered.get(id)
      if (known?.version === version) found.set(id, known.integration)
      else unknown.push(id)
    }
    if (unknown.length === 0) return { found, faults: new Map<IntegrationId, unknown>() }
    const read = yield* readable(yield* sql.unsafe<IntegrationRow>(byIds, [int8s(unknown)]), reader.readAll)
    for (const [id, integration] of read.found) {
      const version = versions.get(id)
      if (version !== undefined) remembered.set(id, { integration, version })
      found.set(id, integration)
    }
    return { found, faults: read.faults }
  })

  /**
   * Leases chosen deliveries. Ends those that can't be read, and those that were published while their integration was
   * being disabled or deleted, so that the cancellation does not cover them. They do not count in the claim.
   */
  const lease = Effect.fnUntraced(function* (
    chosen: ReadonlyArray<Chosen>,
    { earlyOf, worker }: ClaimRequest,
    allowance: ClaimAllowance
  ) {
    const ids = chosen.map(({ id }) => id).toSorted((a, b) => a - b)
    const eventRows: Array<EventRow> = []
    const versions = new Map<IntegrationId, number>()
    for (const row of yield* sql.unsafe<LeaseRow>(Statements.lease, [worker, int8s(ids)])) {
      if (row.id === null) versions.set(row.integration_id, row.version)
      else eventRows.push(row)
    }
    const events = yield* readable(eventRows, decodeEvents)
    const integrations = yield* integrationsOf(versions)
    const sendable: Array<LeasedDelivery> = []
    const unsendable: Array<Unsendable> = []
    const moves: Array<Move> = []
    for (const delivery of chosen) {
      const { attempts, event_id, id, integration_id, lane, resend } = delivery
      const event = events.found.get(event_id)
      const integration = integrations.found.get(integration_id)
      const isReadable = !integrations.faults.has(integration_id)
      // The only deliveries to a disabled integration are probes, which are resends.
      const mayEnd = isReadable && (integration === undefined || resend === 0)
      const reason = mayEnd ? Transitions.reasonToEnd(integration) : null
      if (event !== undefined && integration !== undefined && reason === null) {
        const early_due_at = earlyOf === undefined ? null : delivery.due_at
        const isResend = resend > 0
        sendable.push({ id, lane, attempts, early: delivery.early, early_due_at, resend: isResend, event, integration })
        continue
      }
      allowance.giveBack(integration_id)
      if (integration === undefined || reason !== null) allowance.exclude(integration_id)
      const from = Transitions.claim({ ...delivery, state: "pending", reason: null, worker: null }, worker)
      const to = Transitions.cancel({ ...from, worker: null }, reason ?? "row_unreadable")
      moves.push({ from: { ...delivery, ...from }, to })
      if (reason !== null) continue
      unsendable.push(
        isReadable
          ? { id, row: `event ${event_id}`, cause: events.faults.get(event_id) }
          : { id, row: `integration ${integration_id}`, cause: integrations.faults.get(integration_id) }
      )
    }
    if (moves.length > 0) {
      const tally: Tally = new Map()
      yield* move(sql, tally, moves)
      yield* writeTally(sql, tally)
      yield* logUnsendable(unsendable)
    }
    return { sendable, isComplete: moves.length === 0 }
  })

  /** Claims due deliveries. Runs in a transaction, and locks more deliveries than it claims. */
  const claimDue = Effect.fnUntraced(function* (request: ClaimRequest, heads: ReadonlyArray<Head>) {
    const claimed: Array<LeasedDelivery> = []
    // Workers are locked before deliveries, in the same order as in a heartbeat.
    yield* sql.unsafe(keepWorkers, [texts([request.worker])])
    const { earlyOf, now } = request
    const allowance = new ClaimAllowance(request)
    for (let more = refills; ; more--) {
      const chosen = yield* earlyOf === undefined
        ? chooseDue(heads, allowance, now)
        : chooseEarly(earlyOf, allowance, now)
      if (chosen.length === 0) break
      const { isComplete, sendable } = yield* lease(chosen, request, allowance)
      claimed.push(...sendable)
      // Tries to fill the limit, because a caller that gets fewer deliveries assumes that nothing else is due.
      if (isComplete || more === 0) break
    }
    return { claimed, next_due: yield* nextDue }
  })

  const claim = Effect.fnUntraced(function* (request: ClaimRequest): Effect.fn.Return<Claimed, SqlError.SqlError> {
    const { earlyOf, limit, now } = request
    const allowance = new ClaimAllowance(request)
    for (let more = claimTries; ; more--) {
      const heads = yield* waiting
      const due =
        earlyOf !== undefined
          ? []
          : heads.filter(
              ({ due_at, integration_id, lane }) => due_at <= now && allowance.roomOf(integration_id, lane) > 0
            )
      if (due.length === 0 && (earlyOf === undefined || limit <= 0)) return { deliveries: [], next_due: nextOf(heads) }
      const { claimed, next_due } = yield* sql.withTransaction(claimDue(request, due))
      // Other claims have locked everything that is due. They unlock what they don't claim, so a retry can succeed.
      if (claimed.length > 0 || earlyOf !== undefined || more === 0) return { deliveries: claimed, next_due }
      yield* sql.unsafe(pause)
    }
  })

  return { claim, nextDue }
}
