/**
 * A move in a process of its own, which kills itself at a given moment: before or after a call of one of the databases.
 * Arguments: the source, the target, the number of the moment, and the buildings, or all. Prints how many moments the
 * move has.
 */
import { Move } from "@doorhook/sql"
import type { BuildingSide } from "@doorhook/sql"
import { Effect } from "effect"
import { buildingMove, sourceAt, targetAt } from "./MoveSides.ts"

const [from = "", to = "", killAt = "0", buildings = "all"] = process.argv.slice(2)
let moments = 0

const moment = Effect.sync(() => {
  moments += 1
  if (moments === Number(killAt)) process.kill(process.pid, "SIGKILL")
})

const around = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.andThen(
    moment,
    Effect.tap(call, () => moment)
  )

const mortal = (side: BuildingSide): BuildingSide => ({
  name: side.name,
  hold: side.hold,
  end: (...given) => around(side.end(...given)),
  read: (...given) => around(side.read(...given)),
  replace: (...given) => around(side.replace(...given)),
  mark: (...given) => around(side.mark(...given)),
  setMark: (...given) => around(side.setMark(...given)),
  filled: around(side.filled),
  numbers: around(Effect.suspend(() => side.numbers)),
  startAt: (...given) => around(side.startAt(...given)),
  begin: () => around(side.begin()),
  finish: (...given) => around(side.finish(...given)),
  choose: (...given) => around(side.choose(...given)),
  tenants: around(Effect.suspend(() => side.tenants)),
  integrations: around(Effect.suspend(() => side.integrations)),
  // No process uses the databases.
  noticed: moment,
  whileLeaving: (work) => around(side.whileLeaving(around(work))),
  fence: around(Effect.suspend(() => side.fence)),
  release: Effect.suspend(() => side.release),
  atomically: (work) => around(side.atomically(around(work))),
  merge: (...given) => around(side.merge(...given)),
  follow: (...given) => around(side.follow(...given)),
  whileStopped: (work, ...given) => around(side.whileStopped(around(work), ...given))
})

const counts = await Effect.runPromise(
  Effect.gen(function* () {
    const [source, target] = [yield* sourceAt(from), yield* targetAt(to)]
    return yield* buildings === "all"
      ? new Move(mortal(source), mortal(target), () => Effect.void).run()
      : buildingMove(mortal(source), mortal(target), buildings).run()
  }).pipe(Effect.scoped)
)
process.stdout.write(JSON.stringify({ moments, counts }))
