/** Faults in sending: wrong contents, times or receivers. */
import { DeliveryId as Id, StoreError, Transport } from "@doorhook/core"
import { Effect } from "effect"
import type { Deliveries, Variant } from "./Breakage.ts"
import { engine, fault, hour, integrations, settling, store } from "./Breakage.ts"

/** Makes a store report one event in ten as stored without storing it. */
const forgetful = (deliveries: Deliveries): Partial<Deliveries> => {
  let count = 0
  return {
    enqueue: (records, keys) => {
      const lost = records.map(() => ++count % 10 === 0)
      const kept = records.filter((_, at) => lost[at] !== true)
      return Effect.map(deliveries.enqueue(kept, keys), (stored) => {
        const answers = [...stored]
        return records.map(({ deliveries: wanted }, at) =>
          lost[at] === true
            ? wanted.map(() => ({ id: Id.make(1_000_000 + at), state: "pending" as const }))
            : (answers.shift() ?? [])
        )
      })
    }
  }
}

export const dispatchVariants: ReadonlyArray<Variant> = [
  fault("nothing-lost", "an event accepted but not stored", 2, store(forgetful)),
  fault(
    "nothing-lost",
    "an event refused but stored",
    105,
    store((deliveries) => {
      let count = 0
      return {
        enqueue: (records, keys) =>
          Effect.tap(deliveries.enqueue(records, keys), () =>
            ++count % 10 === 0
              ? new StoreError({ operation: "DeliveryStore.enqueue", cause: new Error("broken") })
              : Effect.void
          )
      }
    })
  ),
  fault(
    "nothing-lost",
    "a membership that never ends",
    60,
    store((deliveries) => ({
      heartbeat: (beat) => deliveries.heartbeat({ ...beat, until: beat.until === null ? null : beat.until + 24 * hour })
    }))
  ),
  fault(
    "delivered-is-received",
    "a 204 that counts as an acknowledgement",
    6,
    settling((settlement) =>
      settlement.attempt?.status === 204
        ? { ...settlement, state: "delivered", reason: null, next_attempt_at: null }
        : settlement
    )
  ),
  fault(
    "nothing-after-success",
    "a retry after a success",
    2,
    settling((settlement) =>
      settlement.attempt?.outcome === "acknowledged" && settlement.attempt.number === 1
        ? { ...settlement, state: "retrying", next_attempt_at: settlement.attempt.started_at + 2_000 }
        : settlement
    )
  ),
  fault(
    "retry-times",
    "a retry that is due too early",
    6,
    settling((settlement) =>
      settlement.next_attempt_at === null
        ? settlement
        : { ...settlement, next_attempt_at: settlement.next_attempt_at - 600 }
    )
  ),
  fault(
    "retry-times",
    "a store that leases retries a second too early",
    12,
    store((deliveries) => ({
      claim: (request) => deliveries.claim({ ...request, now: request.now + 1_000 })
    }))
  ),
  fault(
    "retry-times",
    "calls that expire at their first failure",
    6,
    settling((settlement) =>
      settlement.state === "retrying" && settlement.lane === 1
        ? { ...settlement, state: "expired", reason: "lifetime_over", next_attempt_at: null }
        : settlement
    )
  ),
  fault(
    "retry-times",
    "calls that expire without an attempt",
    6,
    settling((settlement) =>
      settlement.attempt?.number === 1 && settlement.lane === 1
        ? { ...settlement, attempt: null, state: "expired", reason: "lifetime_over", next_attempt_at: null }
        : settlement
    )
  ),
  fault("call-lifetime", "calls sent however old they are", 11, {
    ...engine(({ settings }) => ({
      settings: {
        ...settings,
        retry: {
          call: { delays: [30_000, 30_000], lifetime: null },
          access_log: settings.retry?.access_log ?? { delays: [], lifetime: null }
        }
      }
    }))
  }),
  fault(
    "nothing-after-end",
    "deleting an integration without cancelling its deliveries",
    15,
    integrations(({ integrations: real }) => {
      const removed = new Set<number>()
      return {
        find: (id) => Effect.map(real.find(id), (found) => (removed.has(id) ? null : found)),
        remove: ({ id }) => Effect.sync(() => !removed.has(id) && removed.add(id).has(id)),
        findByScopes: (scopes) =>
          Effect.map(real.findByScopes(scopes), (all) => all.filter(({ id }) => !removed.has(id)))
      }
    })
  ),
  fault(
    "nothing-after-end",
    "rights that are not checked",
    113,
    engine(({ directory }) => ({
      directory: { ...directory, administers: () => Effect.succeed(true), isTenant: () => Effect.succeed(true) }
    }))
  ),
  fault(
    "isolation",
    "events of one tenant sent to all",
    8,
    engine(({ stores }) => ({
      stores: {
        ...stores,
        integrations: {
          ...stores.integrations,
          findByScopes: ({ buildings, tenants }) =>
            Effect.map(stores.integrations.findByScopes({ buildings: [...buildings], tenants }), (all) => {
              const [building] = buildings
              return all.map((integration) =>
                integration.scope.type === "tenant" && building !== undefined
                  ? { ...integration, scope: { type: "building" as const, id: building } }
                  : integration
              )
            })
        }
      }
    }))
  ),
  fault(
    "same-body",
    "a body encoded again for a retry",
    6,
    engine(({ transport }) => ({
      transport: Transport.make({
        send: (request, done) =>
          transport.send(
            request.headers["doorhook-attempt"] === "1"
              ? request
              : { ...request, body: JSON.stringify(JSON.parse(request.body)) },
            done
          )
      })
    }))
  )
]
