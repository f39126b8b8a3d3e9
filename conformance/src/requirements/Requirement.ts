/**
 * What a requirement is: one file each, listed in `index.ts`.
 *
 * A requirement says what a receiver must do and why, which histories show whether it does, and how to tell from their
 * traces. It is data and pure functions; running it is the executor's business.
 */
import type { Finding } from "../checks/Finding.ts"
import type { DedupKey, Terms } from "../checks/Terms.ts"
import type { Trace } from "../observed/Trace.ts"
import type { Case } from "../history/History.ts"
import type { Samples } from "../history/Samples.ts"
import { none } from "../history/Samples.ts"
import type { Need, Profile } from "./Profile.ts"

/** What a receiver must let the suite see: 1 its URL alone, 2 a probe, 3 a way to restart or kill it. */
export type Level = 1 | 2 | 3

export interface Requirement {
  /** Stable for ever: people put it in their build. The name of its file. */
  readonly id: string
  readonly level: Level
  /** Tested only with this profile; null: always. */
  readonly profile: Profile | null
  /** Breaking a SHOULD is a WARN. */
  readonly strength: "MUST" | "SHOULD"
  /** What is required, in one sentence. */
  readonly statement: string
  /** Where that comes from. */
  readonly source: string
  /** What happens to people when it is broken. */
  readonly because: string
  /** What the suite expects to see, under the terms of a run. */
  readonly expected: (terms: Terms) => string
  /** It can't be judged of a receiver that acknowledges nothing at all. */
  readonly presumesAcknowledgement: boolean
  /** The ids of those that its cases take for granted: where one of them is broken, it probably breaks too. */
  readonly presupposes: ReadonlyArray<string>
  /** Without these it can't be tested. */
  readonly needs: ReadonlyArray<Need>
  /** Without these it can fail from level 2 on, but not pass: the half that they show was not seen. */
  readonly provenBy: ReadonlyArray<Need>
  /** Whether it is judged on its own cases, or on whatever was executed. */
  readonly examines: "own" | "all"
  /** What is always done. */
  readonly directed: ReadonlyArray<Case>
  /** What is done besides where effects are seen, and says nothing where they are not. */
  readonly directedWithEffects: ReadonlyArray<Case>
  /** What is done besides where one key for dropping duplicates is stressed. */
  readonly directedFor: Partial<Readonly<Record<DedupKey, ReadonlyArray<Case>>>>
  /** What is done besides, as far as time allows. */
  readonly sampled: Samples
  readonly check: (trace: Trace, terms: Terms) => Finding
}

type Defaults =
  | "profile"
  | "strength"
  | "presumesAcknowledgement"
  | "presupposes"
  | "needs"
  | "provenBy"
  | "examines"
  | "directedWithEffects"
  | "directedFor"
  | "sampled"

/** A requirement with what is usual for most of them. */
export const define = (
  requirement: Omit<Requirement, Defaults> & Partial<Pick<Requirement, Defaults>>
): Requirement => ({
  profile: null,
  strength: "MUST",
  presumesAcknowledgement: true,
  presupposes: [],
  needs: [],
  provenBy: [],
  examines: "own",
  directedWithEffects: [],
  directedFor: {},
  sampled: none,
  ...requirement
})

/** The cases that are always done, where one key is stressed and effects are seen or not. */
export const directedCases = (
  { directed, directedFor, directedWithEffects }: Requirement,
  dedupKey: DedupKey,
  seesEffects: boolean
): ReadonlyArray<Case> => [...directed, ...(seesEffects ? directedWithEffects : []), ...(directedFor[dedupKey] ?? [])]

/** All of them, whatever is seen and stressed. */
export const everyDirectedCase = ({ directed, directedFor, directedWithEffects }: Requirement): ReadonlyArray<Case> => [
  ...directed,
  ...directedWithEffects,
  ...Object.values(directedFor).flat()
]
