/**
 * The operator, who sends again, probes, and sets where single integrations differ.
 */
import type { DeliveryOverrides, IntegrationSwitches } from "@doorhook/core"
import { Deliveries, OperatorIntegrations } from "@doorhook/core"
import type { Engine } from "../Engine.ts"
import type { Simulation } from "../Simulation.ts"
import { between, happens, oneOf, pick } from "../world/Draw.ts"
import { anyIntegration } from "./Managers.ts"

export const resend = (world: Simulation, engine: Engine | undefined): void => {
  const delivery = world.delivery(between(world.rng, 1, 100))
  if (engine === undefined || delivery === null) return
  engine.run(
    world.nextOperation(),
    { type: "resend", delivery_id: delivery.id },
    Deliveries.use((deliveries) => deliveries.resend(delivery.id))
  )
}

export const recover = (world: Simulation, engine: Engine | undefined): void => {
  const integration = anyIntegration(world)
  if (engine === undefined || integration === null) return
  const since = world.time.wall - between(world.rng, 0, 60_000)
  engine.run(
    world.nextOperation(),
    { type: "recover", integration_id: integration.id },
    Deliveries.use((deliveries) => deliveries.recover(integration.id, since))
  )
}

/** Between two looks for something to probe, in milliseconds, and how many there are at most. */
const looking = { pause: 3_000, most: 15 }

/** Probes an integration that doorhook disabled, as soon as there is one; sometimes asks in vain. */
export const probe = (world: Simulation, engine: Engine | undefined, looks = 1): void => {
  const { rng, time } = world
  const all = Array.from({ length: 8 }, (_, at) => world.integration(at + 1)).flatMap((found) => found ?? [])
  const disabled = all.filter(({ disabled_reason }) => disabled_reason !== null && disabled_reason !== "manual")
  if (disabled.length === 0 && looks < looking.most && happens(rng, 0.9)) {
    time.after(looking.pause, () => probe(world, oneOf(rng, world.ready), looks + 1))
    return
  }
  const integration = oneOf(rng, disabled.length === 0 ? all : disabled)
  if (engine === undefined || integration === undefined) return
  engine.run(
    world.nextOperation(),
    { type: "probe", integration_id: integration.id },
    OperatorIntegrations.use((operator) => operator.probe(integration.id))
  )
}

/** Gives an integration a schedule of its own, or takes 2xx for an answer; sometimes takes that back. */
export const override = (world: Simulation, engine: Engine | undefined): void => {
  const { rng, scenario } = world
  const integration = anyIntegration(world)
  const delays = oneOf(rng, scenario.overrides)
  if (engine === undefined || integration === null || delays === undefined) return
  const overrides: DeliveryOverrides = happens(rng, 0.3)
    ? {}
    : {
        ...(happens(rng, 0.6) && { acknowledge: pick(rng, ["2xx", "2xx", "200"]) }),
        ...(happens(rng, 0.6) && { retry: { access_log: delays, ...(happens(rng, 0.5) && { call: [400, 400] }) } })
      }
  const switches: IntegrationSwitches = happens(rng, 0.1) ? { overrides, status: "enabled" } : { overrides }
  engine.run(
    world.nextOperation(),
    { type: "switch", integration_id: integration.id, change: JSON.stringify(switches) },
    OperatorIntegrations.use((operator) => operator.set(integration.id, switches))
  )
}
