/**
 * Who does what in a simulated world: publishers, users who manage integrations, an operator, and bad luck.
 */
import type { NewEvent, Scope } from "@doorhook/core"
import { ClientId, Deliveries, DeliveryId, Integrations, JsonText, Publisher } from "@doorhook/core"
import type { Engine } from "./Engine.ts"
import type { Simulation } from "./Simulation.ts"
import { between, happens, oneOf, pick } from "./world/Draw.ts"
import { urlOf } from "./world/Receivers.ts"
import type { ActionKind, Place } from "./world/Scenario.ts"

export const act = (world: Simulation, kind: ActionKind): void => {
  const { faults, receivers, rights, rng, scenario, time } = world
  const engine = oneOf(rng, world.ready)
  switch (kind) {
    case "publish":
      if (happens(rng, 0.2)) receivers.down(rng.below(scenario.receivers.length), between(rng, 1_000, 20_000))
      return publish(world, engine, between(rng, 1, 3))
    case "burst":
      return publish(world, engine, between(rng, 20, 120))
    case "create":
      return create(world, engine)
    case "change":
      publishAround(world)
      return change(world, engine)
    case "remove":
      publishAround(world)
      return remove(world, engine)
    case "resend":
      return resend(world, engine)
    case "recover":
      return recover(world, engine)
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

/** Text that comes out differently when it is parsed and written again. */
const dataOf = (number: number): JsonText.JsonText =>
  JsonText.JsonText.make(`{ "id":${number},"precise":1.0,"long":12345678901234567890,"ünï":"\\u00e9" }`)

const publish = (world: Simulation, engine: Engine | undefined, count: number): void => {
  if (engine === undefined) return
  const { rng, scenario } = world
  const share = pick(rng, [0.1, 0.5])
  const op = world.nextOperation()
  const events = Array.from({ length: count }, (_, nth): ReadonlyArray<NewEvent> => {
    const building = oneOf(rng, scenario.buildings)
    if (building === undefined) return []
    return [
      {
        resource_type: happens(rng, share) ? "call" : "access_log",
        action: "create",
        building_id: building.id,
        tenant_ids: building.tenants.filter(() => happens(rng, 0.4)),
        data: dataOf(op * 1_000 + nth)
      }
    ]
  }).flat()
  engine.run(
    op,
    { type: "publish", events },
    Publisher.use((publisher) => publisher.publish(events))
  )
}

/** Events that come in just when an integration is changed, or when the store fails. */
const publishAround = (world: Simulation): void => {
  const { rng, scenario, time } = world
  for (const millis of [0, scenario.storeLatency, 2 * scenario.storeLatency]) {
    time.after(millis, () => publish(world, oneOf(rng, world.ready), between(rng, 1, 5)))
  }
}

const actorOf = ({ user }: Place) => ({ user_id: user, client_id: ClientId.make("client") })

/** Who may manage a scope, or could once. */
const placeOf = ({ scenario }: Simulation, scope: Scope): Place | undefined =>
  scenario.places.find((place) => place.scope.type === scope.type && place.scope.id === scope.id)

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

const create = (world: Simulation, engine: Engine | undefined): void => {
  const place = oneOf(world.rng, world.scenario.places)
  if (engine === undefined || place === undefined) return
  const op = world.nextOperation()
  const document = documentOf({
    integrator: "webhook",
    configuration: configurationOf(world, op),
    bindings: bindingsOf(world)
  })
  engine.run(
    op,
    { type: "create", scope: place.scope },
    Integrations.use((integrations) => integrations.create(actorOf(place), place.scope, document))
  )
}

/** An integration that is there now, by chance. */
const anyIntegration = (world: Simulation) => {
  const id = between(world.rng, 1, 8)
  return world.integration(id)
}

const change = (world: Simulation, engine: Engine | undefined): void => {
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
          { configuration: configurationOf(world, op) }
        ])
  const document = documentOf(attributes)
  engine.run(
    op,
    { type: "patch", integration_id: integration.id, change: JSON.stringify(attributes) },
    Integrations.use((service) => service.patch(actorOf(place), place.scope, integration.id, document, null))
  )
}

const remove = (world: Simulation, engine: Engine | undefined): void => {
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

const resend = (world: Simulation, engine: Engine | undefined): void => {
  const delivery = world.delivery(between(world.rng, 1, 100))
  if (engine === undefined || delivery === null) return
  engine.run(
    world.nextOperation(),
    { type: "resend", delivery_id: DeliveryId.make(delivery.id) },
    Deliveries.use((deliveries) => deliveries.resend(delivery.id))
  )
}

const recover = (world: Simulation, engine: Engine | undefined): void => {
  const integration = anyIntegration(world)
  if (engine === undefined || integration === null) return
  const since = world.time.wall - between(world.rng, 0, 60_000)
  engine.run(
    world.nextOperation(),
    { type: "recover", integration_id: integration.id },
    Deliveries.use((deliveries) => deliveries.recover(integration.id, since))
  )
}
