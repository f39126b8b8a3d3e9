/**
 * Operations that deliver events: retries, several copies at the same time, many events, and events with nearly equal
 * ids.
 */
import { Effect, Latch, Option } from "effect"
import { leastElapsed } from "../evidence/Exchange.ts"
import { accessLog, call, changeAt, EventFactory, plainEvents, twins, withMember } from "../history/Events.ts"
import type { EventTemplate, TwinKind } from "../history/Events.ts"
import { hashOf, object, string } from "../history/Json.ts"
import type { OperationOf } from "../history/Operations.ts"
import { retry } from "../history/Variations.ts"
import type { Variation } from "../history/Variations.ts"
import { makeBarrier, open, openEcho } from "../http/Wire.ts"
import type { Connection } from "../http/Wire.ts"
import { certainlyInTime, classify, patienceOf, restsOnTime } from "../judgement/Criteria.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import { noteShortfall, markProvisional, createEvent } from "./Execution.ts"
import type { Actor, Execution } from "./Execution.ts"
import { atOnce, prepare, send, sendRequest } from "./Send.ts"
import { maxInFlight } from "./Slots.ts"

/** Sends copies of an event at the same time, each over its own connection. */
export const race = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  { copies }: { readonly copies: number },
  op: number
) {
  const count = Math.min(copies, maxInFlight)
  const first = actor.sent === 0
  const copy = (own: Connection, index: number) =>
    send(execution, actor, index === 0 && first ? [] : retry, { op, raced: true, first, slot: "own" }, own)
  yield* execution.setting.slots.together(count, atOnce(execution, count, copy))
})

const growing = [50, 100, 200, 400, 800, 1_600]
const leastLast = 2_500
const allGrowing = growing.reduce((sum, pause) => sum + pause, 0)
/** Minimum pause between the deadline of an attempt and the last retry, in milliseconds. */
const afterDeadline = 500

/** Pauses between retries, in milliseconds. Together they are longer than the deadline of an attempt. */
export const pausesFor = (criteria: Criteria): ReadonlyArray<number> => [
  ...growing,
  Math.max(leastLast, patienceOf(criteria) + afterDeadline - allGrowing)
]

/**
 * Sends an event until it is acknowledged. A receiver may refuse the event while it still handles an earlier attempt.
 * The last retry is sent after the deadline of all earlier attempts, and only its refusal counts.
 */
export const retryUntil = Effect.fnUntraced(function* (
  execution: Execution,
  actor: Actor,
  _: unknown,
  op: number,
  over = execution.connection
) {
  const { criteria } = execution.setting
  const how: ReadonlyArray<Variation> = actor.sent === 0 ? [] : retry
  for (const pause of [...pausesFor(criteria), null]) {
    const exchange = yield* send(execution, actor, how, { op }, over)
    const answer = classify(exchange, criteria)
    if (answer === "acknowledged" || answer === "late" || pause === null) return
    markProvisional(execution, actor)
    yield* Effect.sleep(pause)
  }
})

/** Number of events retried at the same time. doorhook also retries several at a time. */
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

/** Creates a filler event with unique texts, to detect a receiver that stores it with another event's data. */
const createFiller = (execution: Execution, index: number) => {
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
  return createEvent(execution, event, { bulk: true, referable: false })
}

/** Sends many new events, several at the same time, until all are sent or the time is up. */
export const fill = Effect.fnUntraced(function* (execution: Execution, { count }: OperationOf<"filler">, op: number) {
  const { now } = execution.setting
  const until = now() + execution.context.fillerTime
  let made = 0
  const worker = Effect.fnUntraced(function* (own: Connection) {
    while (made < count && now() < until) {
      const actor = yield* createFiller(execution, made++)
      const exchange = yield* send(execution, actor, [], { op }, own)
      // If the receiver hangs, each further event would take as long as the deadline.
      if (leastElapsed(exchange) > execution.setting.criteria.deadline) return
    }
  })
  yield* atOnce(execution, Math.min(maxInFlight, count), worker)
  noteShortfall(execution, { op, what: "events", done: made, of: count })
})

/** Maximum number of connections for a load. */
const mostConnections = 200
/** Maximum number of events to send again after a limit of the receiver refused them. */
const mostRefused = 12
/** Pause between measurements of the suite's own delay, in milliseconds. */
const betweenEchoes = 100
/** A receiver may still be keeping up if its answers take up to this multiple of their usual time. */
const slack = 2

/**
 * Sends events at a rate. Each event is sent when it is due and timed from that moment, so that a slow receiver can't
 * slow down the sender (no coordinated omission). If the rate needs more connections than the suite has, events that
 * are late for lack of a connection are counted as held up. The receiver is not at fault for these, nor for the time
 * that the suite itself takes to send an event. Events that a limit of the receiver refuses are sent again at its pace;
 * a sample shows whether it then acknowledges them.
 */
export const load = Effect.fnUntraced(function* (
  execution: Execution,
  { factor, ms }: OperationOf<"load">,
  op: number
) {
  const { setting } = execution
  const { now, criteria } = setting
  const asked = setting.peakRate * factor
  const rate = Math.min(asked, setting.maxRate ?? Infinity)
  noteShortfall(execution, { op, what: "rate", done: rate, of: asked })
  const total = Math.ceil((rate * ms * setting.pace) / 1_000)
  noteShortfall(execution, { op, what: "load", done: ms * setting.pace, of: ms })
  const begun = now()
  const due = (index: number): number => begun + (index * 1_000) / rate
  const needed = Math.min(Math.ceil(rate * (criteria.deadline / 1_000)), total)
  const usual = Math.ceil((rate * slack * setting.typical()) / 1_000)
  const lacksConnections = Math.min(needed, usual) > mostConnections
  const [inTime, late] = [certainlyInTime(criteria), patienceOf(criteria)]
  const refused: Array<Actor> = []
  /** Events whose answers may be late only because they waited for a free connection. */
  const waited = new Set<number>()
  let next = 0
  const worker = Effect.fnUntraced(function* (own: Connection) {
    while (next < total) {
      const index = next++
      const overdue = Math.max(0, now() - due(index))
      const actor = yield* createFiller(execution, index)
      yield* Effect.sleep(Math.max(0, due(index) - now()))
      const exchange = yield* send(
        execution,
        actor,
        [],
        { op, kind: "load", overdue, slot: "beyond", limit: 2 * late },
        own
      )
      if (lacksConnections && exchange.elapsed - overdue <= inTime) waited.add(actor.event)
      if (execution.attempts.findLast(({ event }) => event === actor.event)?.limit) refused.push(actor)
    }
  })
  let slowestEcho = 0
  const measure = Effect.gen(function* () {
    const echo = yield* openEcho
    while (true) {
      slowestEcho = Math.max(slowestEcho, yield* echo)
      yield* Effect.sleep(betweenEchoes)
    }
  })
  const workers = atOnce(execution, Math.max(1, Math.min(mostConnections, needed)), worker)
  yield* Effect.raceFirst(workers, Effect.scoped(measure))
  // A busy machine may have delayed each late answer for as long as an echo.
  for (const [place, attempt] of execution.attempts.entries()) {
    const { exchange } = attempt
    if (attempt.op !== op || !restsOnTime(classify(exchange, criteria))) continue
    const stalled = Math.max(exchange.elapsed - leastElapsed(exchange), Math.round(slowestEcho))
    execution.attempts[place] = { ...attempt, exchange: { ...exchange, stalled } }
  }
  const heldUp = execution.attempts.filter(
    ({ event, exchange }) => waited.has(event) && leastElapsed(exchange) > late
  ).length
  for (const actor of refused.slice(0, mostRefused)) yield* send(execution, actor, retry, { op, kind: "load" })
  noteShortfall(execution, { op, what: "connections", done: total - heldUp, of: total })
})

/**
 * Number of events sent ahead of the copies of a volley. Without such events, most volleys to an idle receiver miss the
 * fault that they test for.
 */
const ahead = 4

/** Share of the filler time that one case of volleys may take. */
const share = 0.5

/** Longest time that a connection stays open after its answer while other requests of a volley wait, in milliseconds. */
const longestIdle = 500

/** The connections of volleys. */
interface Kept {
  readonly connections: ReadonlyArray<Connection>
  /** False once the receiver seems to serve one connection only after another is closed. */
  areKept: boolean
}

/**
 * Sends several copies of one event so that all become complete at the same moment. This detects a receiver that checks
 * first and records later, even if only one turn of its event loop lies between the two steps.
 *
 * The copies are sent without their last bytes, and then all last bytes in one turn of the event loop. A receiver could
 * still finish the first copy before it reads the next. Therefore some other events are sent just before, to keep the
 * receiver busy while the copies arrive.
 *
 * Only the effects are judged, because a receiver that accepts few connections may drop half-sent requests. That says
 * nothing about how it handles copies.
 */
const volley = Effect.fnUntraced(function* (
  execution: Execution,
  { copies, event }: OperationOf<"volleys">,
  op: number,
  kept: Kept
) {
  const { connections } = kept
  const others = yield* Effect.forEach(Array.from({ length: connections.length - copies }), (_, index) =>
    createFiller(execution, index)
  )
  const raced = yield* createEvent(execution, event, { referable: false })
  const barrier = makeBarrier(connections.length)
  const answered = yield* Latch.make()
  let unanswered = connections.length
  const about = { op, kind: "load", once: true, slot: "own" } as const
  const sendOne = Effect.fnUntraced(function* (own: Connection, place: number) {
    const actor = others[place] ?? raced
    const request = yield* prepare(execution, actor)
    yield* sendRequest(execution, actor, request, { held: { barrier, place } }, about, own, true)
    unanswered -= 1
    if (unanswered === 0) yield* answered.open
    else if (kept.areKept && Option.isNone(yield* Effect.timeoutOption(answered.await, longestIdle)))
      kept.areKept = false
    if (!kept.areKept) yield* own.renew
  })
  const all = Effect.forEach(connections, sendOne, { concurrency: "unbounded" })
  yield* execution.setting.slots.together(connections.length, all)
})

/**
 * Sends volleys one after another until the time is up, all over the same connections. A busy receiver accepts few new
 * connections in one turn of its event loop, so the copies of a first volley may not arrive at the same moment.
 */
export const volleys = Effect.fnUntraced(function* (
  execution: Execution,
  operation: OperationOf<"volleys">,
  op: number
) {
  const { now, urls } = execution.setting
  const until = now() + execution.context.fillerTime * share
  yield* execution.connection.renew
  const connections = yield* Effect.forEach(
    Array.from({ length: Math.min(ahead + operation.copies, maxInFlight) }),
    () => open(urls[0])
  )
  const kept: Kept = { connections, areKept: true }
  let made = 0
  while (made < operation.rounds && now() < until) {
    yield* volley(execution, operation, op, kept)
    made++
  }
  noteShortfall(execution, { op, what: "events", done: made, of: operation.rounds })
}, Effect.scoped)

/**
 * Maximum number of ids to try. Among 80,000 ids there is usually a pair with equal 32-bit hashes, and among this many
 * ids almost always.
 */
const candidates = 400_000
const candidatesAtOnce = 1_000

const first32Bits = (algorithm: string) => (text: string) => Number.parseInt(hashOf(algorithm, text).slice(0, 8), 16)

const fnv1a = (text: string): number => {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value
}

/**
 * Candidates differ in eight characters, because FNV-1a has no collisions among ids that differ only in the last four.
 */
const four = 36 ** 4
const spread = 7_919
const digits = (number: number): string => number.toString(36).padStart(4, "0")

/** Finds two ids with the same hash; null if there is no such pair among the candidates. */
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

/**
 * Pairs of endings that collide after any common prefix: the first with CRC-32, the second with Java's
 * `String.hashCode`.
 */
const sameEndings = [
  ["0xdhqnv1", "dtbp0059"],
  ["an", "c0"]
] as const

const createColliding = Effect.fnUntraced(function* (execution: Execution, template: EventTemplate) {
  const factory = yield* EventFactory
  const actors: Array<Actor> = []
  const add = Effect.fnUntraced(function* (webhookId: string) {
    actors.push(yield* createEvent(execution, template, { webhookId }))
  })
  for (const digest of [first32Bits("sha256"), first32Bits("md5"), fnv1a]) {
    const fresh = yield* factory.webhookId
    const ids = yield* collision(fresh.slice(0, -8), digest)
    yield* Effect.forEach(ids ?? [fresh, changeAt(fresh, -1)], add, { discard: true })
  }
  for (const endings of sameEndings) {
    const fresh = yield* factory.webhookId
    yield* Effect.forEach(endings, (ending) => add(fresh.slice(0, -ending.length) + ending), { discard: true })
  }
  return actors
})

/** Creates twins of a kind: events with nearly equal ids. */
export const createTwins = Effect.fnUntraced(function* (execution: Execution, template: EventTemplate, kind: TwinKind) {
  const { make } = twins[kind]
  if (make === null) return yield* createColliding(execution, template)
  const factory = yield* EventFactory
  const guid = yield* factory.guid
  const dataId = String(yield* factory.dataId)
  // Reserves the next number for the twin.
  yield* factory.dataId
  const now = Date.parse("2026-03-02T08:00:00Z") + (Number(dataId) % 1_000_000)
  const pair = make({ dataId, webhookId: yield* factory.webhookId, other: yield* factory.webhookId })
  return yield* Effect.forEach(pair, ({ otherType, ...ids }) => {
    const other = template.resource_type === call.resource_type ? accessLog : call
    return createEvent(execution, otherType === true ? other : template, { ...ids, guid, now })
  })
})
