/**
 * A history, indexed by what checks ask for.
 */
import type { DeliveryId, DeliverySettingsShape, Event, IntegrationId, Lease, TransportResult } from "@doorhook/core"
import { defaultDeliverySettings } from "@doorhook/core"
import type { Entry, Fact, FinalDelivery } from "../History.ts"
import type { Outcome } from "../Simulation.ts"

export type EntryOf<Kind extends Fact["kind"]> = Extract<Entry, { readonly kind: Kind }>

/** A lease that an engine was given on a delivery. */
interface Grant {
  readonly index: number
  readonly at: number
  /** What the engine's own clock said. */
  readonly clock: number
  readonly engine: number
  readonly lease: Lease
}

/** A request that a receiver saw. */
export interface Request {
  readonly entry: EntryOf<"request">
  readonly delivery: TracedDelivery
  readonly grant: Grant | null
  /** When it was over: answered, or its connection broken because the engine died. */
  readonly endedAt: number
  readonly response: { readonly entry: EntryOf<"response">; readonly result: TransportResult } | null
}

export interface TracedDelivery {
  readonly id: DeliveryId
  readonly event: Event
  readonly integration_id: IntegrationId
  readonly enqueued: EntryOf<"enqueued">
  readonly requests: Array<Request>
  readonly grants: Array<Grant>
  /** Indexes of the entries by which it was asked for again. */
  readonly resent: Array<number>
  /** Indexes of the entries by which it became a probe. */
  readonly probed: Array<number>
  /** When it was given back unattempted. */
  readonly released: Array<number>
  readonly settlements: Array<{
    readonly entry: EntryOf<"settled">
    readonly settlement: EntryOf<"settled">["settlements"][number]
  }>
  /** How it stood at the end, or when it was purged. */
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
  /** Requests that fit no delivery: sent to a URL or for an event that nobody knows. */
  readonly strays: ReadonlyArray<EntryOf<"request">>
  readonly integrations: ReadonlyMap<IntegrationId, ReadonlyArray<IntegrationEntry>>
  readonly clockJumps: ReadonlyArray<EntryOf<"clock">>
  /** What each engine was told of changes. */
  readonly told: ReadonlyMap<number, ReadonlyArray<EntryOf<"told">>>
  /** By how many milliseconds the clock of each engine is ahead. */
  readonly skews: ReadonlyMap<number, number>
  /** The first call to publish each event, by the event's data. */
  readonly publishes: ReadonlyMap<string, EntryOf<"invoke">>
}

/** The entries of one kind. */
export const entriesOf = <Kind extends Fact["kind"]>(
  entries: ReadonlyArray<Entry>,
  kind: Kind
): ReadonlyArray<EntryOf<Kind>> => entries.filter((entry): entry is EntryOf<Kind> => entry.kind === kind)

/** How long what is due may lie before a worker looks, where it hears every signal, in milliseconds. */
const heardWithin = 2_000

/** How long what is due may lie before a worker looks, in milliseconds. */
export const longestUnseen = ({ outcome: { scenario }, settings }: Trace): number =>
  scenario.signalsLost === 0 ? heardWithin : settings.pollInterval

const settingsOf = ({ scenario }: Outcome): DeliverySettingsShape => ({
  ...defaultDeliverySettings,
  ...scenario.settings
})

const push = <K, V>(map: Map<K, Array<V>>, key: K, value: V): void => {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}

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
  const skews = new Map(entriesOf(entries, "process").map(({ engine, skew }) => [engine, skew]))
  const told = new Map<number, Array<EntryOf<"told">>>()
  const deliveries = new Map<DeliveryId, TracedDelivery>()
  const byTarget = new Map<string, TracedDelivery>()
  const integrations = new Map<IntegrationId, Array<IntegrationEntry>>()
  const byUrl = new Map<string, IntegrationId>()
  const publishes = new Map<string, EntryOf<"invoke">>()
  const responses = new Map(entriesOf(entries, "response").map((entry) => [entry.request, entry]))
  const deaths = new Map(
    entriesOf(entries, "process").flatMap(({ at, engine, what }) => (what === "killed" ? [[engine, at] as const] : []))
  )
  const requests: Array<Request> = []
  const strays: Array<EntryOf<"request">> = []

  const grant = (id: DeliveryId, lease: Lease, entry: EntryOf<"claimed" | "enqueued">): void => {
    const { at, engine, index, wall } = entry
    deliveries.get(id)?.grants.push({ index, at, clock: wall + (skews.get(engine) ?? 0), engine, lease })
  }

  for (const entry of entries) {
    switch (entry.kind) {
      case "invoke":
        if (entry.operation.type !== "publish") break
        for (const { data } of entry.operation.events) if (!publishes.has(data)) publishes.set(data, entry)
        break
      case "integration":
        push(integrations, entry.integration.id, entry)
        byUrl.set(entry.integration.configuration.url, entry.integration.id)
        break
      case "enqueued":
        for (const { event, deliveries: stored } of entry.events) {
          for (const { id, integration_id, lease } of stored) {
            const delivery = {
              id,
              event,
              integration_id,
              enqueued: entry,
              requests: [],
              grants: [],
              resent: [],
              probed: [],
              released: [],
              settlements: [],
              final: final.get(id),
              purged: purged.get(id)
            }
            deliveries.set(id, delivery)
            byTarget.set(`${event.id} ${integration_id}`, delivery)
            if (lease !== null) grant(id, lease, entry)
          }
        }
        break
      case "claimed":
        for (const id of entry.ids) grant(id, entry.lease, entry)
        break
      case "settled":
        for (const settlement of entry.settlements) {
          const delivery = deliveries.get(settlement.delivery_id)
          // A batch can have two of one delivery, of which one at most is made under the lease that it has now.
          const isCurrent = delivery?.grants.at(-1)?.lease.token === settlement.token
          if (isCurrent && entry.applied.includes(settlement.delivery_id))
            delivery?.settlements.push({ entry, settlement })
        }
        break
      case "released":
        for (const id of entry.ids) deliveries.get(id)?.released.push(entry.at)
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
      case "told":
        push(told, entry.engine, entry)
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
  return { outcome, entries, settings, deliveries, requests, strays, integrations, clockJumps, told, skews, publishes }
}

/** What the clock of an engine said at an entry. */
export const clockOf = ({ skews }: Trace, engine: number, { wall }: Pick<Entry, "wall">): number =>
  wall + (skews.get(engine) ?? 0)

/** The least that one engine may have open to one integration: all engines share the places. */
export const leastShare = ({ outcome: { scenario }, settings }: Trace): number =>
  Math.max(1, Math.floor(settings.concurrencyPerIntegration / scenario.engines))

/** How far the wall clock was put back, in sum, after an entry. */
export const putBackSince = ({ clockJumps }: Trace, index: number): number =>
  clockJumps.reduce((sum, clock) => sum + (clock.index > index ? Math.max(0, -clock.by) : 0), 0)
