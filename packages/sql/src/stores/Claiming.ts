/**
 * Claims: lane by lane, and within a lane in rounds, one delivery of each integration in a round, the earliest due
 * first. Everything here runs in one transaction.
 */
import type { ClaimRequest, IntegrationId, Lane, LeasedDelivery } from "@doorhook/core"
import { lanes, Standing } from "@doorhook/core"
import { Effect } from "effect"
import type { StandingRow } from "../DeliveryRows.ts"
import { decodeEvents } from "../DeliveryRows.ts"
import type { DeliveryTables, Head } from "../DeliveryTables.ts"
import type { IntegrationReader } from "../IntegrationReader.ts"
import { move } from "./Moving.ts"
import type { PutOff } from "./PuttingOff.ts"
import { readable } from "./PuttingOff.ts"
import { Tally } from "./Tally.ts"

type Tables = DeliveryTables["Service"]

/** What claims work with. */
export interface Claims {
  readonly tables: Tables
  readonly reader: IntegrationReader
  readonly putOff: PutOff
}

/** How often a claim goes on to what can be sent, after what it had chosen could not be. */
const refills = 3

/**
 * Leases what is due, and answers it with everything an attempt needs; and whether something is due of which nothing could
 * be leased, because other claims look at it. To choose, these lock more than they take, and give it back when they end.
 */
export const claimDue = Effect.fnUntraced(function* (claims: Claims, request: ClaimRequest) {
  const tally = new Tally()
  const claimed: Array<LeasedDelivery> = []
  let isDue = false
  let wanted = request
  for (let more = refills; ; more--) {
    const { chosen, due } = yield* chooseDue(claims.tables, wanted)
    isDue = due
    if (chosen.length === 0) break
    const { sendable, unreadable, unsendable } = yield* lease(claims, tally, chosen, wanted)
    claimed.push(...sendable)
    // Whoever gets less than there is takes it for all there is: so what could not be sent leaves its room to others.
    if (unsendable.length === 0 || more === 0) break
    wanted = restOf(wanted, sendable, unreadable)
  }
  yield* tally.write(claims.tables)
  return { claimed, passedOver: isDue && claimed.length === 0 }
})

/** What is still to be claimed, of all but some integrations. */
const restOf = (
  request: ClaimRequest,
  claimed: ReadonlyArray<LeasedDelivery>,
  without: ReadonlySet<IntegrationId>
): ClaimRequest => {
  const limits = new Map(request.limits)
  for (const { integration } of claimed)
    limits.set(integration.id, (limits.get(integration.id) ?? request.limitPerIntegration) - 1)
  for (const id of without) limits.set(id, 0)
  return { ...request, limit: request.limit - claimed.length, limits }
}

/** Leases what was chosen, and puts off what can't be read; says which integrations can't be. */
const lease = Effect.fnUntraced(function* (
  { putOff, reader, tables }: Claims,
  tally: Tally,
  chosen: ReadonlyArray<StandingRow>,
  { lease, now }: ClaimRequest
) {
  const moves = chosen.map((from) => ({ from, to: Standing.claimed(from, lease) }))
  yield* move(tables, tally, moves)
  const eventIds = new Set(chosen.map(({ event_id }) => event_id))
  const events = yield* readable(yield* tables.eventsById([...eventIds]), decodeEvents)
  const integrationIds = new Set(chosen.map(({ integration_id }) => integration_id))
  const integrations = yield* readable(yield* tables.integrationsById([...integrationIds]), reader.readAll)
  const sendable: Array<LeasedDelivery> = []
  const unsendable: Array<StandingRow> = []
  for (const { from, to } of moves) {
    const event = events.found.get(from.event_id)
    const integration = integrations.found.get(from.integration_id)
    const { attempts, lane, resend } = to
    if (event === undefined || integration === undefined) unsendable.push({ ...from, ...to })
    else sendable.push({ id: from.id, lease, lane, attempts, resend: resend > 0, event, integration })
  }
  if (unsendable.length > 0) yield* putOff(tables, tally, unsendable, { events, integrations }, now)
  const unreadable = new Set([...integrationIds].filter((id) => !integrations.found.has(id)))
  return { sendable, unreadable, unsendable }
})

/** The order within a round. */
const byDue = (
  a: Pick<StandingRow, "due_at" | "integration_id">,
  b: Pick<StandingRow, "due_at" | "integration_id">
): number => (a.due_at ?? 0) - (b.due_at ?? 0) || a.integration_id - b.integration_id

const chooseDue = Effect.fnUntraced(function* (tables: Tables, request: ClaimRequest) {
  const { limit, limitPerIntegration, limits, now } = request
  const chosen: Array<StandingRow> = []
  const places = new Map(limits)
  const placesOf = (id: IntegrationId): number => places.get(id) ?? limitPerIntegration
  const heads = (yield* tables.dueHeads(now)).filter(({ integration_id }) => placesOf(integration_id) > 0)
  for (const lane of lanes) {
    const open = heads.filter((head) => head.lane === lane && placesOf(head.integration_id) > 0)
    for (const delivery of yield* chooseInLane(tables, { lane, now, open, placesOf, room: limit - chosen.length })) {
      places.set(delivery.integration_id, placesOf(delivery.integration_id) - 1)
      chosen.push(delivery)
    }
  }
  return { chosen, due: limit > 0 && heads.length > 0 }
})

interface LaneRequest {
  readonly lane: Lane
  readonly now: number
  /** The integrations that have something due in the lane, and places. */
  readonly open: ReadonlyArray<Head>
  readonly placesOf: (id: IntegrationId) => number
  /** How many deliveries to choose at most. */
  readonly room: number
}

/** Looks as deep into the queues as it takes to fill the room: mostly, one equal share of it into each. */
const chooseInLane = Effect.fnUntraced(function* (tables: Tables, { lane, now, open, placesOf, room }: LaneRequest) {
  if (room <= 0 || open.length === 0) return []
  // With more integrations than room there is one round, and it is known already who is in it.
  const wanted = open.length > room ? open.toSorted(byDue).slice(0, room) : open
  const integrations = wanted.map(({ integration_id }) => integration_id)
  const deepest = Math.min(room, Math.max(...wanted.map(({ integration_id }) => placesOf(integration_id))))
  for (let depth = Math.ceil(room / wanted.length); ; depth *= 4) {
    const due = yield* tables.firstDue({ integrations, lane, now, depth: Math.min(depth, deepest) })
    const chosen = inRounds(due, placesOf).slice(0, room)
    if (chosen.length === room || depth >= deepest) return chosen
  }
})

/** Deliveries in the order of rounds, as many of each integration as it has places. */
const inRounds = (
  due: ReadonlyArray<StandingRow>,
  placesOf: (id: IntegrationId) => number
): ReadonlyArray<StandingRow> => {
  const rounds: Array<Array<StandingRow>> = []
  const taken = new Map<IntegrationId, number>()
  for (const delivery of due.toSorted((a, b) => (a.due_at ?? 0) - (b.due_at ?? 0) || a.id - b.id)) {
    const round = taken.get(delivery.integration_id) ?? 0
    if (round >= placesOf(delivery.integration_id)) continue
    taken.set(delivery.integration_id, round + 1)
    const members = (rounds[round] ??= [])
    members.push(delivery)
  }
  return rounds.flatMap((round) => round.toSorted(byDue))
}
