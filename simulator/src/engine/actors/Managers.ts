/**
 * Users who manage the integrations of their buildings and flats.
 */
import type { Integration, Scope } from "@doorhook/core"
import { ClientId, Integrations } from "@doorhook/core"
import type { Engine } from "../Engine.ts"
import type { Simulation } from "../Simulation.ts"
import { between, happens, oneOf, pick } from "../world/Draw.ts"
import { urlOf } from "../world/Receivers.ts"
import type { Place } from "../world/Scenario.ts"
import { persistently } from "./Persistence.ts"

/** A key is good for a day; the same request after that makes another integration. */
const halfDay = 12 * 3_600_000

export const actorOf = ({ user }: Place) => ({ user_id: user, client_id: ClientId.make("client") })

/** Who may manage a scope, or could once. */
export const placeOf = ({ scenario }: Simulation, scope: Scope): Place | undefined =>
  scenario.places.find((place) => place.scope.type === scope.type && place.scope.id === scope.id)

/** An integration that is there now, by chance. */
export const anyIntegration = (world: Simulation): Integration | null => world.integration(between(world.rng, 1, 8))

const bindingsOf = ({ rng }: Simulation) =>
  pick(rng, [["call", "access_log"], ["call", "access_log"], ["call"], ["access_log"]]).map((resource_type) => ({
    resource_type,
    actions: ["create"]
  }))

const documentOf = (attributes: Readonly<Record<string, unknown>>) => ({ data: { type: "integrations", attributes } })

const configurationOf = ({ rng, scenario }: Simulation, unique: number) => ({
  url: urlOf(rng.below(scenario.receivers.length), unique),
  method: "post"
})

/** Makes an integration; some have a key, and ask until they are answered, or twice. */
export const create = (world: Simulation): void => {
  const { rng, scenario } = world
  const place = oneOf(rng, scenario.places)
  if (place === undefined) return
  const number = world.nextOperation()
  const key = happens(rng, 0.5) ? `${number}` : null
  const document = documentOf({
    integrator: "webhook",
    configuration: configurationOf(world, number),
    bindings: bindingsOf(world)
  })
  const ask = (engine: Engine, whenEnded: Parameters<Parameters<typeof persistently>[2]>[1]) =>
    engine.run(
      world.nextOperation(),
      { type: "create", scope: place.scope, key },
      Integrations.use((integrations) => integrations.create(actorOf(place), place.scope, document, key)),
      key === null ? undefined : whenEnded
    )
  persistently(world, 0, ask)
  if (key !== null && happens(rng, 0.5))
    persistently(world, happens(rng, 0.5) ? 0 : Math.min(scenario.repeat.most, halfDay), ask)
}

export const change = (world: Simulation, engine: Engine | undefined): void => {
  const integration = anyIntegration(world)
  if (engine === undefined || integration === null) return
  const place = placeOf(world, integration.scope)
  if (place === undefined) return
  const op = world.nextOperation()
  const attributes: Readonly<Record<string, unknown>> =
    integration.status === "disabled"
      ? { status: "enabled" }
      : pick(world.rng, [
          { status: "disabled" },
          { status: "disabled" },
          { bindings: bindingsOf(world) },
          { configuration: configurationOf(world, op) },
          { configuration: configurationOf(world, op) }
        ])
  const document = documentOf(attributes)
  engine.run(
    op,
    { type: "patch", integration_id: integration.id, change: JSON.stringify(attributes) },
    Integrations.use((service) => service.patch(actorOf(place), place.scope, integration.id, document, null))
  )
}

export const remove = (world: Simulation, engine: Engine | undefined): void => {
  const integration = anyIntegration(world)
  if (engine === undefined || integration === null) return
  const place = placeOf(world, integration.scope)
  if (place === undefined) return
  engine.run(
    world.nextOperation(),
    { type: "remove", integration_id: integration.id, change: "removed" },
    Integrations.use((service) => service.remove(actorOf(place), place.scope, integration.id, null))
  )
}

export const rotate = (world: Simulation, engine: Engine | undefined): void => {
  const integration = anyIntegration(world)
  if (engine === undefined || integration === null) return
  const place = placeOf(world, integration.scope)
  if (place === undefined) return
  engine.run(
    world.nextOperation(),
    { type: "rotate", integration_id: integration.id, change: "rotated" },
    Integrations.use((service) => service.rotateSecret(actorOf(place), place.scope, integration.id, null))
  )
}
