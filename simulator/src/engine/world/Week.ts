/**
 * A week under the service's own settings, the three-day schedule above all: days of failing, a day of two secrets, keys
 * that are forgotten. Only the poll is slower, so that a week of idle looks costs little; retries come when they are due
 * all the same.
 */
import { defaultDeliverySettings } from "@doorhook/core"
import type { Substream } from "../../random/Substream.ts"
import { child, Rng } from "../../random/Substream.ts"
import { between, pick } from "./Draw.ts"
import type { Scenario } from "./Scenario.ts"
import { lengthOf, scenarioOf } from "./Scenario.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

export const weekOf = (seed: Substream): Scenario => {
  const scenario = scenarioOf(seed)
  const rng = new Rng(child(seed, "week"))
  return {
    ...scenario,
    engines: between(rng, 1, 2),
    receivers: ["prompt", "prompt", "prompt", pick(rng, ["dead", "accepting", "flaky", "throttling"])],
    settings: { pollInterval: minute, retention: pick(rng, [defaultDeliverySettings.retention, 2 * day]) },
    faults: { ...scenario.faults, crash: 0 },
    chaos: 7 * day,
    calm: lengthOf(defaultDeliverySettings.retry.access_log.delays) + hour,
    outage: { least: 2 * hour, most: 5 * day },
    repeat: { least: 0, most: 40 * hour },
    reading: { least: 10 * minute, most: 8 * hour },
    overrides: [[], [hour, hour], [2 * day]],
    actions: {
      ...scenario.actions,
      publish: between(rng, 40, 80),
      burst: 1,
      keyed: 10,
      create: 5,
      rotate: 4,
      override: 2,
      probe: 10,
      follow: 2,
      outage: 3,
      kill: 3,
      restart: 2,
      clock: 0
    }
  }
}
