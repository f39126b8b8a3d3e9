/**
 * Cases drawn from a seed: what no directed case thought of. The same seed gives the same cases, whichever requirements
 * are selected; a case that fails is replayed by its path and shrunk by fast-check, operations and values alike.
 */
import * as fc from "fast-check"
import type { Case, Lane } from "./History.ts"
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
import type { Operation } from "./Operations.ts"
import { odd, ordinary, unknown } from "./Payloads.ts"
import { isKnownKind } from "./Events.ts"
import type { EventTemplate } from "./Events.ts"
import { retry } from "./Variations.ts"
import type { Variation } from "./Variations.ts"

/** How cases are drawn, and how many. */
export interface Samples {
  readonly arbitrary: fc.Arbitrary<Case>
  readonly runs: number
}

export const noSamples: Samples = { arbitrary: fc.constant(makeCase("state", "nothing")), runs: 0 }

/** A case of a seed: `path` leads `fc.check` to it. */
export interface Drawn extends Case {
  readonly path: string
}

/** The cases of a seed. */
export const draw = ({ arbitrary, runs }: Samples, seed: number): ReadonlyArray<Drawn> =>
  runs === 0 ? [] : fc.sample(arbitrary, { seed, numRuns: runs }).map((one, index) => ({ ...one, path: String(index) }))

/** Cases of some events of a kind, each sent once. */
export const single = (lane: Lane, title: string, events: fc.Arbitrary<EventTemplate>, runs: number): Samples => ({
  arbitrary: fc
    .array(events, { minLength: 1, maxLength: 2 })
    .map((some) => makeCase(lane, title, ...some.map((event) => newEvent(event)))),
  runs
})

const ways: ReadonlyArray<ReadonlyArray<Variation>> = [
  [],
  retry,
  [...retry, "new_connection"],
  [...retry, "reencoded"],
  [...retry, "chunked"],
  [...retry, "close"],
  ["resigned"],
  ["next_attempt"]
]
const way = fc.constantFrom(...ways)
const ref = fc.nat(15)
const fresh = (events: fc.Arbitrary<EventTemplate>): fc.Arbitrary<Operation> => events.map((event) => newEvent(event))
const repeated: fc.Arbitrary<Operation> = fc.tuple(ref, way).map(([to, how]) => again(to, how))

/** Events that come again, in any order and among others. */
export const duplicates = (title: string, runs: number): Samples => ({
  arbitrary: fc
    .tuple(
      fresh(ordinary),
      fc.array(fc.oneof({ weight: 2, arbitrary: fresh(ordinary) }, { weight: 3, arbitrary: repeated }), {
        minLength: 1,
        maxLength: 7,
        size: "max"
      })
    )
    .map(([first, rest]) => makeCase("state", title, first, ...rest)),
  runs
})

/** Of kinds that a binding can select: what no MUST rests on would weaken what comes with it. */
const events = fc.oneof(
  { weight: 4, arbitrary: ordinary },
  { weight: 1, arbitrary: odd },
  { weight: 1, arbitrary: unknown.filter(isKnownKind) }
)

const percent = fc.constantFrom(0, 10, 50, 90, 99)
const share = fc.constantFrom(0, 0.25, 0.5, 0.75, 1, 1.2)
const copies = fc.integer({ min: 2, max: 8 })

const givenUp: fc.Arbitrary<Operation> = fc.tuple(ordinary, share).map(([event, at]) => cutNew(event, inAnswer(at)))

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fresh(events) },
  { weight: 6, arbitrary: repeated },
  { weight: 2, arbitrary: fc.tuple(ordinary, copies).map(([event, count]) => raceNew(event, count)) },
  { weight: 2, arbitrary: fc.tuple(ref, copies).map(([to, count]) => raceAgain(to, count)) },
  { weight: 2, arbitrary: givenUp },
  { weight: 2, arbitrary: fc.tuple(ordinary, percent).map(([event, at]) => cutNew(event, inBody(at))) },
  { weight: 1, arbitrary: fc.tuple(ref, share).map(([to, at]) => cutAgain(to, inAnswer(at))) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 12 }).map((count): Operation => ({ k: "filler", count })) },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 8 }).map((count): Operation => ({ k: "abort_storm", count, percent: 50 }))
  },
  { weight: 1, arbitrary: fc.constantFrom(20, 100).map((ms): Operation => ({ k: "idle", ms })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(ordinary, fc.constantFrom("truncated" as const, "unclosed" as const))
      .map(([event, kind]): Operation => ({ k: "malformed", event, kind }))
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(ordinary, fc.constantFrom("everything_else_equal" as const, "last_character" as const))
      .map(([event, kind]): Operation => ({ k: "twins", event, kind }))
  },
  { weight: 2, arbitrary: ref.map(retried) }
)

/** Histories of up to 14 operations, in any order. None of them is of strength SHOULD. */
export const randomHistories: Samples = {
  arbitrary: fc
    .tuple(fresh(events), fc.array(operation, { minLength: 2, maxLength: 13, size: "max" }))
    .map(([first, rest]) => makeCase("disturbed", "a random history", first, ...rest)),
  runs: 40
}

const around: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fresh(ordinary) },
  { weight: 3, arbitrary: repeated },
  { weight: 1, arbitrary: givenUp }
)

const stop: fc.Arbitrary<Operation> = fc.oneof(
  fc.constant<Operation>({ k: "restart" }),
  fc
    .tuple(ordinary, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 100 }))
    .map(([event, workers, after]): Operation => ({ k: "kill_amid", event, workers, after }))
)

/** Histories with a restart or a kill somewhere in them. */
export const randomRestarts: Samples = {
  arbitrary: fc
    .tuple(fc.array(around, { minLength: 1, maxLength: 6 }), stop, fc.array(around, { maxLength: 4 }))
    .map(([before, end, after]) =>
      makeCase(
        "operated",
        "a random history around a stop",
        ...before,
        end,
        ...after,
        { k: "retry_open" },
        { k: "again_all", how: retry }
      )
    ),
  runs: 2
}
