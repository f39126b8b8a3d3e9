/**
 * When the service counts as ready, and who may read its metrics.
 */
import { Context, Layer } from "effect"
import type { Redacted } from "effect"

export interface HealthSettingsShape {
  /** How long a due delivery may wait unclaimed before the service is not ready, in milliseconds. */
  readonly stallTimeout: number
  /** How long ago the last successful look for due deliveries may be, in milliseconds: one is made every second. */
  readonly claimPause: number
  /** How long outcomes may wait with none recorded, in milliseconds. */
  readonly recordPause: number
  /** How long the store may take to answer, or refuse changes, in milliseconds. Load balancers do not wait long either. */
  readonly patience: number
  /** Who may read `/metrics` while there is no `metricsKey`: programs on this machine, or any client. */
  readonly metricsFor: "loopback" | "anyone"
  /** Key for `/metrics`; null for none. With a key, every client must send it, and the address does not matter. */
  readonly metricsKey: Redacted.Redacted | null
}

export const healthDefaults: HealthSettingsShape = {
  stallTimeout: 30_000,
  claimPause: 10_000,
  recordPause: 20_000,
  patience: 2_000,
  metricsFor: "loopback",
  metricsKey: null
}

export class HealthSettings extends Context.Service<HealthSettings, HealthSettingsShape>()(
  "@doorhook/server/health/HealthSettings"
) {
  /** The defaults with some of them replaced. */
  static layer(overrides: Partial<HealthSettingsShape> = {}): Layer.Layer<HealthSettings> {
    return Layer.succeed(HealthSettings, { ...healthDefaults, ...overrides })
  }
}
