/**
 * How much storage the events of a scenario take: measured on real SQLite files, one with events alone and one with their
 * deliveries.
 */
import type { Event, IntegrationId, NewEventRecord } from "@doorhook/core"
import { DeliveryStore, EventId, eventIdPrefix, IntegrationStore } from "@doorhook/core"
import { Effect, FileSystem, Stream } from "effect"
import type { PlannedEvent } from "../plan/PlannedEvent.ts"
import { root } from "../random/Substream.ts"
import type { EquipmentShape } from "../run/Equipment.ts"
import { newEventOf } from "../run/OwnEngine.ts"
import type { Storage } from "../results/RunReport.ts"
import { integrationOf, Matcher } from "../run/World.ts"
import type { PlannedIntegration } from "../run/World.ts"

/** Enough for the share of half-filled pages to be small. */
const events = 4_000
const batch = 200

const eventIdOf = (number: number): EventId =>
  EventId.make(`${eventIdPrefix}${`${number}`.padStart(9, "0")}0123456789abcdefghjk`)

/** Stores events with deliveries that are settled after one attempt; says how many deliveries. */
const fill = Effect.fnUntraced(function* (
  planned: ReadonlyArray<PlannedEvent>,
  integrations: ReadonlyArray<PlannedIntegration>
) {
  const store = yield* DeliveryStore
  const integrationStore = yield* IntegrationStore
  const matcher = new Matcher()
  for (const { place, scope } of integrations) {
    const url = `https://receiver${place}.example/hook`
    matcher.add(scope, (yield* integrationStore.create(integrationOf(scope, url, root(0), 0))).id)
  }
  let deliveries = 0
  for (let at = 0; at < planned.length; at += batch) {
    const lease = { token: `probe.${at}`, until: Number.MAX_SAFE_INTEGER }
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
          initial: { state: "delivering", lease }
        }))
      }
    })
    const stored = (yield* store.enqueue(records)).flat()
    deliveries += stored.length
    const now = Date.parse(planned[at]?.at ?? "")
    const settlements = stored.flatMap(({ id }, nth) => {
      const integration_id = to[nth]
      if (integration_id === undefined) return []
      return {
        delivery_id: id,
        integration_id,
        token: lease.token,
        attempt: {
          number: 1,
          started_at: now,
          duration_ms: 50,
          outcome: "acknowledged" as const,
          status: 200,
          response_excerpt: "",
          detail: null
        },
        state: "delivered" as const,
        reason: null,
        next_attempt_at: null,
        lane: 3 as const,
        gone: false
      }
    })
    yield* store.settle(settlements, now, Number.MAX_SAFE_INTEGER)
  }
  return deliveries
})

/** Measures. The files are gone afterwards. */
export const storageOf = Effect.fnUntraced(function* <E, R>(
  plan: Stream.Stream<PlannedEvent, E, R>,
  integrations: ReadonlyArray<PlannedIntegration>,
  { sqlite }: EquipmentShape
) {
  const files = yield* FileSystem.FileSystem
  const folder = yield* files.makeTempDirectoryScoped({ prefix: "doorhook-storage-" })
  const planned = yield* Stream.runCollect(Stream.take(plan, events))
  const measure = Effect.fnUntraced(function* (
    name: string,
    some: ReadonlyArray<PlannedEvent>,
    to: ReadonlyArray<PlannedIntegration>
  ) {
    const file = `${folder}/${name}.db`
    const deliveries = yield* Effect.scoped(fill(some, to).pipe(Effect.provide(sqlite(file))))
    const { size } = yield* files.stat(file)
    return { deliveries, size: Number(size) }
  })
  const empty = yield* measure("empty", [], [])
  const alone = yield* measure("events", planned, [])
  const full = yield* measure("deliveries", planned, integrations)
  const storage: Storage = {
    events: planned.length,
    deliveries: full.deliveries,
    bytes_per_event: planned.length === 0 ? 0 : (alone.size - empty.size) / planned.length,
    bytes_per_delivery: full.deliveries === 0 ? 0 : (full.size - alone.size) / full.deliveries
  }
  return storage
}, Effect.scoped)
