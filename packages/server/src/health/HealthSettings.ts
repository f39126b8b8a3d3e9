/**
 * Limits for readiness, and access to metrics.
 */
import { Context, Layer } from "effect"
import type { Redacted } from "effect"

export interface HealthSettingsShape {
  /** Longest time that the oldest due delivery may wait before a process has made its first claim, in milliseconds. */
  readonly stallTimeout: number
  /** Longest time since the last successful claim, in milliseconds. By default, a process claims every second. */
  readonly claimPause: number
  /** Longest time that finished attempts may wait without any being recorded, in milliseconds. */
  readonly recordPause: number
  /**
   * Longest time that the store may take to answer or may refuse changes before the process counts as not ready, in
   * milliseconds. Must be short, because load balancers have short timeouts.
   */
  readonly patience: number
  /** Who may read `/metrics` without a `metricsKey`: programs on this machine, or any client. */
  readonly metricsFor: "loopback" | "anyone"
  /** Key for `/metrics`; null for none. With a key, every client must send it, and `metricsFor` has no effect. */
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
  /** Provides the given settings, and defaults for all others. */
  static layer(overrides: Partial<HealthSettingsShape> = {}): Layer.Layer<HealthSettings> {
    return Layer.succeed(HealthSettings, { ...healthDefaults, ...overrides })
  }
}
