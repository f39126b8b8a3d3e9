/**
 * What somebody does who needs an answer: the same again, of any process, until there is one.
 */
import type { Ending, Engine } from "../Engine.ts"
import type { Simulation } from "../Simulation.ts"
import { between, oneOf } from "../world/Draw.ts"

/** Between an unknown end and the next try, in milliseconds. */
const patience = { least: 50, most: 4_000 }

export const persistently = (
  world: Simulation,
  delay: number,
  ask: (engine: Engine, whenEnded: (ending: Ending<unknown>) => void) => void
): void => {
  const { rng, time } = world
  const again = () => between(rng, patience.least, patience.most)
  time.after(delay, () => {
    const engine = oneOf(rng, world.ready)
    if (engine === undefined) return persistently(world, again(), ask)
    ask(engine, (ending) => (ending.kind !== "ok" && ending.isOpen ? persistently(world, again(), ask) : undefined))
  })
}
