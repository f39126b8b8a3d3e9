/**
 * The state of the dispatcher and the store, from which readiness and some metrics are derived.
 */
import { DeliveryStore, Dispatcher, isoOf, SettingStore, StoreError, StoreHealth } from "@doorhook/core"
import type { DispatcherStatus, IntegrationId, BreakerCause } from "@doorhook/core"
import { Clock, Context, Effect, Layer } from "effect"
import { makeShortMemory } from "../http/ShortMemory.ts"
import { HealthSettings } from "./HealthSettings.ts"
import type { HealthSettingsShape } from "./HealthSettings.ts"

export interface HealthStatus extends DispatcherStatus {
  /** Time of the measurement, in milliseconds since the epoch. */
  readonly now: number
  /**
   * How long the oldest due delivery has been due, in milliseconds. 0 if none is due, null if the store did not answer.
   */
  readonly oldest_due_age_ms: number | null
  /**
   * False if the last test, at most a second ago, could not change the store. True if that test succeeded, or if the
   * store has another known problem and was not tested.
   */
  readonly writable: boolean
  /** Why the store refuses all changes; null if it accepts changes. */
  readonly store_trouble: string | null
}

/**
 * Queries the store. If the query fails or takes longer than `patience` milliseconds, logs the failure and returns
 * null.
 */
export const askStore = <A, R>(
  ask: Effect.Effect<A, StoreError, R>,
  patience: number
): Effect.Effect<A | null, never, R> =>
  ask.pipe(
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () =>
        Effect.fail(new StoreError({ operation: "health", cause: new Error(`no answer within ${patience} ms`) }))
    }),
    Effect.catchTag("StoreError", (error) =>
      Effect.as(Effect.logWarning("The health check of the store failed", error.cause), null)
    )
  )

/** Returns how long something has been due, in milliseconds; 0 if nothing is due. */
export const ageOf = (due: number | null, now: number): number => (due === null ? 0 : Math.max(0, now - due))

/** How long the result of a probe is cached, in milliseconds. */
const probeEvery = 1_000

/**
 * Tests whether the store accepts changes, with a transaction that stores a setting unless it exists. Only one test
 * runs at a time and its result is cached for a second, because the transaction takes the database's write lock and
 * anyone may request readiness.
 */
export class StoreProbe extends Context.Service<StoreProbe, { readonly isWritable: Effect.Effect<boolean> }>()(
  "@doorhook/server/health/StoreProbe"
) {
  static readonly layer: Layer.Layer<StoreProbe, never, SettingStore | HealthSettings> = Layer.effect(
    StoreProbe,
    Effect.gen(function* () {
      const settings = yield* SettingStore
      const { patience } = yield* HealthSettings
      const probe = Effect.map(
        askStore(settings.getOrCreate("health_probe", "1"), patience),
        (answer) => answer !== null
      )
      return { isWritable: (yield* makeShortMemory(probe, probeEvery)).get }
    })
  )
}

/** Arguments of a claim that takes no deliveries. Its result includes the due time of the next delivery. */
const nothing = {
  worker: "health",
  limit: 0,
  limitPerIntegration: 0,
  limits: new Map<IntegrationId, number>()
} as const

/** Measures the health of this process. Reads only one indexed value from the store. */
export const checkHealth = Effect.fnUntraced(function* ({ patience }: HealthSettingsShape) {
  const store = yield* DeliveryStore
  const probe = yield* StoreProbe
  const dispatcher = yield* Dispatcher
  const now = yield* Clock.currentTimeMillis
  const due = yield* askStore(store.claim({ ...nothing, now }), patience)
  const dispatching = yield* dispatcher.status
  // Don't probe a store that already refuses changes.
  const store_trouble = (yield* StoreHealth).trouble()
  const asked = due !== null && dispatching.store_failing_since === null && store_trouble === null
  const status: HealthStatus = {
    ...dispatching,
    now,
    oldest_due_age_ms: due === null ? null : ageOf(due.next_due, now),
    writable: !asked || (yield* probe.isWritable),
    store_trouble
  }
  return status
})

const waitingFor: Readonly<Record<BreakerCause, string>> = {
  directory: "The directory can't be queried",
  egress: "Outbound connections to receivers fail"
}

/** An outage: a failed dependency that all deliveries of this process wait for. */
export interface OutageDetail {
  readonly cause: BreakerCause
  /** Start of the outage, ISO 8601 UTC. */
  readonly since: string
  readonly detail: string
}

/**
 * Describes the outage because of which deliveries wait; null if there is no outage. The service is still ready during
 * an outage, because it stores events and sends them later.
 */
export const outageDetail = ({ outage }: HealthStatus): OutageDetail | null =>
  outage === null
    ? null
    : {
        cause: outage.cause,
        since: isoOf(outage.since),
        detail: `${waitingFor[outage.cause]}; the log says why. Events are accepted, and deliveries wait. One delivery is tried every few seconds; when it succeeds, all continue.`
      }

/** Why the service is not ready. */
export interface NotReady {
  /** A code for programs. */
  readonly status: "store_unreachable" | "store_refuses_changes" | "stalled"
  /** The problem and its consequences, for operators. */
  readonly detail: string
}

/**
 * Returns why the service is not ready; null if it is ready. A process that keeps claiming and recording does not count
 * as stalled, however old its backlog is.
 */
export const notReadyReason = (
  {
    last_claim_at,
    now,
    oldest_due_age_ms,
    store_failing_since,
    store_trouble,
    unsettled_since,
    writable
  }: HealthStatus,
  { claimPause, patience, recordPause, stallTimeout }: HealthSettingsShape
): NotReady | null => {
  if (store_trouble !== null) {
    return {
      status: "store_refuses_changes",
      detail: `${store_trouble} Publishing is refused and deliveries wait.`
    }
  }
  if (oldest_due_age_ms === null) {
    return {
      status: "store_unreachable",
      detail:
        "The database does not answer, or its answer can't be used; the log says why. Publishing is refused and deliveries wait until it works again."
    }
  }
  const refusedFor = store_failing_since === null ? 0 : now - store_failing_since
  if (!writable || refusedFor > patience) {
    return {
      status: "store_refuses_changes",
      detail:
        "The database answers, but refuses changes: it may be read-only, locked or full; the log has its message. Publishing is refused and deliveries wait until it accepts changes again."
    }
  }
  if (last_claim_at !== null && now - last_claim_at > claimPause) {
    return {
      status: "stalled",
      detail: `This process has not looked for due deliveries for ${now - last_claim_at} ms. Restart it; the log may say why.`
    }
  }
  if (unsettled_since !== null && now - unsettled_since > recordPause) {
    return {
      status: "stalled",
      detail: `Finished attempts have not been recorded for ${now - unsettled_since} ms and will be repeated. Restart this process; the log may say why.`
    }
  }
  if (last_claim_at === null && oldest_due_age_ms > stallTimeout) {
    return {
      status: "stalled",
      detail: `A delivery has been due for ${oldest_due_age_ms} ms, and this process has not claimed it. Check that a process delivers from this database.`
    }
  }
  return null
}
