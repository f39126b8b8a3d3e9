/**
 * Actors of a simulated world: publishers, users who manage integrations, an operator, readers of feeds, and faults.
 */
import type { FeedCursor, Integration, IntegrationSwitches, NewEvent, Scope } from "@doorhook/core"
import {
  callEndType,
  ClientId,
  Deliveries,
  Feeds,
  idIn,
  Integrations,
  JsonText,
  OperatorIntegrations,
  Publisher
} from "@doorhook/core"
import type { Effect } from "effect"
import type { Ending, Outcome, SimulatedEngine, SimulationOptions } from "./Simulation.ts"
import { Simulation } from "./Simulation.ts"
import { urlOf } from "./world/Receivers.ts"
import type { ActionKind, Place } from "./world/Scenario.ts"
import { actionKinds, between, happens, maxSkew, oneOf, pick } from "./world/Scenario.ts"

/** Runs the world of a seed to its end. */
export const simulate = (seed: number, options: SimulationOptions = {}): Outcome => {
  const world = new Simulation(seed, options)
  const { rng, scenario, time } = world
  world.start()
  for (const kind of actionKinds) {
    // Integrations are created in the first third, so that most events find some.
    const span = kind === "create" ? scenario.chaos / 3 : scenario.chaos
    for (let count = 0; count < scenario.actions[kind]; count++) time.after(rng.below(span), () => act(world, kind))
  }
  return world.toEnd()
}

const act = (world: Simulation, kind: ActionKind): void => {
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
    case "vanish":
      return engine === undefined ? undefined : void faults.vanishing.add(engine.process)
    case "kill":
      return engine === undefined ? undefined : world.killEngine(engine.process)
    case "restart":
      return engine === undefined ? undefined : world.closeEngine(engine)
    case "clock": {
      const by = pick(rng, [-500, -50, 5_000, 60_000])
      time.wallOffset += by
      return world.history.add({ kind: "clock", by })
    }
    case "ownClock": {
      if (engine === undefined || !scenario.hasStoreClock) return
      const { process } = engine
      process.skew = between(rng, -maxSkew, maxSkew)
      return world.history.add({ kind: "own_clock", engine: process.number, skew: process.skew })
    }
  }
}

/** Range of the pause before an unanswered request is sent again, in milliseconds. */
const patience = { least: 50, most: 4_000 }

const persistently = (
  world: Simulation,
  delay: number,
  request: (engine: SimulatedEngine, whenEnded: (ending: Ending<unknown>) => void) => void
): void => {
  const { rng, time } = world
  const again = () => between(rng, patience.least, patience.most)
  time.after(delay, () => {
    const engine = oneOf(rng, world.ready)
    if (engine === undefined) return persistently(world, again(), request)
    request(engine, (ending) =>
      ending.kind !== "ok" && ending.isOpen ? persistently(world, again(), request) : undefined
    )
  })
}

/** JSON text that changes when it is parsed and serialized again. */
const dataOf = (number: number): JsonText.JsonText =>
  JsonText.JsonText.make(`{ "id":${number},"precise":1.0,"long":12345678901234567890,"ünï":"\\u00e9" }`)

/** Creates events with data that no other operation uses. */
const eventsOf = ({ rng, scenario }: Simulation, op: number, count: number): ReadonlyArray<NewEvent> => {
  const share = pick(rng, [0.1, 0.5])
  return Array.from({ length: count }, (_, nth): ReadonlyArray<NewEvent> => {
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
}

const publish = (world: Simulation, engine: SimulatedEngine | undefined, count: number): void => {
  if (engine === undefined) return
  const op = world.nextOperation()
  const events = eventsOf(world, op, count)
  publishEvents(world, engine, op, events)
  endCalls(world, events)
}

const publishEvents = (world: Simulation, engine: SimulatedEngine, op: number, events: ReadonlyArray<NewEvent>): void =>
  world.run(
    engine,
    op,
    { type: "publish", events, key: null },
    Publisher.use((publisher) => publisher.publish(events))
  )

/** Longest time until a call ends, in milliseconds: a little longer than its lifetime. */
const longestCall = 50_000

/** Ends most of the calls among these events: some at once, and so perhaps before they are stored. */
const endCalls = (world: Simulation, events: ReadonlyArray<NewEvent>): void => {
  const { rng, scenario, time } = world
  if (!scenario.hasCallEnds) return
  for (const { building_id, data, resource_type, tenant_ids } of events) {
    if (resource_type !== "call" || happens(rng, 0.2)) continue
    const call = idIn(data, "id")
    time.after(happens(rng, 0.3) ? between(rng, 0, 20) : between(rng, 0, longestCall), () => {
      const engine = oneOf(rng, world.ready)
      if (engine === undefined) return
      const op = world.nextOperation()
      const end = JsonText.JsonText.make(`{"id":${op * 1_000},"call_id":${call},"reason":"answered"}`)
      publishEvents(world, engine, op, [
        { resource_type: callEndType, action: "create", building_id, tenant_ids, data: end }
      ])
    })
  }
}

/** Publishes events while an integration changes or the store fails. */
const publishAround = (world: Simulation): void => {
  const { rng, scenario, time } = world
  for (const millis of [0, scenario.storeLatency, 2 * scenario.storeLatency]) {
    time.after(millis, () => publish(world, oneOf(rng, world.ready), between(rng, 1, 5)))
  }
}

/**
 * Publishes events under an idempotency key, with retries until the request is answered. Also sends up to three
 * needless repeats, immediately or later, to any process. Sometimes reuses the key for other events.
 */
const publishWithKey = (world: Simulation): void => {
  const { rng, scenario } = world
  const number = world.nextOperation()
  const key = `host ${number}`
  const send = (events: ReadonlyArray<NewEvent>, fingerprint: string, delay: number) =>
    persistently(world, delay, (engine, whenEnded) =>
      world.run(
        engine,
        world.nextOperation(),
        { type: "publish", events, key },
        Publisher.use((publisher) => publisher.publish(events, { key, fingerprint })),
        whenEnded
      )
    )
  const events = eventsOf(world, number, between(rng, 1, 5))
  const later = () => between(rng, scenario.repeat.least, scenario.repeat.most)
  send(events, `${number}`, 0)
  endCalls(world, events)
  for (let again = between(rng, 0, 3); again > 0; again--) send(events, `${number}`, happens(rng, 0.5) ? 0 : later())
  if (happens(rng, 0.2)) {
    const other = world.nextOperation()
    send(eventsOf(world, other, 1), `${other}`, happens(rng, 0.5) ? 0 : later())
  }
}

/**
 * Longest delay of a repeated request. An idempotency key expires after a day. A repeat after that would create another
 * integration.
 */
const halfDay = 12 * 3_600_000

const actorOf = ({ user }: Place) => ({ user_id: user, client_id: ClientId.make("client") })

/** Finds the place of a scope. The place's user can manage the scope unless the right was revoked. */
const placeOf = ({ scenario }: Simulation, scope: Scope): Place | undefined =>
  scenario.places.find((place) => place.scope.type === scope.type && place.scope.id === scope.id)

/** Returns the integration with a random number, or null if there is none. */
const anyIntegration = (world: Simulation): Integration | null => world.integration(between(world.rng, 1, 8))

const bindingsOf = ({ rng, scenario }: Simulation) =>
  pick(rng, [["call", "access_log"], ["call", "access_log"], ["call"], ["access_log"]])
    .flatMap((type) => (type === "call" && scenario.hasCallEnds ? [type, callEndType] : [type]))
    .map((resource_type) => ({ resource_type, actions: ["create"] }))

const documentOf = (attributes: Readonly<Record<string, unknown>>) => ({ data: { type: "integrations", attributes } })

const configurationOf = ({ rng, scenario }: Simulation, unique: number) => ({
  url: urlOf(rng.below(scenario.receivers.length), unique),
  method: "post"
})

/**
 * Creates an integration. Half of the requests have an idempotency key and are retried until they are answered. Half of
 * the requests with a key are sent twice.
 */
const create = (world: Simulation): void => {
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
  const request = (engine: SimulatedEngine, whenEnded: Parameters<Parameters<typeof persistently>[2]>[1]) =>
    world.run(
      engine,
      world.nextOperation(),
      { type: "create", scope: place.scope, key },
      Integrations.use((integrations) => integrations.create(actorOf(place), place.scope, document, key)),
      key === null ? undefined : whenEnded
    )
  persistently(world, 0, request)
  if (key !== null && happens(rng, 0.5))
    persistently(world, happens(rng, 0.5) ? 0 : Math.min(scenario.repeat.most, halfDay), request)
}

/** Changes a random integration, as the user who can manage it. `draw` returns the change and the request. */
const manage = (
  world: Simulation,
  engine: SimulatedEngine | undefined,
  type: "patch" | "remove" | "rotate",
  draw: (
    integration: Integration,
    actor: ReturnType<typeof actorOf>,
    op: number
  ) => { readonly change: string; readonly request: Effect.Effect<unknown, unknown, Integrations> }
): void => {
  const integration = anyIntegration(world)
  const place = integration === null ? undefined : placeOf(world, integration.scope)
  if (engine === undefined || integration === null || place === undefined) return
  const op = world.nextOperation()
  const { change, request } = draw(integration, actorOf(place), op)
  world.run(engine, op, { type, integration_id: integration.id, change }, request)
}

const change = (world: Simulation, engine: SimulatedEngine | undefined): void =>
  manage(world, engine, "patch", ({ id, scope, status }, actor, op) => {
    const attributes: Readonly<Record<string, unknown>> =
      status === "disabled"
        ? { status: "enabled" }
        : pick(world.rng, [
            { status: "disabled" },
            { status: "disabled" },
            { bindings: bindingsOf(world) },
            { configuration: configurationOf(world, op) },
            { configuration: configurationOf(world, op) }
          ])
    const request = Integrations.use((service) => service.patch(actor, scope, id, documentOf(attributes), null))
    return { change: JSON.stringify(attributes), request }
  })

const remove = (world: Simulation, engine: SimulatedEngine | undefined): void =>
  manage(world, engine, "remove", ({ id, scope }, actor) => ({
    change: "removed",
    request: Integrations.use((service) => service.remove(actor, scope, id, null))
  }))

const rotate = (world: Simulation, engine: SimulatedEngine | undefined): void =>
  manage(world, engine, "rotate", ({ id, scope }, actor) => ({
    change: "rotated",
    request: Integrations.use((service) => service.rotateSecret(actor, scope, id, null))
  }))

/** Requests a resend of any delivery. Half of the time, of one that is leased, and so perhaps being attempted. */
const resend = (world: Simulation, engine: SimulatedEngine | undefined): void => {
  const { rng } = world
  const any = world.delivery(between(rng, 1, 100)) ?? undefined
  const delivery = happens(rng, 0.5) ? (oneOf(rng, world.leased()) ?? any) : any
  if (engine === undefined || delivery === undefined) return
  world.run(
    engine,
    world.nextOperation(),
    { type: "resend", delivery_id: delivery.id },
    Deliveries.use((deliveries) => deliveries.resend(delivery.id))
  )
}

const recover = (world: Simulation, engine: SimulatedEngine | undefined): void => {
  const integration = anyIntegration(world)
  if (engine === undefined || integration === null) return
  const since = world.time.wall - between(world.rng, 0, 60_000)
  world.run(
    engine,
    world.nextOperation(),
    { type: "recover", integration_id: integration.id },
    Deliveries.use((deliveries) => deliveries.recover(integration.id, since))
  )
}

/** Pause between two searches for an integration to probe, in milliseconds, and the maximum number of searches. */
const looking = { pause: 3_000, most: 15 }

/**
 * Waits for an integration that doorhook disabled, and probes it. If there is none after the last search, probes any
 * integration.
 */
const probe = (world: Simulation, engine: SimulatedEngine | undefined, looks = 1): void => {
  const { rng, time } = world
  const all = Array.from({ length: 8 }, (_, at) => world.integration(at + 1)).flatMap((found) => found ?? [])
  const disabled = all.filter(({ disabled_reason }) => disabled_reason !== null && disabled_reason !== "manual")
  if (disabled.length === 0 && looks < looking.most && happens(rng, 0.9)) {
    time.after(looking.pause, () => probe(world, oneOf(rng, world.ready), looks + 1))
    return
  }
  const integration = oneOf(rng, disabled.length === 0 ? all : disabled)
  if (engine === undefined || integration === undefined) return
  world.run(
    engine,
    world.nextOperation(),
    { type: "probe", integration_id: integration.id },
    OperatorIntegrations.use((operator) => operator.probe(integration.id))
  )
}

/** Overrides the retry schedule or the acknowledgement rule of an integration, or removes its overrides. */
const override = (world: Simulation, engine: SimulatedEngine | undefined): void => {
  const { rng, scenario } = world
  const integration = anyIntegration(world)
  const delays = oneOf(rng, scenario.overrides)
  if (engine === undefined || integration === null || delays === undefined) return
  const overrides: NonNullable<IntegrationSwitches["overrides"]> = happens(rng, 0.3)
    ? {}
    : {
        ...(happens(rng, 0.6) && { acknowledge: pick(rng, ["2xx", "2xx", "200"]) }),
        ...(happens(rng, 0.6) && { retry: { access_log: delays, ...(happens(rng, 0.5) && { call: [400, 400] }) } })
      }
  const switches: IntegrationSwitches = happens(rng, 0.1) ? { overrides, status: "enabled" } : { overrides }
  world.run(
    engine,
    world.nextOperation(),
    { type: "switch", integration_id: integration.id, change: JSON.stringify(switches) },
    OperatorIntegrations.use((operator) => operator.set(integration.id, switches))
  )
}

/** Reads the feed of an integration by cursor, from the beginning until the simulation ends. */
const follow = (world: Simulation): void => {
  const { history, rng, scenario, time } = world
  const integration = anyIntegration(world)
  const place = integration === null ? undefined : placeOf(world, integration.scope)
  if (integration === null || place === undefined) return
  const reader = world.nextOperation()
  const limit = pick(rng, [1, 3, 50])
  const actor = actorOf(place)
  const feed = { scope: place.scope, integration: integration.id }
  let cursor: FeedCursor | null = null

  const readAfter = (millis: number): void => {
    time.after(millis, read)
  }
  const pause = () => between(rng, scenario.reading.least, scenario.reading.most)
  const read = (): void => {
    const engine = oneOf(rng, world.ready)
    if (engine === undefined) return readAfter(pause())
    const op = world.nextOperation()
    const from = cursor
    const after = from?.position ?? 0
    const page = Feeds.use((feeds) => feeds.read(actor, feed, from === null ? "first" : { after: from }, { limit }))
    world.run(engine, op, { type: "feed", integration_id: integration.id, after }, page, (ending) => {
      if (ending.kind !== "ok") return readAfter(pause())
      const { cursor: reached, items, more } = ending.value
      const ids = items.flatMap(({ delivery }) => delivery?.id ?? [])
      const read = { ids, cursor: reached.position, more }
      history.add({ kind: "feed_read", op, reader, integration_id: integration.id, after, ...read })
      cursor = reached
      return readAfter(more ? 10 : pause())
    })
  }
  read()
}
