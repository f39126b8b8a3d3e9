/**
 * Keeps what `/metrics` measures in the registry of metrics, where an exporter finds it: deliveries by state, how long the
 * oldest has been due, whether the database answers, what this process is doing.
 */
import { healthDefaults, measureGauges } from "@doorhook/server"
import { Context, Effect, Layer, Metric, Schedule } from "effect"
import type { Duration } from "effect"

/** How often they are measured for exporters; null: only when `/metrics` is asked, which puts nothing into the registry. */
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
      // Another doorhook of this process may have put its own there.
      for (const [key, series] of kept) if (registry.get(key) === series) registry.delete(key)
      for (const [key, series] of measured) registry.set(key, series)
      kept = measured
    })
  yield* Effect.addFinalizer(() => replaceBy(new Map()))
  yield* measureGauges(healthDefaults.patience).pipe(
    Effect.flatMap(replaceBy),
    Effect.repeat(Schedule.spaced(interval)),
    Effect.forkScoped
  )
})

/** Measures as often as `GaugeInterval` says, until its scope is closed. */
export const layer = Layer.effectDiscard(keep)
