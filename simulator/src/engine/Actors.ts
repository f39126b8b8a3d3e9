/**
 * Who does what in a simulated world: publishers, users who manage integrations, an operator, readers of feeds, and bad
 * luck.
 */
import { change, create, remove, rotate } from "./actors/Managers.ts"
import { override, probe, recover, resend } from "./actors/Operators.ts"
import { publish, publishAround, publishWithKey } from "./actors/Publishers.ts"
import { follow } from "./actors/Readers.ts"
import type { Simulation } from "./Simulation.ts"
import { between, happens, oneOf, pick } from "./world/Draw.ts"
import type { ActionKind } from "./world/Scenario.ts"

export const act = (world: Simulation, kind: ActionKind): void => {
  const { faults, receivers, rights, rng, scenario, time } = world
  const engine = oneOf(rng, world.ready)
  const anyReceiver = () => rng.below(scenario.receivers.length)
  switch (kind) {
    case "publish":
      if (happens(rng, 0.2)) receivers.down(anyReceiver(), between(rng, 1_000, 20_000))
      return publish(world, engine, between(rng, 1, 3))
    case "burst":
      return publish(world, engine, between(rng, 20, 120))
    case "keyed":
      return publishWithKey(world)
    case "create":
      return create(world)
    case "change":
      publishAround(world)
      return change(world, engine)
    case "remove":
      publishAround(world)
      return remove(world, engine)
    case "rotate":
      publishAround(world)
      return rotate(world, engine)
    case "override":
      publishAround(world)
      return override(world, engine)
    case "resend":
      return resend(world, engine)
    case "recover":
      return recover(world, engine)
    case "probe":
      return probe(world, engine)
    case "follow":
      return follow(world)
    case "outage":
      return receivers.down(anyReceiver(), between(rng, scenario.outage.least, scenario.outage.most))
    case "right": {
      const place = oneOf(rng, scenario.places)
      return place === undefined ? undefined : rights.set(place, !rights.has(place))
    }
    case "directoryDown":
      return faults.directoryDown(between(rng, 500, 10_000), pick(rng, ["silent", "slow"]))
    case "storeDown":
      publishAround(world)
      return faults.storeDown(between(rng, 100, 8_000))
    case "kill":
      return engine === undefined ? undefined : world.killEngine(engine.process)
    case "restart":
      return engine === undefined ? undefined : world.closeEngine(engine)
    case "clock": {
      const by = pick(rng, [-500, -50, 5_000, 60_000])
      time.wallOffset += by
      return world.history.add({ kind: "clock", by })
    }
  }
}
