/**
 * The state of the dispatcher and the store, from which readiness and some metrics are derived.
 */
import { certainOffset, DeliveryStore, Dispatcher, isoOf, storeClock, StoreError, StoreHealth } from "@doorhook/core"
import type { BreakerCause, DispatcherStatus, IntegrationId, StoreReason } from "@doorhook/core"
import { Context, Effect, Layer, Result } from "effect"
import { makeShortMemory } from "../http/ShortMemory.ts"
import { HealthSettings } from "./HealthSettings.ts"
import type { HealthSettingsShape } from "./HealthSettings.ts"

/** Why the store does not work, as far as the code of its error shows. */
export type StoreRefusal = StoreReason | "unknown"

export interface HealthStatus extends DispatcherStatus {
  /** Time of the measurement, in milliseconds since the epoch. */
  readonly now: number
  /**
   * How far this machine's clock is ahead of the store's, less the error of its measurement, in milliseconds. Null for a
   * store without a clock of its own.
   */
  readonly clock_ahead_ms: number | null
  /**
   * How long the oldest due delivery has been due, in milliseconds. 0 if none is due, null if the store did not answer.
   */
  readonly oldest_due_age_ms: number | null
  /** Why the store does not work, by publications, by the work on deliveries or by the probe; null if it works. */
  readonly store_refusal: StoreRefusal | null
  /** Why the database of clients and tokens does not work, if that is another one; null if it works. */
  readonly authorization_refusal: StoreRefusal | null
  /** Why the store as a whole refuses all changes; null if it accepts changes. */
  readonly store_trouble: string | null
}

/** Queries the store, and logs a failure. No answer within `patience` milliseconds is a failure, too. */
const askStore = <A, R>(
  ask: Effect.Effect<A, StoreError, R>,
  patience: number
): Effect.Effect<Result.Result<A, StoreError>, never, R> =>
  ask.pipe(
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () =>
        Effect.fail(new StoreError({ operation: "health", cause: new Error(`no answer within ${patience} ms`) }))
    }),
    Effect.tapError((error) => Effect.logWarning("The health check of the store failed", error.cause)),
    Effect.result
  )

/** Returns how long something has been due, in milliseconds; 0 if nothing is due. */
export const ageOf = (due: number | null, now: number): number => (due === null ? 0 : Math.max(0, now - due))

/** How long the result of a probe is cached, in milliseconds. */
const probeEvery = 2_000

/**
 * Tests whether the store accepts changes. Only one test runs at a time and its result is cached for two seconds,
 * because the test takes the database's write lock and anyone may request readiness.
 */
export class StoreProbe extends Context.Service<
  StoreProbe,
  Record<"refusal" | "sharedRefusal", Effect.Effect<StoreRefusal | null>>
>()("@doorhook/server/health/StoreProbe") {
  static readonly layer: Layer.Layer<StoreProbe, never, HealthSettings> = Layer.effect(
    StoreProbe,
    Effect.gen(function* () {
      const store = yield* StoreHealth
      const { patience } = yield* HealthSettings
      const probing = (probe: Effect.Effect<void, StoreError>) =>
        makeShortMemory(Effect.map(askStore(probe, patience), refusalOf), probeEvery)
      return {
        refusal: (yield* probing(store.probe)).get,
        sharedRefusal: (yield* probing(store.probeShared)).get
      }
    })
  )
}

const refusalOf = Result.match({
  onFailure: ({ reason }: StoreError): StoreRefusal | null => reason ?? "unknown",
  onSuccess: () => null
})

/** Arguments of a claim that takes no deliveries. Its result includes the due time of the next delivery. */
const nothing = {
  worker: "health",
  limit: 0,
  limitPerIntegration: 0,
  limits: new Map<IntegrationId, number>()
} as const

/** Measures the health of this process. Reads only one indexed value from the store. */
export const checkHealth = Effect.fnUntraced(function* ({
  patience
}: HealthSettingsShape): Effect.fn.Return<HealthStatus, never, DeliveryStore | Dispatcher | StoreProbe> {
  const store = yield* DeliveryStore
  const probe = yield* StoreProbe
  const dispatcher = yield* Dispatcher
  const clock = yield* storeClock
  const now = clock.now()
  const offset = clock.offset()
  const due = yield* askStore(store.claim({ ...nothing, now }), patience)
  const dispatching = yield* dispatcher.status
  const failure = dispatching.store_failure
  const failed = failure !== null && now - failure.since > patience ? (failure.reason ?? "unknown") : null
  const store_trouble = (yield* StoreHealth).trouble()
  const clock_ahead_ms = offset === null ? null : certainOffset(offset)
  const authorization_refusal = yield* probe.sharedRefusal
  const measured = { ...dispatching, now, store_trouble, clock_ahead_ms, authorization_refusal }
  if (Result.isFailure(due)) {
    const store_refusal = due.failure.reason ?? (failed === null || failed === "unknown" ? "unreachable" : failed)
    return { ...measured, oldest_due_age_ms: null, store_refusal }
  }
  // Don't probe a store whose state is known already.
  const isKnown = store_trouble !== null || failed !== null || dispatching.store_proven
  const store_refusal = isKnown ? failed : yield* probe.refusal
  const oldest_due_age_ms = ageOf(due.success.next_due, now)
  return { ...measured, oldest_due_age_ms, store_refusal }
})

/** Reads the contents of the database; null if it does not answer, or has just not answered. */
export const readSummary = Effect.fnUntraced(function* (
  { now, oldest_due_age_ms }: HealthStatus,
  { patience }: HealthSettingsShape
) {
  if (oldest_due_age_ms === null) return null
  const store = yield* DeliveryStore
  return Result.getOrNull(yield* askStore(store.summary(now), patience))
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
