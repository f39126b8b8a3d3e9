/**
 * Operations that deliver: again and again, several times at once, many, or events with nearly equal ids.
 */
import { Effect } from "effect"
import { leastElapsed } from "../evidence/Exchange.ts"
import { accessLog, call, changeAt, Minting, plainEvents, twins, withMember } from "../history/Events.ts"
import type { EventTemplate, TwinKind } from "../history/Events.ts"
import { hashOf, object, string } from "../history/Json.ts"
import type { OperationOf } from "../history/Operations.ts"
import { retry } from "../history/Variations.ts"
import type { Variation } from "../history/Variations.ts"
import { makeBarrier } from "../http/Wire.ts"
import type { Connection } from "../http/Wire.ts"
import { certainlyInTime, patienceOf, read } from "../judgement/Terms.ts"
import type { Terms } from "../judgement/Terms.ts"
import { fallShort, markProvisional, mint, most, Slots } from "./Execution.ts"
import type { Actor, Execution } from "./Execution.ts"
import { atOnce, prepare, send, sendRequest } from "./Send.ts"

/** Sends copies of an event at once, each over its own connection. */
export const race = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  { copies }: { readonly copies: number },
  op: number
) {
  const slots = yield* Slots
  const count = Math.min(copies, most)
  const first = actor.sent === 0
  const copy = (own: Connection, index: number) =>
    send(execution, actor, index === 0 && first ? [] : retry, { op, raced: true, first, slot: "own" }, own)
  yield* slots.take(count)(atOnce(execution, count, copy))
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
export const retryUntil = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  _: unknown,
  op: number,
  over = execution.connection
) {
  const { terms } = execution.setting
  const how: ReadonlyArray<Variation> = actor.sent === 0 ? [] : retry
  for (const pause of [...pausesFor(terms), null]) {
    const exchange = yield* send(execution, actor, how, { op }, over)
    const reading = read(exchange, terms)
    if (reading === "acknowledged" || reading === "late" || pause === null) return
    markProvisional(execution, actor)
    yield* Effect.sleep(pause)
  }
})

/** How many events are retried at once: doorhook has retries of several under way, too. */
const retriesAtOnce = 3

/** Retries every event that was not acknowledged. */
export const retryOpen = Effect.fnUntraced(function* (
  execution: Execution,
  operation: OperationOf<"retry_open">,
  op: number
) {
  const open = execution.actors.filter(({ acknowledged }) => !acknowledged)
  const worker = Effect.fnUntraced(function* (own: Connection) {
    for (let actor = open.shift(); actor !== undefined; actor = open.shift()) {
      yield* retryUntil(execution, actor, operation, op, own)
    }
  })
  yield* atOnce(execution, Math.min(retriesAtOnce, open.length), worker)
})

/** Mints events that are there for others' sake; each with texts of its own, so that one that is stored with another's shows. */
const mintOther = (execution: Execution, index: number) => {
  const kinds = plainEvents(execution.setting.bindings)
  const named = withMember(kinds[index % kinds.length] ?? accessLog, "name", string(`Guest ${index + 1}`))
  const event = withMember(
    named,
    "unit",
    object([
      ["id", String(index + 1)],
      ["label", string(`${index + 1}B`)]
    ])
  )
  return mint(execution, event, { bulk: true, referable: false })
}

/** Sends many new events, several at once, until they are sent or the time for it is up. */
export const fill = Effect.fnUntraced(function* (execution: Execution, { count }: OperationOf<"filler">, op: number) {
  const { now } = execution.setting
  const until = now() + execution.occasion.fillerTime
  let made = 0
  const worker = Effect.fnUntraced(function* (own: Connection) {
    while (made < count && now() < until) {
      const actor = yield* mintOther(execution, made++)
      const exchange = yield* send(execution, actor, [], { op }, own)
      // A receiver that hangs costs a deadline each time.
      if (leastElapsed(exchange) > execution.setting.terms.deadline) return
    }
  })
  yield* atOnce(execution, Math.min(most, count), worker)
  fallShort(execution, { op, what: "events", done: made, of: count })
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
export const load = Effect.fnUntraced(function* (
  execution: Execution,
  { factor, ms }: OperationOf<"load">,
  op: number
) {
  const { setting } = execution
  const { now, terms } = setting
  const rate = setting.peakRate * factor
  const total = Math.ceil((rate * ms * setting.pace) / 1_000)
  fallShort(execution, { op, what: "load", done: ms * setting.pace, of: ms })
  const begun = now()
  const due = (index: number): number => begun + (index * 1_000) / rate
  const needed = Math.min(Math.ceil(rate * (terms.deadline / 1_000)), total)
  const usual = Math.ceil((rate * slack * setting.typical()) / 1_000)
  const lacksConnections = Math.min(needed, usual) > mostConnections
  const [inTime, late] = [certainlyInTime(terms), patienceOf(terms)]
  let next = 0
  let heldUp = 0
  const worker = Effect.fnUntraced(function* (own: Connection) {
    while (next < total) {
      const index = next++
      const actor = yield* mintOther(execution, index)
      const early = due(index) - now()
      if (early > 0) yield* Effect.sleep(early)
      const overdue = Math.max(0, now() - due(index))
      const exchange = yield* send(execution, actor, [], { op, kind: "load", overdue, slot: "beyond" }, own)
      // One that answers in time could have done so when it was due, had there been another connection.
      if (lacksConnections && exchange.elapsed - overdue <= inTime && leastElapsed(exchange) > late) heldUp += 1
    }
  })
  yield* atOnce(execution, Math.max(1, Math.min(mostConnections, needed)), worker)
  fallShort(execution, { op, what: "connections", done: total - heldUp, of: total })
})

/** Events ahead of the copies of a volley. With none, three races of four come to nothing; with four, one of ten. */
const ahead = 4

/** What part of the time that filling may take is for one case of races. */
const share = 0.5

/**
 * One event in several copies, to the last byte: what shows a receiver that looks first and notes later, though there be
 * a single turn of its event loop between the two.
 *
 * All copies are sent but for their last bytes, and then all last bytes in one turn. The receiver wakes for the first
 * that arrives, and would be done with it before it looks for more; so the copies come behind some other events, which it
 * is busy with while the copies arrive, and it finds all of them at its next look.
 *
 * What counts is what was done in the end. A receiver that takes few connections at once may lose some that wait half
 * sent, which says nothing of how it handles copies.
 */
const volley = Effect.fnUntraced(function* (
  execution: Execution,
  { copies, event }: OperationOf<"volleys">,
  op: number
) {
  const slots = yield* Slots
  const before = Math.max(0, Math.min(ahead, most - copies))
  const others = yield* Effect.forEach(Array.from({ length: before }), (_, index) => mintOther(execution, index))
  const raced = yield* mint(execution, event, { referable: false })
  const actors = [...others, ...Array.from({ length: Math.min(copies, most) }, () => raced)]
  const barrier = makeBarrier(actors.length)
  const about = { op, kind: "load", once: true, slot: "own" } as const
  const one = Effect.fnUntraced(function* (own: Connection, place: number) {
    const actor = actors[place]
    if (actor === undefined) return
    const request = yield* prepare(execution, actor)
    yield* sendRequest(execution, actor, request, { held: { barrier, place } }, about, own)
  })
  yield* slots.take(actors.length)(atOnce(execution, actors.length, one))
})

/** Events, one after the other, each in copies; fewer where the time for it is up. */
export const volleys = Effect.fnUntraced(function* (
  execution: Execution,
  operation: OperationOf<"volleys">,
  op: number
) {
  const { now } = execution.setting
  const until = now() + execution.occasion.fillerTime * share
  let made = 0
  while (made < operation.rounds && now() < until) {
    yield* volley(execution, operation, op)
    made++
  }
  fallShort(execution, { op, what: "events", done: made, of: operation.rounds })
})

/** The first pair of equal 32 bits is found after some 80,000 candidates; hardly ever are this many in vain. */
const candidates = 400_000
const candidatesAtOnce = 1_000

const first32Bits = (algorithm: string) => (text: string) => Number.parseInt(hashOf(algorithm, text).slice(0, 8), 16)

const fnv1a = (text: string): number => {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value
}

/** Candidates differ in eight characters: FNV-1a has no two ids alike that differ in the last four alone. */
const four = 36 ** 4
const spread = 7_919
const digits = (number: number): string => number.toString(36).padStart(4, "0")

/** Two ids with the same hash; null when chance has none. */
const collision = Effect.fnUntraced(function* (stem: string, digest: (text: string) => number) {
  const idOf = (at: number): string => stem + digits(at) + digits((at * spread) % four)
  const seen = new Map<number, number>()
  for (let from = 0; from < candidates; from += candidatesAtOnce) {
    for (let at = from; at < from + candidatesAtOnce; at++) {
      const value = digest(idOf(at))
      const known = seen.get(value)
      if (known !== undefined) return [idOf(known), idOf(at)] as const
      seen.set(value, at)
    }
    yield* Effect.yieldNow
  }
  return null
})

/** Endings that make no difference, whatever stands before them: to CRC-32, and to Java's `String.hashCode`. */
const sameEndings = [
  ["0xdhqnv1", "dtbp0059"],
  ["an", "c0"]
] as const

const colliding = Effect.fnUntraced(function* (execution: Execution, template: EventTemplate) {
  const minting = yield* Minting
  const actors: Array<Actor> = []
  const add = Effect.fnUntraced(function* (webhookId: string) {
    actors.push(yield* mint(execution, template, { webhookId }))
  })
  for (const digest of [first32Bits("sha256"), first32Bits("md5"), fnv1a]) {
    const fresh = yield* minting.webhookId
    const ids = yield* collision(fresh.slice(0, -8), digest)
    yield* Effect.forEach(ids ?? [fresh, changeAt(fresh, -1)], add, { discard: true })
  }
  for (const endings of sameEndings) {
    const fresh = yield* minting.webhookId
    yield* Effect.forEach(endings, (ending) => add(fresh.slice(0, -ending.length) + ending), { discard: true })
  }
  return actors
})

/** Mints twins of a kind: equal in everything but what the kind says. */
export const mintTwins = Effect.fnUntraced(function* (execution: Execution, template: EventTemplate, kind: TwinKind) {
  const { make } = twins[kind]
  if (make === null) return yield* colliding(execution, template)
  const minting = yield* Minting
  const guid = yield* minting.guid
  const dataId = String(yield* minting.dataId)
  // The next number is the twin's, and must not be given to another event.
  yield* minting.dataId
  const now = Date.parse("2026-03-02T08:00:00Z") + (Number(dataId) % 1_000_000)
  const pair = make({ dataId, webhookId: yield* minting.webhookId, other: yield* minting.webhookId })
  return yield* Effect.forEach(pair, ({ otherType, ...ids }) => {
    const other = template.resource_type === call.resource_type ? accessLog : call
    return mint(execution, otherType === true ? other : template, { ...ids, guid, now })
  })
})
