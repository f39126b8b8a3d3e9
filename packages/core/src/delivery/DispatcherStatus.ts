/**
 * The status of a dispatcher, for operators and health checks.
 */
import type { Outage } from "./CircuitBreaker.ts"
import type { CatchingUp, FailureStreak } from "./IntegrationHealth.ts"

export type { BreakerCause, Outage } from "./CircuitBreaker.ts"
export { breakerCauses } from "./CircuitBreaker.ts"
export type { CatchingUp } from "./IntegrationHealth.ts"

/** What a dispatcher is doing. */
export interface DispatcherStatus {
  /** Requests open now. */
  readonly delivering: number
  /** Deliveries under lease that wait for a place. */
  readonly buffered: number
  /** Attempts that are over and not recorded in the store yet. */
  readonly unsettled: number
  /**
   * Since when such attempts wait and none has been recorded, in milliseconds since the epoch; null while there are none. It
   * moves with each that is.
   */
  readonly unsettled_since: number | null
  /** When it last looked for due deliveries with success, in milliseconds since the epoch; null before the first time. */
  readonly last_claim_at: number | null
  /** Since when the store has not let it claim or record outcomes, in milliseconds since the epoch; null while it does. */
  readonly store_failing_since: number | null
  /** What all deliveries wait for: they are due again every few seconds, and one is tried; null while they can be sent. */
  readonly outage: Outage | null
  /** How many integrations failed at the last attempt that this process made. */
  readonly failing: number
  /** Those that failed most often in a row, the worst first: a few. */
  readonly worst: ReadonlyArray<FailureStreak>
  /** Integrations whose waiting retries are sent early, after an outage of their receivers. */
  readonly catching_up: ReadonlyArray<CatchingUp>
}

/** The status of a dispatcher that has done nothing. */
export const idleStatus: DispatcherStatus = {
  delivering: 0,
  buffered: 0,
  unsettled: 0,
  unsettled_since: null,
  last_claim_at: null,
  store_failing_since: null,
  outage: null,
  failing: 0,
  worst: [],
  catching_up: []
}
