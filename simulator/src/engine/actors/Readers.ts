/**
 * Receivers that follow the feed of an integration, so that they miss nothing that was not delivered to them.
 */
import type { DeliveryId } from "@doorhook/core"
import { IntegrationFeed } from "@doorhook/core"
import { Effect } from "effect"
import type { Simulation } from "../Simulation.ts"
import { between, oneOf, pick } from "../world/Draw.ts"
import { actorOf, anyIntegration, placeOf } from "./Managers.ts"

/** Follows an integration from the beginning, by cursor, to the end of the simulation. */
export const follow = (world: Simulation): void => {
  const { history, rng, scenario, time } = world
  const integration = anyIntegration(world)
  const place = integration === null ? undefined : placeOf(world, integration.scope)
  if (integration === null || place === undefined) return
  const reader = world.nextOperation()
  const limit = pick(rng, [1, 3, 50])
  const actor = actorOf(place)
  let cursor: DeliveryId | 0 = 0

  const readAfter = (millis: number): void => {
    time.after(millis, read)
  }
  const pause = () => between(rng, scenario.reading.least, scenario.reading.most)
  const read = (): void => {
    const engine = oneOf(rng, world.ready)
    if (engine === undefined) return readAfter(pause())
    const op = world.nextOperation()
    const after = cursor
    const page = IntegrationFeed.use((feed) => feed.read(actor, integration.scope, integration.id, { after, limit }))
    engine.run(
      op,
      { type: "feed", integration_id: integration.id, after },
      Effect.map(page, ({ items, ...rest }) => ({ ids: items.map(({ delivery }) => delivery.id), ...rest })),
      (ending) => {
        if (ending.kind !== "ok") return readAfter(pause())
        history.add({ kind: "fed", op, reader, integration_id: integration.id, after, ...ending.value })
        cursor = ending.value.cursor
        return readAfter(ending.value.more ? 10 : pause())
      }
    )
  }
  read()
}
