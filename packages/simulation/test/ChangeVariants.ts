/** Faults in changes of integrations by users, the operator and doorhook itself. */
import type { Integration, NewEventRecord, Notification, IdempotencyRecord } from "@doorhook/core"
import { isUnreadable, NotificationId } from "@doorhook/core"
import { Effect } from "effect"
import type { Breakage } from "../src/Simulation.ts"
import type { Stores } from "@doorhook/simulator/testing"
import type { Variant } from "./Breakage.ts"
import { engine, fault, integrations, store, within } from "./Breakage.ts"

/** Makes engines read integrations that differ from the stored ones. */
const seeing = (change: (integration: Integration) => Integration): Breakage =>
  engine(({ stores }) => {
    const { deliveries, integrations: real } = stores
    const claim: typeof deliveries.claim = (request) =>
      Effect.map(deliveries.claim(request), (claimed) => ({
        ...claimed,
        deliveries: claimed.deliveries.map((delivery) => ({ ...delivery, integration: change(delivery.integration) }))
      }))
    const findByScopes: typeof real.findByScopes = (scopes) =>
      Effect.map(real.findByScopes(scopes), (all) => all.map((one) => (isUnreadable(one) ? one : change(one))))
    return {
      stores: { ...stores, deliveries: { ...deliveries, claim }, integrations: { ...real, findByScopes } }
    }
  })

/** Makes a store run `then` after it has settled. */
const settlingThen = (
  then: (
    stores: Stores,
    args: Parameters<Stores["deliveries"]["settle"]>,
    settled: Effect.Success<ReturnType<Stores["deliveries"]["settle"]>>
  ) => ReturnType<Stores["deliveries"]["settle"]>
): Breakage => ({
  store: (stores) => ({
    ...stores,
    deliveries: {
      ...stores.deliveries,
      settle: (...args) => Effect.flatMap(stores.deliveries.settle(...args), (settled) => then(stores, args, settled))
    }
  })
})

/** Changes the status of an integration, whatever the rules say. */
const switched = Effect.fnUntraced(function* (
  { integrations }: Stores,
  id: Integration["id"],
  to: Pick<Integration, "status" | "disabled_reason">
) {
  const found = yield* integrations.find(id)
  if (found === null || found.status === to.status) return false
  return yield* integrations.update({ ...found, ...to, version: found.version + 1 }, found.version)
})

/** Several engines, and integrations that users change and disable all the time. */
const unsteady = within({ publish: 30, burst: 2, change: 20, create: 6, clock: 0 }, {}, { engines: 3 })

/** Receivers that fail for long, and a service that soon disables their integrations. */
const failing = within(
  { publish: 40, outage: 4, probe: 20, create: 6 },
  { disableAfter: 8_000 },
  { receivers: ["prompt", "prompt", "dead", "leaving"] }
)

export const changeVariants: ReadonlyArray<Variant> = [
  fault("nothing-after-end", "a store that leases deliveries matched before their integration moved", 16, {
    store: (stores) => ({
      ...stores,
      deliveries: {
        ...stores.deliveries,
        enqueue: Effect.fnUntraced(function* (
          records: ReadonlyArray<NewEventRecord>,
          keys?: ReadonlyArray<IdempotencyRecord>
        ) {
          const current = yield* stores.integrations.listAll({ after: 0, limit: 1_000 })
          const versions = new Map(
            current.flatMap((one) =>
              isUnreadable(one) ? [] : [[one.integration.id, one.integration.version] as const]
            )
          )
          const matched = records.map(({ deliveries, event }) => ({
            event,
            deliveries: deliveries.map((delivery) => ({
              ...delivery,
              matched_version: versions.get(delivery.integration_id) ?? delivery.matched_version
            }))
          }))
          return yield* stores.deliveries.enqueue(matched, keys)
        })
      }
    }),
    scenario: (scenario) => ({ ...unsteady(scenario), storeLatency: 50 })
  }),
  fault("nothing-after-end", "a probe that is retried after a failure", 6, {
    ...settlingThen((stores, [{ settlements }, now], settled) =>
      Effect.as(
        Effect.forEach(
          settlements.filter(({ attempt }) => attempt !== null && attempt.outcome !== "acknowledged"),
          ({ integration_id }) => stores.deliveries.redeliver({ type: "probe", id: integration_id }, now)
        ),
        settled
      )
    ),
    scenario: failing
  }),
  fault("disabling", "an integration disabled too soon", 6, {
    ...store((deliveries) => ({
      settle: (settlements, now, disableAfter) => deliveries.settle(settlements, now, disableAfter / 2)
    })),
    scenario: failing
  }),
  fault("disabling", "an integration disabled at its third failed attempt", 6, {
    store: (stores) => {
      const failures = new Map<number, { since: number; count: number }>()
      const { deliveries } = stores
      return {
        ...stores,
        deliveries: {
          ...deliveries,
          settle: Effect.fnUntraced(function* (outcomes, now, disableAfter) {
            const settled = yield* deliveries.settle(outcomes, now, disableAfter)
            const changed = new Set(settled.changed)
            for (const { attempt, delivery_id, integration_id } of outcomes.settlements) {
              if (attempt === null || !settled.applied.has(delivery_id)) continue
              const { count, since } = failures.get(integration_id) ?? { count: 0, since: now }
              if (attempt.outcome === "acknowledged") failures.delete(integration_id)
              else failures.set(integration_id, { count: count + 1, since })
              const isLong = attempt.outcome !== "acknowledged" && count >= 2 && now - since >= disableAfter
              const to = { status: "disabled", disabled_reason: "failing" } as const
              if (isLong && (yield* switched(stores, integration_id, to))) changed.add(integration_id)
            }
            return { ...settled, changed: [...changed] }
          })
        }
      }
    },
    scenario: failing
  }),
  fault("disabling", "an integration that fails forever and is never disabled", 6, {
    ...store((deliveries) => ({
      settle: (settlements, now, disableAfter) => deliveries.settle(settlements, now, 10 * disableAfter)
    })),
    scenario: failing
  }),
  fault("probes", "a successful probe that does not enable its integration", 1, {
    ...settlingThen((stores, _, settled) =>
      Effect.as(
        Effect.forEach(settled.changed, (id) =>
          switched(stores, id, { status: "disabled", disabled_reason: "failing" })
        ),
        settled
      )
    ),
    scenario: failing
  }),
  fault("probes", "an integration enabled by an attempt that began before it was disabled", 60, {
    ...settlingThen(
      Effect.fnUntraced(function* (stores, [{ settlements }], settled) {
        const changed = new Set(settled.changed)
        for (const { attempt, integration_id } of settlements) {
          if (attempt?.outcome !== "acknowledged") continue
          const to = { status: "enabled", disabled_reason: null } as const
          if (yield* switched(stores, integration_id, to)) changed.add(integration_id)
        }
        return { ...settled, changed: [...changed] }
      })
    ),
    scenario: failing
  }),
  fault("notifications", "a host that gets each notification twice", 6, {
    ...engine(({ listener }) => ({
      listener: (notification) => Effect.andThen(listener(notification), listener(notification))
    })),
    scenario: failing
  }),
  fault("notifications", "a warning sent too soon while its integration gets no requests", 6, {
    ...store((deliveries) => ({
      warn: (now, disableAfter, limit) => deliveries.warn(now, disableAfter / 2, limit)
    })),
    scenario: failing
  }),
  fault(
    "notifications",
    "a recovery reported without a warning",
    21,
    settlingThen(
      Effect.fnUntraced(function* (stores, [{ settlements }, now], settled) {
        const [first] = settlements
        if (first?.attempt?.outcome !== "acknowledged" || settled.notifications.length > 0) return settled
        const integration = yield* stores.integrations.find(first.integration_id)
        if (integration === null) return settled
        const { id, scope } = integration
        const about = { integration_id: id, scope, at: now, failing_since: null, id: NotificationId.make(now) }
        const notification: Notification = { kind: "recovered", ...about }
        return { ...settled, notifications: [notification] }
      })
    )
  ),
  fault("signatures", "a secret that stops signing when it is rotated", 6, {
    ...integrations(({ integrations: real }) => ({
      update: (integration, version) => real.update({ ...integration, previous_secrets: [] }, version)
    })),
    scenario: within({ rotate: 10, publish: 30 })
  }),
  fault("signatures", "a secret that stops signing at the next rotation but one", 11, {
    ...integrations(({ integrations: real }) => ({
      update: (integration, version) => {
        const previous_secrets = integration.previous_secrets.slice(0, 1)
        return real.update({ ...integration, previous_secrets }, version)
      }
    })),
    scenario: within({ rotate: 10, publish: 30 })
  }),
  fault("signatures", "an engine that signs only with the new secret", 6, {
    ...seeing((integration) => ({ ...integration, previous_secrets: [] })),
    scenario: within({ rotate: 10, publish: 30 })
  }),
  fault("delivered-is-received", "overrides that are ignored", 4, {
    ...seeing((integration) => ({ ...integration, overrides: {} })),
    scenario: within({ override: 20, publish: 30 }, {}, { receivers: ["prompt", "accepting"] })
  })
]
