/**
 * Cases drawn from a seed: what no directed case thought of. The same seed gives the same cases, whichever requirements
 * are selected; a case that fails is replayed by its path and shrunk by fast-check, operations and values alike.
 */
import * as fc from "fast-check"
import type { Case, Lane } from "./History.ts"
import { makeCase, newEvent } from "./History.ts"
import type { EventTemplate } from "./Template.ts"

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

/** Events that come again, in any order and among others. */
export declare const duplicates: (title: string, runs: number) => Samples
/** Histories of up to 14 operations, in any order. None of them is of strength SHOULD. */
export declare const randomHistories: Samples
/** Histories with a restart or a kill somewhere in them. */
export declare const randomRestarts: Samples
