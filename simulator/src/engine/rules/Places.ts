/**
 * How many requests may be open at once.
 */
import type { DeliverySettingsShape } from "@doorhook/core"

export interface Places {
  /** By one process. */
  readonly ofProcess: number
  /** By one process, to one integration. */
  readonly ofProcessToOne: number
  /** By all processes that know of each other, to one integration: each has one place at least. */
  readonly toOne: number
}

export const placesOf = (
  { concurrency, concurrencyPerIntegration }: Pick<DeliverySettingsShape, "concurrency" | "concurrencyPerIntegration">,
  processes: number
): Places => ({
  ofProcess: concurrency,
  ofProcessToOne: concurrencyPerIntegration,
  toOne: Math.max(concurrencyPerIntegration, processes)
})
