/**
 * The status of a dispatcher, for operators and health checks.
 */
import type { Outage } from "./CircuitBreaker.ts"
import type { CatchingUp, FailureStreak } from "./IntegrationHealth.ts"
import type { StoreStatus } from "./StoreFailures.ts"

export type { BreakerCause, Outage } from "./CircuitBreaker.ts"
export { breakerCauses } from "./CircuitBreaker.ts"
export type { CatchingUp } from "./IntegrationHealth.ts"
export type { StoreFailure } from "./StoreFailures.ts"

/** Current activity of a dispatcher. */
export interface DispatcherStatus extends StoreStatus {
  /** Number of requests in flight. */
  readonly delivering: number
  /** Number of leased deliveries that are not in flight. */
  readonly buffered: number
  /** Number of finished attempts that are not yet recorded in the store. */
  readonly unsettled: number
  /**
   * When a batch of finished attempts was last recorded or, if later, when the first of the unrecorded attempts ended.
   * In milliseconds since the epoch; null if all are recorded.
   */
  readonly unsettled_since: number | null
  /** Time of the last successful claim, in milliseconds since the epoch; null before the first. */
  readonly last_claim_at: number | null
  /** Whether this process is to deliver. Otherwise it leaves all deliveries to other processes. */
  readonly delivers: boolean
  /** Whether this process is a member of those that deliver from the store, and its settings agree with theirs. */
  readonly is_member: boolean
  /** Which settings differ from those of the other processes, so that nothing is sent; null if none. */
  readonly settings_differ: string | null
  /** The outage that stops all deliveries except for a trial request every few seconds; null if there is none. */
  readonly outage: Outage | null
  /** Number of integrations whose last attempt in this process failed. */
  readonly failing: number
  /** The integrations with the most consecutive failures, worst first, at most 20. */
  readonly worst: ReadonlyArray<FailureStreak>
  /** Integrations whose waiting retries are sent early, after an outage of their receivers. */
  readonly catching_up: ReadonlyArray<CatchingUp>
}

/** The status of a dispatcher that is not sending. */
export const idleStatus: DispatcherStatus = {
  delivering: 0,
  buffered: 0,
  unsettled: 0,
  unsettled_since: null,
  last_claim_at: null,
  store_failure: null,
  store_proven: false,
  delivers: true,
  is_member: false,
  settings_differ: null,
  outage: null,
  failing: 0,
  worst: [],
  catching_up: []
}
