/**
 * Operations that deliver: once, again, several times at once, many.
 */
import { Effect } from "effect"
import { read } from "../checks/Reading.ts"
import { certainlyInTime, patienceOf } from "../checks/Terms.ts"
import type { Terms } from "../checks/Terms.ts"
import { accessLog, call } from "../history/Events.ts"
import type { EventTemplate, Variation } from "../history/History.ts"
import { retry } from "../history/History.ts"
import { open } from "./Connection.ts"
import type { Actor, Stage } from "./Stage.ts"

/** Sends so many copies of an event at once, each over its own connection. */
export const race = Effect.fnUntraced(function* (stage: Stage, actor: Actor, copies: number, op: number) {
  // An idle connection must not keep a receiver that serves one at a time from its others.
  yield* stage.renew
  const first = actor.sent === 0
  const copy = (index: number) =>
    Effect.scoped(
      Effect.flatMap(open(stage.setting.url), (own) =>
        stage.send(actor, index === 0 && first ? [] : retry, { op, raced: true, first }, own)
      )
    )
  yield* Effect.forEach(
    Array.from({ length: copies }, (_, index) => index),
    copy,
    {
      concurrency: "unbounded",
      discard: true
    }
  )
})

const growing = [50, 100, 200, 400, 800, 1_600]
const leastLast = 2_500
const allGrowing = growing.reduce((sum, pause) => sum + pause, 0)
/** How long after the deadline of an attempt before the last one is made, in milliseconds. */
const afterDeadline = 500

/**
 * Pauses between retries of an event that is not acknowledged, in milliseconds: they last for longer than an attempt
 * before them may.
 */
export const pausesFor = (terms: Terms): ReadonlyArray<number> => [
  ...growing,
  Math.max(leastLast, patienceOf(terms) + afterDeadline - allGrowing)
]

/**
 * Sends an event until it is acknowledged. A receiver may refuse an event while an earlier attempt of it still runs, so
 * that only the last refusal counts, which comes after the deadline of any attempt before.
 */
export const retryUntil = Effect.fnUntraced(function* (stage: Stage, actor: Actor, op: number) {
  const how: ReadonlyArray<Variation> = actor.sent === 0 ? [] : retry
  for (const pause of [...pausesFor(stage.setting.terms), null]) {
    const exchange = yield* stage.send(actor, how, { op })
    const reading = read(exchange, stage.setting.terms)
    if (reading === "acknowledged" || reading === "late" || pause === null) return
    stage.markProvisional(actor)
    yield* Effect.sleep(pause)
  }
})

const fillers: ReadonlyArray<EventTemplate> = [accessLog, accessLog, call, accessLog]

/** What doorhook sends to one integration at once, at most. */
const senders = 10

/** Sends many new events, several at once, until they are sent or the time for it is up. */
export const fill = Effect.fnUntraced(function* (stage: Stage, count: number, op: number) {
  const until = stage.now() + stage.setting.fillerTime
  let made = 0
  const worker = Effect.scoped(
    Effect.gen(function* () {
      const own = yield* open(stage.setting.url)
      while (made < count && stage.now() < until) {
        const template = fillers[made++ % fillers.length] ?? accessLog
        const actor = yield* stage.mint(template, { bulk: true, referable: false })
        const exchange = yield* stage.send(actor, [], { op }, own)
        // A receiver that hangs costs a deadline each time.
        if (exchange.elapsed > stage.setting.terms.deadline) return
      }
    })
  )
  yield* stage.renew
  yield* Effect.forEach(Array.from({ length: senders }), () => worker, { concurrency: "unbounded", discard: true })
  stage.fallShort({ op, what: "events", done: made, of: count })
})

/** The most connections that a load is sent over. */
const mostConnections = 200
/** How many times as long as alone a receiver may take under load, and still not have fallen behind for all that is known. */
const slack = 2

/**
 * Sends events at a rate, whatever the receiver makes of it: each at its time, timed from then, so that a receiver that
 * falls behind can't slow down the questions (no coordinated omission). What the suite's connections can't carry is not
 * its fault: a rate that takes more of them than there are while it is about as quick as without a load.
 */
export const load = Effect.fnUntraced(function* (stage: Stage, factor: number, ms: number, op: number) {
  const rate = stage.setting.peakRate * factor
  const total = Math.ceil((rate * ms * stage.setting.pace) / 1_000)
  stage.fallShort({ op, what: "load", done: ms * stage.setting.pace, of: ms })
  const begun = stage.now()
  const due = (index: number): number => begun + (index * 1_000) / rate
  const needed = Math.min(Math.ceil(rate * (stage.setting.terms.deadline / 1_000)), total)
  const usual = Math.ceil((rate * slack * stage.setting.typical()) / 1_000)
  const lacksConnections = Math.min(needed, usual) > mostConnections
  const [inTime, late] = [certainlyInTime(stage.setting.terms), patienceOf(stage.setting.terms)]
  let next = 0
  let heldUp = 0
  const worker = Effect.scoped(
    Effect.gen(function* () {
      const own = yield* open(stage.setting.url)
      while (next < total) {
        const index = next++
        const actor = yield* stage.mint(fillers[index % fillers.length] ?? accessLog, { bulk: true, referable: false })
        const early = due(index) - stage.now()
        if (early > 0) yield* Effect.sleep(early)
        const overdue = Math.max(0, stage.now() - due(index))
        const { elapsed } = yield* stage.send(actor, [], { op, kind: "load", overdue }, own)
        // Who answers in time could have done so when it was due, had there been another connection.
        if (lacksConnections && elapsed <= inTime && elapsed + overdue > late) heldUp += 1
      }
    })
  )
  yield* stage.renew
  const workers = Math.max(1, Math.min(mostConnections, needed))
  yield* Effect.forEach(Array.from({ length: workers }), () => worker, { concurrency: "unbounded", discard: true })
  stage.fallShort({ op, what: "connections", done: total - heldUp, of: total })
})
