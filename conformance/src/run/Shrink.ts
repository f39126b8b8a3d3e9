/**
 * Repeats the history of a failure alone, one run at a time. If the repeats pass, adds what other cases did to the
 * receiver at the time (events, kills, restarts) to the history as operations. Then shortens the history.
 *
 * A wrong answer or effect that was seen once is proof: the failure stands even if it never recurs.
 */
import { Clock, Data, Effect, Option } from "effect"
import type { Trace } from "../evidence/Trace.ts"
import type { Services } from "../execution/Execution.ts"
import { kindOf } from "../history/Domain.ts"
import { accessLog, bindingOf, plainEvents, templates } from "../history/Events.ts"
import type { EventTemplate } from "../history/Events.ts"
import { keyOf } from "../history/History.ts"
import type { History } from "../history/History.ts"
import { escapedString, string } from "../history/Json.ts"
import type { Member } from "../history/Json.ts"
import type { Operation } from "../history/Operations.ts"
import type { Confirmed, Reproduction } from "../record/Evidence.ts"
import type { TargetUnusable } from "../execution/Send.ts"
import type { ProbeUnusable } from "../probes/Probe.ts"
import { repeatsFor } from "./StoredCase.ts"

/** Number of times that a failure is repeated. */
const confirmations = 5

/** Maximum numbers of other cases' kills and restarts, and of their events, that become operations. */
const mostEnds = 3
const mostEvents = 2_000

export interface Failure {
  readonly requirement: string
  readonly trace: Trace
  readonly bindings: ReadonlyArray<string> | null
  readonly fails: (trace: Trace) => boolean
}

/** Returns the index of the first operation that made an attempt after `at`. */
const placeOf = ({ attempts, began, history }: Trace, at: number): number =>
  attempts.find(({ started }) => began + started > at)?.op ?? history.ops.length

/**
 * Adds the actions of other cases during a history to that history as operations: as many filler events as they sent,
 * then each kill or restart in its place. Removes the wait for all other cases. The stored history can then be replayed
 * alone. The events are plain ones that the bindings select.
 */
export const withConditions = (trace: Trace, bindings: ReadonlyArray<string> | null): History => {
  const [event = accessLog] = plainEvents(bindings)
  const ends = trace.interventions
    .filter(({ op, what }) => op === null && (what === "killed" || what === "restarted"))
    .slice(0, mostEnds)
  const added = ends.map(({ from, what }): readonly [number, Operation] => [
    placeOf(trace, from),
    what === "killed" ? { k: "kill_amid", event, workers: 2, after: 20 } : { k: "restart" }
  ])
  const [, first] = trace.attempts
  const filler: ReadonlyArray<readonly [number, Operation]> =
    trace.otherEvents === 0
      ? []
      : [[added[0]?.[0] ?? first?.op ?? 0, { k: "filler", count: Math.min(trace.otherEvents, mostEvents) }]]
  const at = (place: number): ReadonlyArray<Operation> =>
    [...filler, ...added].flatMap(([where, operation]) => (where === place ? [operation] : []))
  if (filler.length + added.length === 0) return trace.history
  const ops = trace.history.ops.flatMap((operation, place) => [
    ...at(place),
    ...(operation.k === "age" ? [] : [operation])
  ])
  return { v: 1, ops: [...ops, ...at(trace.history.ops.length)] }
}

/** Executes a history alone and reads its effects. */
type TryOut = (history: History) => Effect.Effect<Trace, TargetUnusable | ProbeUnusable, Services>

/** When to stop shrinking a failure, and when to stop repeating the shortest history. Milliseconds since the epoch. */
interface Limits {
  readonly shrink: number
  readonly confirm: number
}

type Repeated = Pick<Reproduction, "confirmed" | "trace">

/** Whether a history failed as often as another one. */
const failsAsOften = (one: Confirmed, other: Confirmed): boolean =>
  one.failed > 0 && one.failed * other.tried >= other.failed * one.tried

/** Executes a history: its trace if it failed, null if it passed. Empty if it could not be executed or read. */
type FailureOf = (history: History) => Effect.Effect<Option.Option<Trace | null>, never, Services>

/** Repeats a history, up to five times. */
const repeat = Effect.fnUntraced(function* (
  history: History,
  failureOf: FailureOf,
  until: number
): Effect.fn.Return<Repeated, never, Services> {
  let [tried, failed] = [0, 0]
  let trace: Trace | null = null
  while (tried < confirmations && (yield* Clock.currentTimeMillis) < until) {
    const failure = yield* failureOf(history)
    if (Option.isNone(failure)) break
    if (failure.value !== null) failed += 1
    trace ??= failure.value
    tried += 1
  }
  return { confirmed: { tried, failed }, trace }
})

/**
 * Repeats the history of a failure, and shortens it if it fails again. Returns the shortened history only if it fails
 * as often as the original one: each step of the shortening accepts a history that failed once.
 */
export const reproduce = Effect.fnUntraced(function* (
  { bindings, fails, requirement, trace }: Failure,
  tryOut: TryOut,
  limits: Limits
): Effect.fn.Return<Reproduction, never, Services> {
  const failureOf: FailureOf = (history) =>
    Effect.option(Effect.map(tryOut(history), (again) => (fails(again) ? again : null)))
  const about = { requirement, history: trace.history }
  let history = trace.history
  const conditioned = withConditions(trace, bindings)
  const isAlike = keyOf(conditioned) === keyOf(history)
  // A history with a wait for all other cases is only tried with their actions in place of the wait.
  const waits = !isAlike && history.ops.some(({ k }) => k === "age")
  let original: Repeated = waits
    ? { confirmed: { tried: 0, failed: 0 }, trace: null }
    : yield* repeat(history, failureOf, limits.shrink)
  if (original.trace === null) {
    if (isAlike) return { ...about, ...original }
    const again = yield* repeat(conditioned, failureOf, limits.shrink)
    if (again.trace === null) return { ...about, ...(waits ? again : original) }
    history = conditioned
    original = again
  }
  const { failed, tried } = original.confirmed
  // If a history always fails, a shorter one is tried once: one that passes by chance only leaves the history longer.
  const times = failed === tried ? 1 : repeatsFor(original.confirmed)
  const stillFails = Effect.fnUntraced(function* (one: History): Effect.fn.Return<boolean, never, Services> {
    for (let tries = 0; tries < times && (yield* Clock.currentTimeMillis) < limits.shrink; tries++) {
      if (Option.getOrNull(yield* failureOf(one)) !== null) return true
    }
    return false
  })
  const shortest = yield* shorten(history, stillFails, limits.shrink)
  if (keyOf(shortest) === keyOf(history)) return { ...about, ...original }
  const shortened = yield* repeat(shortest, failureOf, limits.confirm)
  return { ...about, ...(failsAsOften(shortened.confirmed, original.confirmed) ? shortened : original) }
})

/** Tries simpler ones of something that fails, one after another, and continues with each that fails, too. */
const simplest = Effect.fnUntraced(function* <One, E, R>(
  failing: One,
  simpler: (one: One) => ReadonlyArray<One>,
  fails: (one: One) => Effect.Effect<boolean, E, R>
): Effect.fn.Return<One, E, R> {
  let best = failing
  let candidates = simpler(best)
  for (let at = 0; at < candidates.length;) {
    const one = candidates[at]
    if (one === undefined || one === best || !(yield* fails(one))) at += 1
    else {
      best = one
      candidates = simpler(best)
    }
  }
  return best
})

/** Matches strings in a member's raw value. A string before a colon is the name of a member. */
const quoted = /("(?:[^"\\]|\\.)*")(\s*:)?/gu
const textsOf = (value: string): ReadonlyArray<string> =>
  Array.from(value.matchAll(quoted)).flatMap(([, raw = "", colon]) => (colon === undefined ? [raw] : []))
const isEscaped = (raw: string): boolean => /^"(?:\\u[0-9a-f]{4})+"$/.test(raw)

const withText = (value: string, nth: number, letters: ReadonlyArray<string>): string => {
  let at = -1
  return value.replaceAll(quoted, (all, raw: string, colon: string | undefined) => {
    if (colon !== undefined || ++at !== nth) return all
    return isEscaped(raw) ? escapedString(letters.join("")) : string(letters.join(""))
  })
}

const lettersOf = (raw: string): ReadonlyArray<string> => Array.from(String(JSON.parse(raw)))

/** Removes as many letters as possible while the history still fails, larger pieces before smaller ones. */
const fewestLetters = Effect.fnUntraced(function* <E, R>(
  letters: ReadonlyArray<string>,
  fails: (letters: ReadonlyArray<string>) => Effect.Effect<boolean, E, R>
): Effect.fn.Return<ReadonlyArray<string>, E, R> {
  const all = letters.map(() => "a")
  if (letters.length > 1 && (yield* fails(all))) {
    // The letters themselves don't matter, so find the shortest length that fails.
    let [passes, length] = [0, all.length]
    while (length - passes > 1) {
      const middle = (passes + length) >> 1
      if (yield* fails(all.slice(0, middle))) length = middle
      else passes = middle
    }
    return all.slice(0, length)
  }
  let best = letters
  for (let size = Math.ceil(letters.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.length && best.length > 1;) {
      const without = best.toSpliced(at, size)
      if (without.length > 0 && (yield* fails(without))) best = without
      else at += size
    }
  }
  return best
})

const shown = 60
const short = (text: string): string => {
  const letters = Array.from(text)
  const length = letters.length - (text.startsWith('"') ? 2 : 0)
  return letters.length > shown ? `${letters.slice(0, shown).join("")}... (${length} characters)` : text
}

/** Describes how an event differs from the plain event of its kind. */
const differences = (event: EventTemplate, plain: EventTemplate): string =>
  [
    ...event.data.flatMap(([name, value]) =>
      plain.data.some((member) => member[0] === name && member[1] === value) ? [] : [`${name} ${short(value)}`]
    ),
    ...plain.data.flatMap(([name]) => (event.data.some((member) => member[0] === name) ? [] : [`without ${name}`])),
    ...event.beside_data.map(([name, value]) => `beside data ${name} ${short(value)}`),
    ...event.beside_event.map(([name, value]) => `beside event ${name} ${short(value)}`)
  ].join(", ")

/**
 * Returns every event that is one step closer to the plain event: one member removed, added or set to its plain value.
 */
const nearer = (event: EventTemplate, plain: EventTemplate): ReadonlyArray<EventTemplate> => {
  const without = (members: ReadonlyArray<Member>, at: number) => members.toSpliced(at, 1)
  const known = new Map(plain.data)
  return [
    ...event.beside_data.map((_, at) => ({ ...event, beside_data: without(event.beside_data, at) })),
    ...event.beside_event.map((_, at) => ({ ...event, beside_event: without(event.beside_event, at) })),
    ...event.data.flatMap(([name, value], at) => {
      const usual = known.get(name)
      if (usual === value) return []
      return [{ ...event, data: usual === undefined ? without(event.data, at) : event.data.with(at, [name, usual]) }]
    }),
    ...plain.data.flatMap((member) =>
      event.data.some(([name]) => name === member[0]) ? [] : [{ ...event, data: [...event.data, member] }]
    )
  ]
}

/**
 * Returns the failing event that is closest to the plain event of its kind. All events that are tried are in the domain
 * of what doorhook may send.
 */
export const simplerEvent = Effect.fnUntraced(function* <E, R>(
  event: EventTemplate,
  fails: (event: EventTemplate) => Effect.Effect<boolean, E, R>
): Effect.fn.Return<EventTemplate, E, R> {
  const plain = templates[bindingOf(event)]
  if (plain === undefined || event === plain) return event
  const renamed = (one: EventTemplate): EventTemplate => ({ ...one, note: differences(one, plain) })
  if (differences(event, plain) === "" || (yield* fails(plain))) return plain
  let best = yield* simplest(event, (one) => nearer(one, plain).map(renamed), fails)
  for (const [at, [name, value]] of best.data.entries()) {
    if (plain.data.some((member) => member[0] === name && member[1] === value)) continue
    // A receiver would rightly refuse a value of another kind.
    const simpler = kindOf(event, name)?.simpler ?? null
    if (simpler !== null) {
      const withValue = (json: string): EventTemplate => renamed({ ...best, data: best.data.with(at, [name, json]) })
      best = withValue(yield* simplest(value, simpler, (json) => fails(withValue(json))))
      continue
    }
    for (const [nth, raw] of textsOf(value).entries()) {
      const withLetters = (letters: ReadonlyArray<string>): EventTemplate =>
        renamed({ ...best, data: best.data.with(at, [name, withText(best.data[at]?.[1] ?? value, nth, letters)]) })
      const letters = lettersOf(raw)
      const fewest = yield* fewestLetters(letters, (some) => fails(withLetters(some)))
      if (fewest !== letters) best = withLetters(fewest)
    }
  }
  return best
})

/** Returns simpler forms of an operation, with the same event. */
const simplerOperations = (operation: Operation): ReadonlyArray<Operation> => {
  if ("copies" in operation && operation.copies !== undefined && operation.copies > 2) {
    return [{ ...operation, copies: 2 }]
  }
  if (operation.k !== "new" && operation.k !== "again") return []
  return operation.how.map((_, at) => ({ ...operation, how: operation.how.toSpliced(at, 1) }))
}

/** Returns the histories without one operation, the last one first; none if there is only one. */
const shorter = ({ ops }: History): ReadonlyArray<History> =>
  ops.length === 1 ? [] : ops.map((_, at) => ({ v: 1 as const, ops: ops.toSpliced(ops.length - 1 - at, 1) }))

/** Stops shortening when the time is up: a text of thousands of letters has too many parts to try. */
class TimeUp extends Data.TaggedError("TimeUp") {}

/** Removes the operations that the failure does not need, and simplifies the others, until a time. */
export const shorten = Effect.fnUntraced(function* <R>(
  history: History,
  stillFails: (history: History) => Effect.Effect<boolean, never, R>,
  until: number
): Effect.fn.Return<History, never, R> {
  let best = history
  const fails = Effect.fnUntraced(function* (one: History) {
    if ((yield* Clock.currentTimeMillis) >= until) return yield* new TimeUp()
    const isFailing = yield* stillFails(one)
    if (isFailing) best = one
    return isFailing
  })
  const failsWith = (at: number) => (operation: Operation) => fails({ v: 1, ops: best.ops.with(at, operation) })
  const simplifyAt = Effect.fnUntraced(function* (at: number, given: Operation) {
    const operation = yield* simplest(given, simplerOperations, failsWith(at))
    if ("event" in operation) yield* simplerEvent(operation.event, (event) => failsWith(at)({ ...operation, event }))
  })
  yield* simplest(history, shorter, fails).pipe(
    Effect.flatMap(({ ops }) => Effect.forEach(ops, (operation, at) => simplifyAt(at, operation), { discard: true })),
    Effect.catchTag("TimeUp", () => Effect.void)
  )
  return best
})
