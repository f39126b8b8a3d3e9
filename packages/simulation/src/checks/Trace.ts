/**
 * Defines the type of a check, and indexes a history for the checks.
 */
import type {
  DeliveryId,
  DeliverySettingsShape,
  DeliveryState,
  Event,
  IntegrationId,
  Settlement,
  TransportResult
} from "@doorhook/core"
import { callEndType, defaultDeliverySettings, settledStates } from "@doorhook/core"
import type { Entry, Fact, FinalDelivery } from "../History.ts"
import type { Outcome } from "../Simulation.ts"
import type { Scenario } from "../world/Scenario.ts"

/** A broken rule: what is wrong, and the indexes of the entries that show it. */
export interface Violation {
  readonly what: string
  readonly entries: ReadonlyArray<number>
}

export interface Check {
  readonly name: string
  /** The rule in one sentence. */
  readonly rule: string
  readonly violations: (trace: Trace) => ReadonlyArray<Violation>
}

export type EntryOf<Kind extends Fact["kind"]> = Extract<Entry, { readonly kind: Kind }>

/** A lease of a delivery, granted to an engine. */
interface Grant {
  readonly index: number
  /** Index of the entry with which the engine got the lease; null if it never did. */
  received: number | null
  readonly at: number
  /** Time, as the engine knows it. */
  readonly clock: number
  readonly engine: number
  readonly worker: string
  /** Regular due time of a delivery that was claimed early, else null. */
  readonly early_due_at: number | null
}

/** A settlement that took effect. */
export interface TracedSettlement {
  readonly entry: EntryOf<"settled">
  readonly settlement: Settlement
  /** The lease that the settlement ended. */
  readonly grant: Grant
  /** Number of failed early attempts before the settlement. */
  readonly early: number
}

/** An action that no lease allows. */
interface Breach {
  readonly what: string
  readonly entries: ReadonlyArray<number>
}

/** A request that a receiver saw. */
export interface Request {
  readonly entry: EntryOf<"request">
  readonly delivery: TracedDelivery
  readonly grant: Grant | null
  /** When the request was answered, or disconnected because its engine died. */
  readonly endedAt: number
  readonly response: { readonly entry: EntryOf<"response">; readonly result: TransportResult } | null
}

export interface TracedDelivery {
  readonly id: DeliveryId
  readonly event: Event
  readonly integration_id: IntegrationId
  readonly enqueued: EntryOf<"enqueued">
  /** State in which the delivery was stored. */
  readonly stored: DeliveryState
  readonly requests: Array<Request>
  readonly grants: Array<Grant>
  /** Indexes of the entries that requested a resend. */
  readonly resent: Array<number>
  /** The publications that end the call that the event begins. */
  readonly callEnds: ReadonlyArray<EntryOf<"enqueued">>
  /** Indexes of the entries that made the delivery a probe. */
  readonly probed: Array<number>
  /** Times when the delivery was returned unattempted, or released because its worker's membership had ended. */
  readonly released: Array<number>
  readonly settlements: Array<TracedSettlement>
  /** The delivery at the end, or when it was purged. */
  readonly final: FinalDelivery | undefined
  readonly purged: EntryOf<"purged"> | undefined
}

export type IntegrationEntry = EntryOf<"integration">

export interface Trace {
  readonly outcome: Outcome
  readonly entries: ReadonlyArray<Entry>
  readonly settings: DeliverySettingsShape
  readonly deliveries: ReadonlyMap<DeliveryId, TracedDelivery>
  readonly requests: ReadonlyArray<Request>
  /** Requests whose URL or event matches no delivery. */
  readonly strays: ReadonlyArray<EntryOf<"request">>
  readonly integrations: ReadonlyMap<IntegrationId, ReadonlyArray<IntegrationEntry>>
  readonly clockJumps: ReadonlyArray<EntryOf<"clock">>
  /** Leases of deliveries that another worker held, and settlements without a lease. */
  readonly breaches: ReadonlyArray<Breach>
  /** The answers to the heartbeats of each engine. */
  readonly members: ReadonlyMap<number, ReadonlyArray<EntryOf<"member">>>
  /** The changes that each engine received. */
  readonly changesReceived: ReadonlyMap<number, ReadonlyArray<EntryOf<"change_received">>>
  /** How far the clock of each engine is ahead when it starts, in milliseconds. */
  readonly skews: ReadonlyMap<number, number>
  /** The measurements of the store's clock by each engine. */
  readonly measured: ReadonlyMap<number, ReadonlyArray<EntryOf<"measured">>>
  /** The operations by number. */
  readonly invoked: ReadonlyMap<number, EntryOf<"invoke">>
  /** The first call to publish each event, by the event's data. */
  readonly publishes: ReadonlyMap<string, EntryOf<"invoke">>
  /** When each engine that has ended died, in milliseconds. */
  readonly deaths: ReadonlyMap<number, number>
}

/** Whether a settlement records a failed early attempt, which does not use up the schedule. */
export const failedEarly = ({ grant, settlement }: TracedSettlement): boolean =>
  grant.early_due_at !== null && settlement.attempt !== null && settlement.state === "retrying"

/** Whether an event is as urgent as a call. */
export const isUrgent = ({ resource_type }: Pick<Event, "resource_type">): boolean =>
  resource_type === "call" || resource_type === callEndType

/** How long a call and its end belong together, in milliseconds. */
const callLifetime = 45_000

/** Returns a function that returns the publications that end the call of an event. */
const callEndsIn = (entries: ReadonlyArray<Entry>) => {
  const keyOf = ({ building_id, data }: Event, member: "id" | "call_id"): string =>
    `${building_id} ${JSON.parse(data)[member]}`
  const ends = Map.groupBy(
    entriesOf(entries, "enqueued").flatMap((entry) =>
      entry.events.flatMap(({ event }) => (event.resource_type === callEndType ? [{ entry, event }] : []))
    ),
    ({ event }) => keyOf(event, "call_id")
  )
  return (event: Event): ReadonlyArray<EntryOf<"enqueued">> =>
    event.resource_type === "call"
      ? (ends.get(keyOf(event, "id")) ?? [])
          .filter((end) => Math.abs(end.event.created_at - event.created_at) < callLifetime)
          .map(({ entry }) => entry)
      : []
}

/** Whether a delivery in this state has ended. */
export const isSettled = (state: DeliveryState): boolean => settled.has(state)

const settled: ReadonlySet<DeliveryState> = new Set(settledStates)

/** The entries of one kind. */
export const entriesOf = <Kind extends Fact["kind"]>(
  entries: ReadonlyArray<Entry>,
  kind: Kind
): ReadonlyArray<EntryOf<Kind>> => entries.filter((entry): entry is EntryOf<Kind> => entry.kind === kind)

/** Longest delay before a worker claims a due delivery if no wake signal is lost, in milliseconds. */
const heardWithin = 2_000

/** The longest interval between heartbeats, in milliseconds. */
export const beatInterval = 5_000

/** Returns the longest time until the deliveries of a dead worker are due again, in milliseconds. */
export const longestLapse = ({ settings }: Trace): number => settings.lease + beatInterval

/** Returns the longest delay before a worker claims a due delivery, in milliseconds. */
export const longestUnseen = ({ outcome: { scenario }, settings }: Trace): number =>
  scenario.signalsLost === 0 ? heardWithin : settings.pollInterval

const settingsOf = ({ scenario }: Outcome): DeliverySettingsShape => ({
  ...defaultDeliverySettings,
  ...scenario.settings
})

export const traceOf = (outcome: Outcome): Trace => {
  const { entries } = outcome
  const final = new Map(outcome.deliveries.map((delivery) => [delivery.id, delivery]))
  const purged = new Map<DeliveryId, EntryOf<"purged">>()
  for (const entry of entriesOf(entries, "purged")) {
    for (const delivery of entry.deliveries) {
      purged.set(delivery.id, entry)
      final.set(delivery.id, delivery)
    }
  }
  const skews = new Map(
    entriesOf(entries, "process").flatMap(({ engine, skew, what }) => (what === "started" ? [[engine, skew]] : []))
  )
  const measured = Map.groupBy(entriesOf(entries, "measured"), ({ engine }) => engine)
  const deliveries = new Map<DeliveryId, TracedDelivery>()
  const byTarget = new Map<string, TracedDelivery>()
  const integrations = new Map<IntegrationId, Array<IntegrationEntry>>()
  const byUrl = new Map<string, IntegrationId>()
  const publishes = new Map<string, EntryOf<"invoke">>()
  const callEnds = callEndsIn(entries)
  const responses = new Map(entriesOf(entries, "response").map((entry) => [entry.request, entry]))
  const processes = entriesOf(entries, "process")
  const faults = entriesOf(entries, "fault")
  const deaths = new Map(
    processes.flatMap(({ at, engine, what }) => (what === "killed" ? [[engine, at] as const] : []))
  )
  const requests: Array<Request> = []
  const strays: Array<EntryOf<"request">> = []

  /** Current lease of each delivery. */
  const holders = new Map<DeliveryId, Grant>()
  const breaches: Array<Breach> = []

  /**
   * Whether a delivery was cancelled under its lease. Such a delivery only waits for its attempt to be recorded, unless
   * a resend is requested.
   */
  const isCancelled = (id: DeliveryId, { index }: Grant, now: number): boolean => {
    const delivery = deliveries.get(id)
    if (delivery === undefined) return false
    const ended = (integrations.get(delivery.integration_id) ?? []).filter(
      (change) => change.what === "deleted" || change.integration.status === "disabled"
    )
    const callEnded = delivery.callEnds.filter((entry) => entry.index < now)
    const ending = Math.max(...[...ended, ...callEnded].map((entry) => entry.index))
    return ending > index && !delivery.resent.some((at) => at > ending)
  }

  const grant = (
    id: DeliveryId,
    worker: string,
    early_due_at: number | null,
    entry: EntryOf<"claimed" | "enqueued">
  ): void => {
    const { at, engine, index } = entry
    const clock = clockOf({ skews, measured }, engine, entry)
    const given: Grant = { index, received: null, at, clock, engine, worker, early_due_at }
    const holder = holders.get(id)
    if (holder !== undefined) {
      const what = `delivery ${id} was leased to ${worker} while ${holder.worker} had it`
      breaches.push({ what, entries: [holder.index, index] })
    }
    holders.set(id, given)
    deliveries.get(id)?.grants.push(given)
  }

  /**
   * Records the settlements that the worker's leases allow (one per delivery, for its next attempt). Other settlements
   * that took effect are breaches.
   */
  const settle = (entry: EntryOf<"settled">): void => {
    const applied = new Set(entry.applied)
    for (const settlement of entry.settlements) {
      const delivery = deliveries.get(settlement.delivery_id)
      const holder = holders.get(settlement.delivery_id)
      if (delivery === undefined || holder?.worker !== entry.worker || !applied.has(delivery.id)) continue
      const before = delivery.settlements.filter((settled) => settled.settlement.attempt !== null)
      if (settlement.attempt !== null && settlement.attempt.number !== before.length + 1) continue
      applied.delete(delivery.id)
      holders.delete(delivery.id)
      const early = before.filter(failedEarly).length
      delivery.settlements.push({ entry, settlement, grant: holder, early })
    }
    for (const id of applied) {
      const what = `delivery ${id} was settled by ${entry.worker}, which had no lease for this attempt`
      breaches.push({ what, entries: [entry.index] })
    }
  }

  /** Reports leases that a clean shutdown did not return, unless the store failed at that time. */
  const heldAtEnd = ({ engine, index }: EntryOf<"process">): void => {
    const closing = processes.findLast(
      (before) => before.engine === engine && before.what === "closing" && before.index < index
    )
    const held = [...holders].filter(([id, holder]) => holder.engine === engine && !isCancelled(id, holder, index))
    if (closing === undefined || held.length === 0 || faults.some(({ until }) => until > closing.at)) return
    const what = `engine ${engine} shut down without returning ${held.length} deliveries, among them ${held[0]?.[0]}`
    breaches.push({ what, entries: [closing.index, index] })
  }

  for (const entry of entries) {
    switch (entry.kind) {
      case "invoke":
        if (entry.operation.type !== "publish") break
        for (const { data } of entry.operation.events) if (!publishes.has(data)) publishes.set(data, entry)
        break
      case "integration":
        integrations.set(entry.integration.id, [...(integrations.get(entry.integration.id) ?? []), entry])
        byUrl.set(entry.integration.configuration.url, entry.integration.id)
        break
      case "enqueued":
        for (const { event, deliveries: stored } of entry.events) {
          for (const { id, integration_id, state, worker } of stored) {
            // Calls in one transaction may be recorded in any order, so that a claim comes before its publication.
            const claimed = holders.get(id)
            const delivery = {
              id,
              event,
              integration_id,
              enqueued: entry,
              stored: state,
              requests: [],
              grants: claimed === undefined ? [] : [claimed],
              resent: [],
              callEnds: callEnds(event),
              probed: [],
              released: [],
              settlements: [],
              final: final.get(id),
              purged: purged.get(id)
            }
            deliveries.set(id, delivery)
            byTarget.set(`${event.id} ${integration_id}`, delivery)
            if (worker !== null) grant(id, worker, null, entry)
          }
        }
        break
      case "claimed":
        for (const { early_due_at, id } of entry.deliveries) grant(id, entry.worker, early_due_at, entry)
        break
      case "leases_received":
        for (const id of entry.ids) {
          const given = holders.get(id)
          if (given?.worker === entry.worker) given.received ??= entry.index
        }
        break
      case "settled":
        settle(entry)
        break
      case "released":
        for (const id of entry.ids) {
          // A worker that has lost its lease may still return it, which changes nothing.
          if (entry.why === "given_back" && holders.get(id)?.worker !== entry.worker) continue
          deliveries.get(id)?.released.push(entry.at)
          holders.delete(id)
        }
        break
      case "heartbeat":
        for (const [id, holder] of holders) {
          const isUnheld = entry.worker === holder.worker && entry.holds?.includes(id) === false
          if ((isUnheld || entry.ended.includes(holder.worker)) && isCancelled(id, holder, entry.index))
            holders.delete(id)
        }
        break
      case "opened":
        holders.clear()
        break
      case "process":
        if (entry.what === "closed") heldAtEnd(entry)
        break
      case "resent":
        for (const id of entry.ids) deliveries.get(id)?.resent.push(entry.index)
        break
      case "probed":
        for (const id of entry.ids) {
          deliveries.get(id)?.resent.push(entry.index)
          deliveries.get(id)?.probed.push(entry.index)
        }
        break
      case "request": {
        const delivery = byTarget.get(`${entry.webhook_id} ${byUrl.get(entry.url)}`)
        if (delivery === undefined) {
          strays.push(entry)
          break
        }
        const response = responses.get(entry.request)
        const request = {
          entry,
          delivery,
          grant: delivery.grants.findLast(({ engine }) => engine === entry.engine) ?? null,
          endedAt: response?.at ?? deaths.get(entry.engine) ?? Infinity,
          response: response === undefined ? null : { entry: response, result: response.result }
        }
        delivery.requests.push(request)
        requests.push(request)
        break
      }
    }
  }
  const settings = settingsOf(outcome)
  const clockJumps = entriesOf(entries, "clock")
  return {
    outcome,
    entries,
    settings,
    deliveries,
    requests,
    strays,
    integrations,
    clockJumps,
    breaches,
    members: Map.groupBy(entriesOf(entries, "member"), ({ engine }) => engine),
    changesReceived: Map.groupBy(entriesOf(entries, "change_received"), ({ engine }) => engine),
    skews,
    measured,
    invoked: new Map(entriesOf(entries, "invoke").map((entry) => [entry.op, entry])),
    publishes,
    deaths
  }
}

/**
 * Returns the time of an entry as an engine knows it: by its measurement of the store's clock, or by its own clock if
 * the store has none.
 */
export const clockOf = (
  { measured, skews }: Pick<Trace, "measured" | "skews">,
  engine: number,
  { at, index, wall }: Pick<Entry, "at" | "index" | "wall">
): number => {
  const last = measured.get(engine)?.findLast((entry) => entry.index < index)
  return last === undefined ? wall + (skews.get(engine) ?? 0) : at + last.lead
}

/** Returns how far the time that an engine knows may be from the store's or the world's, in milliseconds. */
export const clockError = ({ hasStoreClock, skew, storeLatency }: Scenario): number =>
  hasStoreClock ? storeLatency + 1 : skew

/** Returns by how much a measurement may set back the time that an engine knows, in milliseconds. */
const mostCorrected = (scenario: Scenario): number => (scenario.hasStoreClock ? 2 * clockError(scenario) : 0)

/** Longest time until an engine has measured a jump of the store's clock, in milliseconds. */
const longestUnmeasured = 20_000

/**
 * Returns the jumps of the store's clock after an entry, and those before it that an engine may not have measured at
 * that entry.
 */
export const jumpsSince = ({ clockJumps, entries, outcome }: Trace, index: number): Trace["clockJumps"] => {
  const since = (entries[index]?.at ?? 0) - longestUnmeasured
  return clockJumps.filter((jump) => jump.index > index || (outcome.scenario.hasStoreClock && jump.at > since))
}

/**
 * Returns the minimum number of requests to one integration that each engine may have open. All engines share the
 * limit.
 */
export const leastShare = ({ outcome: { scenario }, settings }: Trace): number =>
  Math.max(1, Math.floor(settings.concurrencyPerIntegration / scenario.engines))

/** Returns by how much the time that an engine knows may have been set back after an entry, in milliseconds. */
export const putBackSince = (trace: Trace, index: number): number =>
  jumpsSince(trace, index).reduce((sum, { by }) => sum + Math.max(0, -by), mostCorrected(trace.outcome.scenario))
