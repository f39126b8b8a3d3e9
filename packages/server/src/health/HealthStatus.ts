/**
 * The state of the dispatcher and the store: the source of readiness, and of some metrics and figures.
 */
import { DeliveryStore, Dispatcher, isoOf, SettingStore, StoreError, StoreHealth } from "@doorhook/core"
import type { DispatcherStatus, IntegrationId, BreakerCause } from "@doorhook/core"
import { Clock, Context, Effect, Layer } from "effect"
import { makeShortMemory } from "../http/ShortMemory.ts"
import { HealthSettings } from "./HealthSettings.ts"
import type { HealthSettingsShape } from "./HealthSettings.ts"

export interface HealthStatus extends DispatcherStatus {
  /** When this was measured, in milliseconds since the epoch. */
  readonly now: number
  /**
   * How long the delivery that was due first has waited, in milliseconds; 0 when none is due, null without an answer of the
   * store.
   */
  readonly oldest_due_age_ms: number | null
  /** Whether the store accepted a change within the last second, or does now. */
  readonly writable: boolean
  /** Why the store itself refuses all changes; null while it does not. */
  readonly store_trouble: string | null
}

/** Asks the store, for at most `patience` milliseconds; null when it fails or does not answer, which is logged. */
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
      Effect.as(Effect.logWarning("The store did not do what was asked to see how it is", error.cause), null)
    )
  )

/** How long something has been due since a time, in milliseconds; 0 when nothing is. */
export const ageOf = (due: number | null, now: number): number => (due === null ? 0 : Math.max(0, now - due))

/** How long the answer of a probe is kept, in milliseconds. */
const probeEvery = 1_000

/**
 * Tests whether the store accepts changes, by a transaction that stores a setting unless it is there. The transaction takes the
 * database's write lock, and anyone may request readiness: one runs at a time, and its answer is kept for a second.
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

/** A claim of nothing, which returns when the next delivery is due. */
const nothing = {
  worker: "health",
  limit: 0,
  limitPerIntegration: 0,
  limits: new Map<IntegrationId, number>()
} as const

/** Measures the health of this process. Reads one indexed value from the store, and never counts. */
export const checkHealth = Effect.fnUntraced(function* ({ patience }: HealthSettingsShape) {
  const store = yield* DeliveryStore
  const probe = yield* StoreProbe
  const dispatcher = yield* Dispatcher
  const now = yield* Clock.currentTimeMillis
  const due = yield* askStore(store.claim({ ...nothing, now }), patience)
  const dispatching = yield* dispatcher.status
  // A store that is known to refuse changes is not probed.
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
  directory: "The directory does not say who may see what",
  egress: "There is no way out to any receiver"
}

/** A dependency that all deliveries of this process wait for. */
export interface OutageDetail {
  readonly cause: BreakerCause
  /** ISO 8601 UTC. */
  readonly since: string
  readonly detail: string
}

/**
 * The dependency that deliveries wait for; null for none. The service is ready all the same: it stores what is published, and
 * sends it later.
 */
export const outageDetail = ({ outage }: HealthStatus): OutageDetail | null =>
  outage === null
    ? null
    : {
        cause: outage.cause,
        since: isoOf(outage.since),
        detail: `${waitingFor[outage.cause]}; the log says why. Events are accepted, and deliveries wait: one is tried every few seconds, and all go on when it gets through.`
      }

/** Why the service is not ready. */
export interface NotReady {
  /** A word for programs. */
  readonly status: "store_unreachable" | "store_refuses_changes" | "stalled"
  /** What is wrong and its consequences, for people. */
  readonly detail: string
}

/** What keeps deliveries from being made; null for nothing. A backlog that is being worked on is no standstill, however old. */
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
        "The database does not answer, or not what it is asked; the log says why. Publishing is refused and deliveries wait; both go on when it is back."
    }
  }
  const refusedFor = store_failing_since === null ? 0 : now - store_failing_since
  if (!writable || refusedFor > patience) {
    return {
      status: "store_refuses_changes",
      detail:
        "The database answers, but refuses changes: it may be read-only, locked or full; the log says what it said. Publishing is refused and deliveries wait; both go on when it takes changes again."
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
      detail: `Attempts are over, and none has been recorded for ${now - unsettled_since} ms: they will be made again. Restart this process; the log may say why.`
    }
  }
  if (last_claim_at === null && oldest_due_age_ms > stallTimeout) {
    return {
      status: "stalled",
      detail: `A delivery has been due for ${oldest_due_age_ms} ms, and this process has not looked for it. Check that something delivers from this database.`
    }
  }
  return null
}
