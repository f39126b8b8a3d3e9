/**
 * Random histories: what no directed case thought of. Drawn as plain data from a seed, with fast-check.
 */
import * as fc from "fast-check"
import type { Case, Lane, Operation, Variation } from "../history/History.ts"
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
  retried,
  retry
} from "../history/History.ts"
import { odd, ordinary, unknown } from "../history/Payloads.ts"
import type { Samples } from "../history/Samples.ts"

const events = fc.oneof(
  { weight: 4, arbitrary: ordinary },
  { weight: 1, arbitrary: odd },
  { weight: 1, arbitrary: unknown }
)

const ways: fc.Arbitrary<ReadonlyArray<Variation>> = fc.constantFrom<ReadonlyArray<Variation>[]>(
  [],
  retry,
  [...retry, "new_connection"],
  [...retry, "reencoded"],
  [...retry, "chunked"],
  [...retry, "close"],
  ["resigned"],
  ["next_attempt"]
)

const ref = fc.nat(15)
const percent = fc.constantFrom(0, 10, 50, 90, 99)
const share = fc.constantFrom(0, 0.25, 0.5, 0.75, 1, 1.2)
const copies = fc.integer({ min: 2, max: 8 })

const fresh: fc.Arbitrary<Operation> = events.map((event) => newEvent(event))

const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fresh },
  { weight: 6, arbitrary: fc.tuple(ref, ways).map(([to, how]) => again(to, how)) },
  { weight: 2, arbitrary: fc.tuple(ordinary, copies).map(([event, count]) => raceNew(event, count)) },
  { weight: 2, arbitrary: fc.tuple(ref, copies).map(([to, count]) => raceAgain(to, count)) },
  { weight: 2, arbitrary: fc.tuple(ordinary, share).map(([event, at]) => cutNew(event, inAnswer(at))) },
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
      .tuple(
        ordinary,
        fc.constantFrom("everything_else_equal" as const, "last_character" as const, "letter_case" as const)
      )
      .map(([event, kind]): Operation => ({ k: "twins", event, kind }))
  },
  { weight: 2, arbitrary: ref.map(retried) }
)

const titled = (lane: Lane, title: string, ops: ReadonlyArray<Operation>): Case => makeCase(lane, title, ...ops)

/** Histories of up to 14 operations, in any order. */
export const randomHistories: Samples = {
  arbitrary: fc
    .tuple(fresh, fc.array(operation, { minLength: 2, maxLength: 13, size: "max" }))
    .map(([first, rest]) => titled("disturbed", "a random history", [first, ...rest])),
  runs: 40
}

const around: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: ordinary.map((event) => newEvent(event)) },
  { weight: 3, arbitrary: fc.tuple(ref, ways).map(([to, how]) => again(to, how)) },
  { weight: 1, arbitrary: fc.tuple(ordinary, share).map(([event, at]) => cutNew(event, inAnswer(at))) }
)

/** Histories with a restart or a kill somewhere in them. */
export const randomRestarts: Samples = {
  arbitrary: fc
    .tuple(
      fc.array(around, { minLength: 1, maxLength: 6 }),
      fc.oneof(
        fc.constant<Operation>({ k: "restart" }),
        fc
          .tuple(ordinary, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 0, max: 100 }))
          .map(([event, workers, after]): Operation => ({ k: "kill_amid", event, workers, after }))
      ),
      fc.array(around, { maxLength: 4 })
    )
    .map(([before, stop, after]) =>
      titled("operated", "a random history around a stop", [
        ...before,
        stop,
        ...after,
        { k: "retry_open" },
        { k: "again_all", how: retry }
      ])
    ),
  runs: 3
}
