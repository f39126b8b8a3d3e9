/**
 * The stores as one process sees them: each call takes time, can fail before or after its effect, and can be the last
 * thing that the process does. What takes effect is written down.
 */
import type {
  ClaimRequest,
  DeliveryStore,
  Integration,
  IntegrationId,
  IntegrationStore,
  NewEventRecord,
  Settlement
} from "@doorhook/core"
import { StoreError } from "@doorhook/core"
import { Effect } from "effect"
import type { EnqueuedEvent, History } from "../History.ts"
import type { Process } from "../time/Process.ts"
import type { VirtualTime } from "../time/VirtualTime.ts"
import type { Faults, Point } from "./Faults.ts"

/** Both stores over one state. */
export interface Stores {
  readonly deliveries: DeliveryStore["Service"]
  readonly integrations: IntegrationStore["Service"]
}

const everything = Number.MAX_SAFE_INTEGER

/** What is recovered, written once more than in core, whose own list is under test. */
const recoverable: ReadonlySet<string> = new Set(["exhausted", "expired", "cancelled", "skipped"])

export const watchedStores = (
  stores: Stores,
  process: Process,
  {
    faults,
    history,
    kill,
    time
  }: {
    readonly faults: Faults
    readonly history: History
    readonly kill: (process: Process) => void
    readonly time: VirtualTime
  }
): Stores => {
  const engine = process.number

  const call = <A>(operation: string, effect: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> =>
    Effect.suspend(() => {
      if (!process.alive) return Effect.never
      const { crash, error, latency } = faults.storeCall()
      const reach = (point: Point): Effect.Effect<void, StoreError> =>
        Effect.suspend(() => {
          if (crash === point) {
            kill(process)
            return Effect.never
          }
          if (error !== point) return Effect.void
          return Effect.fail(new StoreError({ operation, cause: new Error(`simulated, ${point} the effect`) }))
        })
      const wait = (point: Point) => (latency[point] === 0 ? Effect.void : process.wait(time, latency[point]))
      return wait("before").pipe(
        Effect.andThen(reach("before")),
        Effect.andThen(effect),
        Effect.tap(() => Effect.andThen(wait("after"), reach("after")))
      )
    })

  const { deliveries, integrations } = stores

  const saved = (integration: Integration) =>
    Effect.sync(() => history.add({ kind: "integration", what: "saved", integration }))

  const enqueue = (records: ReadonlyArray<NewEventRecord>) =>
    Effect.tap(deliveries.enqueue(records), (stored) =>
      Effect.sync(() => history.add({ kind: "enqueued", engine, events: enqueuedOf(records, stored) }))
    )

  const claim = (request: ClaimRequest) =>
    Effect.tap(deliveries.claim(request), (claimed) =>
      Effect.sync(() => {
        if (claimed.length === 0) return
        history.add({ kind: "claimed", engine, lease: request.lease, ids: claimed.map(({ id }) => id) })
      })
    )

  /** Settles, and writes down which integrations are disabled by it. */
  const settle = Effect.fnUntraced(function* (settlements: ReadonlyArray<Settlement>, now: number) {
    const applied = yield* deliveries.settle(settlements, now)
    history.add({ kind: "settled", engine, settlements, applied: [...applied] })
    const disabled: Array<IntegrationId> = []
    for (const { delivery_id, disable } of settlements) {
      if (disable === null || !applied.has(delivery_id)) continue
      const delivery = yield* deliveries.find(delivery_id)
      const integration = delivery === null ? null : yield* integrations.find(delivery.integration_id)
      if (integration === null || integration.status === "enabled") continue
      yield* saved(integration)
      disabled.push(integration.id)
    }
    return { applied, disabled }
  })

  const recover: DeliveryStore["Service"]["recover"] = Effect.fnUntraced(function* (integration_id, since, now) {
    const before = yield* deliveries.list({ integration_id, limit: everything })
    const count = yield* deliveries.recover(integration_id, since, now)
    const lost = before.filter(({ created_at, state }) => recoverable.has(state) && created_at >= since)
    if (count > 0) history.add({ kind: "resent", ids: lost.map(({ id }) => id) })
    return count
  })

  return {
    deliveries: {
      ...deliveries,
      enqueue: (records) => call("enqueue", enqueue(records)),
      claim: (request) => call("claim", claim(request)),
      settle: (settlements, now) =>
        call("settle", settle(settlements, now)).pipe(
          Effect.map(({ applied, disabled }) => {
            for (const integration_id of disabled) history.add({ kind: "told", engine, integration_id })
            return applied
          })
        ),
      release: (leases, dueAt) =>
        call(
          "release",
          Effect.tap(deliveries.release(leases, dueAt), () =>
            Effect.sync(() =>
              history.add({ kind: "released", engine, ids: leases.map(({ delivery_id }) => delivery_id) })
            )
          )
        ),
      nextDue: call("nextDue", deliveries.nextDue),
      resend: (id, now) =>
        call(
          "resend",
          Effect.tap(deliveries.resend(id, now), (result) =>
            Effect.sync(() => (result === "resent" ? history.add({ kind: "resent", ids: [id] }) : undefined))
          )
        ),
      recover: (id, since, now) => call("recover", recover(id, since, now))
    },
    integrations: {
      ...integrations,
      create: (fields) => call("create", Effect.tap(integrations.create(fields), saved)),
      find: (id) => call("find", integrations.find(id)),
      update: (integration, version) =>
        call(
          "update",
          Effect.tap(integrations.update(integration, version), (done) => (done ? saved(integration) : Effect.void))
        ),
      remove: (id, now) =>
        call(
          "remove",
          Effect.gen(function* () {
            const integration = yield* integrations.find(id)
            const done = yield* integrations.remove(id, now)
            if (done && integration !== null) history.add({ kind: "integration", what: "deleted", integration })
            return done
          })
        ),
      ofScopes: (scopes) => call("ofScopes", integrations.ofScopes(scopes))
    }
  }
}

const enqueuedOf = (
  records: ReadonlyArray<NewEventRecord>,
  stored: ReadonlyArray<ReadonlyArray<Pick<EnqueuedEvent["deliveries"][number], "id" | "state">>>
): ReadonlyArray<EnqueuedEvent> =>
  records.map(({ deliveries, event }, at) => ({
    event,
    deliveries: (stored[at] ?? []).flatMap(({ id, state }, nth) => {
      const wanted = deliveries[nth]
      if (wanted === undefined) return []
      const lease = wanted.initial.state === "delivering" && state === "delivering" ? wanted.initial.lease : null
      return [{ id, integration_id: wanted.integration_id, state, lease }]
    })
  }))
