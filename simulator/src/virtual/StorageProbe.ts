/**
 * How much storage the events of a scenario take: measured on real SQLite files, one with events alone and one with their
 * deliveries.
 */
import type { DeliveryId, Event, IntegrationId, NewEventRecord, Settlement } from "@doorhook/core"
import { DeliveryStore, EventId, eventIdPrefix, IntegrationStore } from "@doorhook/core"
import { Effect, FileSystem, Stream } from "effect"
import type { PlannedEvent } from "../plan/PlannedEvent.ts"
import { root } from "../random/Substream.ts"
import type { EquipmentShape } from "../run/Equipment.ts"
import { newEventOf } from "../run/OwnEngine.ts"
import { fewestStored } from "../results/RunReport.ts"
import type { Storage } from "../results/RunReport.ts"
import { integrationOf, Matcher } from "../run/World.ts"
import type { PlannedIntegration } from "../run/World.ts"

/** Enough for the share of half-filled pages to be small. */
const events = 4_000
const batch = 200

/** The only worker over these files. */
const worker = "storage-probe"

/** More than this on average is an outage that lasts. */
const mostAttempts = 20

const eventIdOf = (number: number): EventId =>
  EventId.make(`${eventIdPrefix}${`${number}`.padStart(9, "0")}0123456789abcdefghjk`)

interface Leased {
  readonly id: DeliveryId
  readonly integration_id: IntegrationId
}

/** Whole numbers with a mean, as evenly as they can be: how many attempts each delivery takes. */
const spread = (mean: number) => {
  let total = 0
  return (): number => {
    const before = Math.floor(total)
    total += mean
    return Math.max(1, Math.floor(total) - before)
  }
}

/** Stores events with deliveries that are settled after a number of attempts on average; returns how many deliveries. */
const fill = Effect.fnUntraced(function* (
  planned: ReadonlyArray<PlannedEvent>,
  integrations: ReadonlyArray<PlannedIntegration>,
  attempts: number
) {
  const store = yield* DeliveryStore
  const integrationStore = yield* IntegrationStore
  const matcher = new Matcher()
  for (const { place, scope } of integrations) {
    const url = `https://receiver${place}.example/hook`
    matcher.add(scope, (yield* integrationStore.create(integrationOf(scope, url, root(0), 0))).id)
  }
  const attemptsOfNext = spread(attempts)
  const attemptsOf = new Map<DeliveryId, number>()
  /** Settles what is leased, attempt after attempt: all but the last fail. */
  const settle = Effect.fnUntraced(function* (leased: ReadonlyArray<Leased>, now: number) {
    for (let number = 1, left = leased; left.length > 0; number++) {
      const settlements = left.map(({ id, integration_id }): Settlement => {
        const isLast = number >= (attemptsOf.get(id) ?? 1)
        return {
          delivery_id: id,
          integration_id,
          attempt: {
            number,
            started_at: now,
            duration_ms: 50,
            outcome: isLast ? "acknowledged" : "bad_status",
            status: isLast ? 200 : 500,
            response_excerpt: "",
            detail: null
          },
          state: isLast ? "delivered" : "retrying",
          reason: null,
          next_attempt_at: isLast ? null : now,
          lane: 3,
          early: 0,
          retry_after: null,
          gone: false
        }
      })
      yield* store.settle({ worker, settlements, releases: [] }, now, Number.MAX_SAFE_INTEGER)
      const limit = settlements.filter(({ state }) => state === "retrying").length
      if (limit === 0) return
      const claimed = yield* store.claim({ worker, now, limit, limitPerIntegration: limit, limits: new Map() })
      left = claimed.deliveries.map(({ id, integration }) => ({ id, integration_id: integration.id }))
    }
  })
  yield* store.heartbeat({ worker, now: 0, until: Number.MAX_SAFE_INTEGER })
  for (let at = 0; at < planned.length; at += batch) {
    const to: Array<IntegrationId> = []
    const records = planned.slice(at, at + batch).map((event, nth): NewEventRecord => {
      const stored: Event = { ...newEventOf(event), id: eventIdOf(at + nth), created_at: Date.parse(event.at) }
      const matched = [...matcher.matching(stored)]
      to.push(...matched)
      return {
        event: stored,
        deliveries: matched.map((integration_id) => ({
          integration_id,
          lane: 2,
          matched_version: 1,
          initial: { state: "delivering", worker }
        }))
      }
    })
    const leased = (yield* store.enqueue(records)).flat().flatMap(({ id }, nth) => {
      const integration_id = to[nth]
      return integration_id === undefined ? [] : [{ id, integration_id }]
    })
    for (const { id } of leased) attemptsOf.set(id, attemptsOfNext())
    yield* settle(leased, Date.parse(planned[at]?.at ?? ""))
  }
  return attemptsOf.size
})

/** Measures, with a number of attempts of each delivery on average; null with too few events. The files are gone afterwards. */
export const storageOf = Effect.fnUntraced(function* <E, R>(
  plan: Stream.Stream<PlannedEvent, E, R>,
  integrations: ReadonlyArray<PlannedIntegration>,
  attempts: number,
  { sqlite }: EquipmentShape
) {
  const files = yield* FileSystem.FileSystem
  const folder = yield* files.makeTempDirectoryScoped({ prefix: "doorhook-storage-" })
  const planned = yield* Stream.runCollect(Stream.take(plan, events))
  if (planned.length < fewestStored) return null
  const attemptsEach = Math.max(1, Math.min(attempts, mostAttempts))
  const measure = Effect.fnUntraced(function* (
    name: string,
    some: ReadonlyArray<PlannedEvent>,
    to: ReadonlyArray<PlannedIntegration>
  ) {
    const file = `${folder}/${name}.db`
    const deliveries = yield* Effect.scoped(fill(some, to, attemptsEach).pipe(Effect.provide(sqlite(file))))
    const { size } = yield* files.stat(file)
    return { deliveries, size: Number(size) }
  })
  const empty = yield* measure("empty", [], [])
  const alone = yield* measure("events", planned, [])
  const full = yield* measure("deliveries", planned, integrations)
  const storage: Storage = {
    events: planned.length,
    deliveries: full.deliveries,
    bytes_per_event: (alone.size - empty.size) / planned.length,
    bytes_per_delivery: full.deliveries === 0 ? 0 : (full.size - alone.size) / full.deliveries,
    attempts_per_delivery: attemptsEach
  }
  return storage
}, Effect.scoped)
