/**
 * Hosts that publish events: some once and for all, some with an idempotency key and until they have an answer.
 */
import type { NewEvent } from "@doorhook/core"
import { JsonText, Publisher } from "@doorhook/core"
import type { Engine } from "../Engine.ts"
import type { Simulation } from "../Simulation.ts"
import { between, happens, oneOf, pick } from "../world/Draw.ts"
import { persistently } from "./Persistence.ts"

/** Text that comes out differently when it is parsed and written again. */
const dataOf = (number: number): JsonText.JsonText =>
  JsonText.JsonText.make(`{ "id":${number},"precise":1.0,"long":12345678901234567890,"ünï":"\\u00e9" }`)

/** Events that no other call publishes. */
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

export const publish = (world: Simulation, engine: Engine | undefined, count: number): void => {
  if (engine === undefined) return
  const op = world.nextOperation()
  const events = eventsOf(world, op, count)
  engine.run(
    op,
    { type: "publish", events, key: null },
    Publisher.use((publisher) => publisher.publish(events))
  )
}

/** Events that come in just when an integration is changed, or when the store fails. */
export const publishAround = (world: Simulation): void => {
  const { rng, scenario, time } = world
  for (const millis of [0, scenario.storeLatency, 2 * scenario.storeLatency]) {
    time.after(millis, () => publish(world, oneOf(rng, world.ready), between(rng, 1, 5)))
  }
}

/** Events that a host sends until it is answered, and again for no reason: at once, or later, to any process. */
export const publishWithKey = (world: Simulation): void => {
  const { rng, scenario } = world
  const number = world.nextOperation()
  const key = `host ${number}`
  const send = (events: ReadonlyArray<NewEvent>, fingerprint: string, delay: number) =>
    persistently(world, delay, (engine, whenEnded) =>
      engine.run(
        world.nextOperation(),
        { type: "publish", events, key },
        Publisher.use((publisher) => publisher.publish(events, { key, fingerprint })),
        whenEnded
      )
    )
  const events = eventsOf(world, number, between(rng, 1, 5))
  const later = () => between(rng, scenario.repeat.least, scenario.repeat.most)
  send(events, `${number}`, 0)
  for (let again = between(rng, 0, 3); again > 0; again--) send(events, `${number}`, happens(rng, 0.5) ? 0 : later())
  if (happens(rng, 0.2)) {
    const other = world.nextOperation()
    send(eventsOf(world, other, 1), `${other}`, happens(rng, 0.5) ? 0 : later())
  }
}
