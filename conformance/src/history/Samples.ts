/**
 * Random events and cases, drawn from a seed to find faults that the hand-written cases miss. The same seed gives the
 * same cases for any selection of requirements. `run/Shrink.ts` shortens those that fail.
 *
 * Numbers are generated as text. A receiver may have good reasons to refuse control characters and lone surrogates in
 * texts, numbers beyond the range of a double, and members called `__proto__`, so these never occur.
 */
import { digits, odd, ordinary, Random, timed } from "./Domain.ts"
import type { Draw } from "./Domain.ts"
import { accessLog, call, isKnownKind, noted, withUnknown } from "./Events.ts"
import type { EventTemplate } from "./Events.ts"
import {
  again,
  cutAgain,
  cutNew,
  inAnswer,
  inBody,
  makeCase,
  newEvent,
  raceAgain,
  raceNew,
  retried
} from "./History.ts"
import type { Case, Lane } from "./History.ts"
import { array, escapedString, object, string } from "./Json.ts"
import type { Member } from "./Json.ts"
import type { Operation } from "./Operations.ts"
import { retry } from "./Variations.ts"
import type { Variation } from "./Variations.ts"

const known: ReadonlySet<string> = new Set(
  [accessLog, call]
    .flatMap((event) => event.data.map(([name]) => name))
    .concat("resource_type", "action", "data", "event", "label", "__proto__", "constructor", "prototype", "type")
)

const letters = ["a", "Z", "0", " ", "_", "ü", "ж", "字", "\u0301", "🔑", "'", '"', "\\", "/", "."] as const

const anyText = (random: Random, most: number): string => random.list(0, most, () => random.pick(letters)).join("")

const unknownName: Draw<string> = (random) => {
  const usual = [
    "firmware_version",
    "battery_level",
    "schema",
    "meta",
    "x-trace",
    "Ünïcode",
    "with space",
    "0"
  ] as const
  const name = random.int(0, 1) === 0 ? random.pick(usual) : anyText(random, 12)
  return name === "" || known.has(name) ? random.pick(usual) : name
}

/** Any JSON value, up to `depth` levels deep. */
const unknownValue = (random: Random, depth: number): string => {
  switch (random.int(depth === 0 ? 2 : 0, 6)) {
    case 0:
      return object(unknownMembers(random, 0, depth - 1))
    case 1:
      return array(random.list(0, 3, () => unknownValue(random, depth - 1)))
    case 2:
      return digits(random, 30)
    case 3:
      return `-${digits(random, 18)}.${digits(random, 18)}`
    case 4:
      return string(anyText(random, 16))
    case 5:
      return escapedString(anyText(random, 8))
    default:
      return random.pick(["null", "true", "false", "0", "-0", "1.0", "1e3", "-2.50E-4", "[]", "{}"])
  }
}

const unknownMembers = (random: Random, least: number, depth: number): ReadonlyArray<Member> => [
  ...new Map(random.list(least, 3, () => [unknownName(random), unknownValue(random, depth)] as const))
]

/** Events with unknown members, or of an unknown resource type or action. */
export const unknown: Draw<EventTemplate> = (random) => {
  const event = ordinary(random)
  const members = unknownMembers(random, 1, 4)
  const type = random.pick(["intercom_status", "door_forced", "tenant", "access_log_v2", "Call"])
  const action = random.pick(["update", "delete", "archived"])
  return random.pick([
    noted(withUnknown(event, ...members), "unknown members in data"),
    noted({ ...event, data: [...members, ...event.data] }, "unknown members first in data"),
    noted({ ...event, beside_data: members }, "unknown members beside data"),
    noted({ ...event, beside_event: members }, "unknown members beside event"),
    noted({ ...event, resource_type: type }, `the unknown resource type ${type}`),
    noted({ ...event, action }, `the unknown action ${action}`)
  ])
}

/** A way to draw cases, and how many to draw. */
export interface Samples {
  readonly draw: Draw<Case>
  readonly runs: number
}

export const noSamples: Samples = { draw: () => makeCase("state", "nothing"), runs: 0 }

/** Draws the cases of a seed. */
export const draw = ({ draw: make, runs }: Samples, seed: number): ReadonlyArray<Case> => {
  const random = new Random(seed)
  return Array.from({ length: runs }, () => make(random))
}

/** Makes cases of one or two of these events, each sent once. */
export const single = (lane: Lane, title: string, event: Draw<EventTemplate>, runs: number): Samples => ({
  draw: (random) => makeCase(lane, title, ...random.list(1, 2, () => newEvent(event(random)))),
  runs
})

const ways: readonly [ReadonlyArray<Variation>, ...ReadonlyArray<ReadonlyArray<Variation>>] = [
  [],
  retry,
  [...retry, "new_connection"],
  [...retry, "reencoded"],
  [...retry, "chunked"],
  [...retry, "close"],
  ["resigned"],
  ["next_attempt"]
]
const ref: Draw<number> = (random) => random.int(0, 15)
const fresh = (event: Draw<EventTemplate>, random: Random): Operation => newEvent(event(random))
const repeated: Draw<Operation> = (random) => again(ref(random), random.pick(ways))

/** Makes cases in which events are sent again, in any order and among other events. */
export const duplicates = (title: string, runs: number): Samples => ({
  draw: (random) => {
    const one = (): Operation => (random.int(0, 4) < 2 ? fresh(ordinary, random) : repeated(random))
    return makeCase("state", title, fresh(ordinary, random), ...random.list(1, 7, one))
  },
  runs
})

/**
 * Events of kinds that a binding can select. An event of any other kind would reduce the strength of the whole history
 * to SHOULD.
 */
const anyEvent: Draw<EventTemplate> = (random) => {
  const event = random.pick([ordinary, ordinary, ordinary, ordinary, timed, odd, unknown])(random)
  return isKnownKind(event) ? event : ordinary(random)
}

const share: Draw<number> = (random) => random.pick([0, 0.25, 0.5, 0.75, 1, 1.2])
const copies: Draw<number> = (random) => random.int(2, 8)
const givenUp: Draw<Operation> = (random) => cutNew(ordinary(random), inAnswer(share(random)))

/** The operations of random histories, each as often as it is drawn. */
const operations: ReadonlyArray<readonly [times: number, Draw<Operation>]> = [
  [6, (random) => fresh(anyEvent, random)],
  [6, repeated],
  [2, (random) => raceNew(ordinary(random), copies(random))],
  [2, (random) => raceAgain(ref(random), copies(random))],
  [2, givenUp],
  [2, (random) => cutNew(ordinary(random), inBody(random.pick([0, 10, 50, 90, 99])))],
  [1, (random) => cutAgain(ref(random), inAnswer(share(random)))],
  [1, (random) => ({ k: "filler", count: random.int(1, 12) })],
  [1, (random) => ({ k: "abort_storm", count: random.int(1, 8), percent: 50 })],
  [1, (random) => ({ k: "idle", ms: random.pick([20, 100]) })],
  [1, (random) => ({ k: "malformed", event: ordinary(random), kind: random.pick(["truncated", "unclosed"]) })],
  [
    1,
    (random) => ({
      k: "twins",
      event: ordinary(random),
      kind: random.pick(["everything_else_equal", "last_character"])
    })
  ],
  [2, (random) => retried(ref(random))]
]
const allOperations = operations.flatMap(([times, make]) => Array.from({ length: times }, () => make))

const anyOperation: Draw<Operation> = (random) =>
  allOperations[random.int(0, allOperations.length - 1)]?.(random) ?? repeated(random)

/** Histories of up to 14 operations in any order, all with strength MUST. */
export const randomHistories: Samples = {
  draw: (random) =>
    makeCase(
      "disturbed",
      "a random history",
      fresh(anyEvent, random),
      ...random.list(2, 13, () => anyOperation(random))
    ),
  runs: 40
}

const around: Draw<Operation> = (random) => {
  const drawn = random.int(0, 7)
  return drawn < 4 ? fresh(ordinary, random) : drawn < 7 ? repeated(random) : givenUp(random)
}

const stop: Draw<Operation> = (random) =>
  random.int(0, 1) === 0
    ? { k: "restart" }
    : { k: "kill_amid", event: ordinary(random), workers: random.int(1, 8), after: random.int(0, 100) }

/** Histories with a restart or a kill somewhere in them. */
export const randomRestarts: Samples = {
  draw: (random) =>
    makeCase(
      "operated",
      "a random history with a restart or a kill",
      ...random.list(1, 6, () => around(random)),
      stop(random),
      ...random.list(0, 4, () => around(random)),
      { k: "retry_open" },
      { k: "again_all", how: retry }
    ),
  runs: 2
}
