/**
 * Writes the gauges of `/metrics` to the metric registry, from which exporters read them. The gauges show deliveries by
 * state, the age of the oldest due delivery, whether the database responds, and the work of this process.
 */
import { measureGauges } from "@doorhook/server"
import { Context, Effect, Layer, Metric, Schedule } from "effect"
import type { Duration } from "effect"

/**
 * Interval at which to measure the gauges for exporters; null for never. Each request to `/metrics` also measures them.
 */
export const GaugeInterval = Context.Reference<Duration.Input | null>("doorhook/telemetry/GaugeInterval", {
  defaultValue: () => null
})

const keep = Effect.gen(function* () {
  const interval = yield* GaugeInterval
  if (interval === null) return
  const registry = yield* Metric.MetricRegistry
  let kept: Metric.MetricRegistry = new Map()
  const replaceBy = (measured: Metric.MetricRegistry) =>
    Effect.sync(() => {
      // Another doorhook in this process might have registered its own series.
      for (const [key, series] of kept) if (registry.get(key) === series) registry.delete(key)
      for (const [key, series] of measured) registry.set(key, series)
      kept = measured
    })
  yield* Effect.addFinalizer(() => replaceBy(new Map()))
  yield* measureGauges.pipe(Effect.flatMap(replaceBy), Effect.repeat(Schedule.spaced(interval)), Effect.forkScoped)
})

/** Measures at the `GaugeInterval` until the scope is closed. */
export const layer = Layer.effectDiscard(keep)
