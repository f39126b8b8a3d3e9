/**
 * Histories drawn at random from a seed: the same seed gives the same histories, whichever requirements are selected.
 */
import * as fc from "fast-check"
import type { Case, EventTemplate, Lane, Operation, Variation } from "./History.ts"
import { again, makeCase, newEvent, raceAgain, retry } from "./History.ts"
import { ordinary } from "./Payloads.ts"

/** How cases are drawn, and how many. */
export interface Samples {
  readonly arbitrary: fc.Arbitrary<Case>
  readonly runs: number
}

/** No histories at all. */
export const none: Samples = { arbitrary: fc.constant(makeCase("state", "nothing")), runs: 0 }

/** The cases of a seed. */
export const draw = (samples: Samples, seed: number): ReadonlyArray<Case> =>
  samples.runs === 0 ? [] : fc.sample(samples.arbitrary, { seed, numRuns: samples.runs })

/** Histories of some events of a kind, each sent once. */
export const single = (lane: Lane, title: string, events: fc.Arbitrary<EventTemplate>, runs: number): Samples => ({
  arbitrary: fc
    .array(events, { minLength: 1, maxLength: 2 })
    .map((some) => makeCase(lane, title, ...some.map((event) => newEvent(event)))),
  runs
})

const how: fc.Arbitrary<ReadonlyArray<Variation>> = fc.constantFrom<ReadonlyArray<Variation>[]>(
  [],
  retry,
  [...retry, "new_connection"],
  [...retry, "reencoded"]
)

const repeated = fc.tuple(fc.nat(7), how).map(([ref, variation]) => again(ref, variation))

const later: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 2, arbitrary: ordinary.map((event) => newEvent(event)) },
  { weight: 4, arbitrary: repeated },
  { weight: 1, arbitrary: fc.tuple(fc.nat(7), fc.integer({ min: 2, max: 3 })).map(([ref, n]) => raceAgain(ref, n)) }
)

/** Histories in which events come again, in any order and among others. */
export const duplicates = (title: string, runs: number): Samples => ({
  arbitrary: fc
    .tuple(
      ordinary.map((event) => newEvent(event)),
      fc.array(later, { minLength: 1, maxLength: 3 }),
      repeated
    )
    .map(([first, rest, last]) => makeCase("state", title, first, ...rest, last)),
  runs
})
