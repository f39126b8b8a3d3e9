/**
 * Races to the last byte: what tells a receiver that looks first and notes later, though there be a single turn of its
 * event loop between the two.
 *
 * All copies of an event are sent but for their last bytes, and then all last bytes in one turn. The receiver wakes for
 * the first that arrives, and would be done with it before it looks for more; so the copies come behind some other
 * events, which it is busy with while the copies arrive, and it finds all of them at its next look.
 *
 * What counts is what was done in the end. A receiver that takes few connections at once may lose some that wait half
 * sent, which says nothing of how it handles copies.
 */
import { Effect } from "effect"
import { accessLog } from "../history/Events.ts"
import type { EventTemplate } from "../history/History.ts"
import { retry } from "../history/History.ts"
import { makeBarrier } from "./Barrier.ts"
import type { Stage } from "./Stage.ts"
import { plainForm } from "./Wire.ts"

/** Events ahead of the copies. With none, three races of four come to nothing; with four, one of ten. */
const ahead = 4

/** What part of the time that filling may take is for one case of races. */
const share = 0.5

/** One event in so many copies. */
const volley = Effect.fnUntraced(function* (stage: Stage, event: EventTemplate, copies: number, op: number) {
  const others = yield* Effect.forEach(Array.from({ length: ahead }), () =>
    stage.mint(accessLog, { bulk: true, referable: false })
  )
  const raced = yield* stage.mint(event, { referable: false })
  const barrier = makeBarrier(ahead + copies)
  const prepared = yield* Effect.forEach([...others, ...Array.from({ length: copies }, () => raced)], (actor) =>
    Effect.map(stage.prepare(actor, actor.sent === 0 ? [] : retry), (request) => ({ actor, request }))
  )
  yield* Effect.forEach(
    prepared,
    ({ actor, request }, place) =>
      stage.sendForm(actor, request, { ...plainForm, held: { barrier, place } }, { op, kind: "load", once: true }),
    { concurrency: "unbounded", discard: true }
  )
})

/** So many events, one after the other; fewer where the time for it is up. */
export const volleys = Effect.fnUntraced(function* (
  stage: Stage,
  event: EventTemplate,
  copies: number,
  rounds: number,
  op: number
) {
  // An idle connection must not keep a receiver that serves one at a time from its others.
  yield* stage.renew
  const until = stage.now() + stage.setting.fillerTime * share
  let made = 0
  while (made < rounds && stage.now() < until) {
    yield* volley(stage, event, copies, op)
    made++
  }
  stage.fallShort({ op, what: "events", done: made, of: rounds })
})
