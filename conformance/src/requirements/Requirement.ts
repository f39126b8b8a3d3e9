/**
 * What a requirement is: one block that holds its text, its histories and its judgement; and what a run needs to see it.
 */
import { keyOf } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { noSamples } from "../history/Samples.ts"
import type { Samples } from "../history/Samples.ts"
import type { Strength } from "../history/Variations.ts"
import type { Judge } from "../judgement/Judge.ts"
import type { DedupKey, Terms } from "../judgement/Terms.ts"
import type { Symptom } from "../judgement/Verdict.ts"

/** What a receiver must let the suite see: 1 its URL alone, 2 a probe, 3 a way to restart or kill it. */
export type Level = 1 | 2 | 3

/** What a run may see and do, in every wording that anything needs. The only such table. */
export const needs = {
  effects: {
    seen: "effects of events",
    flag: "--probe",
    toGive: "a probe (--probe) shows how often an event's effect happened",
    inTest: "`probe` of what `start` returns shows how often an event's effect happened"
  },
  digest: {
    seen: "what was stored",
    flag: "--probe",
    toGive: "a probe that answers with a digest shows what was stored",
    inTest: "a `probe` that returns a digest shows what was stored"
  },
  stop: {
    seen: "stopping and starting the receiver",
    flag: "--restart-cmd",
    toGive: "--restart-cmd, --kill-cmd or --spawn lets the suite stop the receiver",
    inTest: "`restart` or `kill` of what `start` returns lets the suite stop the receiver"
  },
  kill: {
    seen: "killing the receiver at once",
    flag: "--kill-cmd",
    toGive: "--kill-cmd or --spawn lets the suite kill the receiver at once; a restart command may stop it gently",
    inTest: "`kill` of what `start` returns lets the suite kill the receiver at once"
  },
  pause: {
    seen: "pausing the receiver",
    flag: "--pause-cmd",
    toGive: "--pause-cmd with --resume-cmd, or --spawn, lets the suite pause the receiver",
    inTest: "`pause` and `resume` of what `start` returns let the suite pause the receiver"
  },
  advance: {
    seen: "moving the receiver's clock",
    flag: "--advance-cmd",
    toGive: "--profile clock with --advance-cmd lets the suite move the receiver's clock",
    inTest: '`profiles: ["clock"]` with `advance` of what `start` returns lets the suite move the receiver\'s clock'
  },
  endpoints: {
    seen: "a second URL",
    flag: "--url",
    toGive: "a second --url shows whether tenants are kept apart",
    inTest: "`otherUrls` shows whether tenants are kept apart"
  },
  secret: {
    seen: "signing",
    flag: "--secret",
    toGive: "--secret lets the suite sign what it sends",
    inTest: "`secret` lets the suite sign what it sends"
  },
  rate: {
    seen: "the load the receiver is made for",
    flag: "--peak-rate",
    toGive: "--peak-rate says what load the receiver is made for",
    inTest: "`peakRate` says what load the receiver is made for"
  }
} as const
export type Need = keyof typeof needs

/** Groups of requirements that are tested when asked for, each by what it needs. */
export const profiles = { signed: "secret", tenant: "endpoints", clock: "advance", load: "rate" } as const
export type Profile = keyof typeof profiles

/** The families of requirements, by the middle of their ids, as reports head them. */
export const families = {
  ACK: "Acknowledging",
  DUP: "Duplicates",
  NEW: "Similar events",
  LOS: "Lost events",
  LATE: "Late answers",
  CRA: "Crashes and restarts",
  ORD: "Order",
  FWD: "Unusual and unknown content",
  HTTP: "HTTP",
  SIG: "Signatures",
  GET: "Other methods"
} as const
type Family = keyof typeof families

export interface Requirement {
  /** Stable forever: people put it in their build. */
  readonly id: `R-${Family}-${string}`
  readonly level: Level
  /** Tested only with this profile; null: always. */
  readonly profile: Profile | null
  /**
   * Whether it is listed as NOT_OBSERVABLE, with the way to look, where its level is tested without its profile: for
   * what a run without it would otherwise pass over in silence.
   */
  readonly listedWithoutProfile: boolean
  /** Of its cases, as far as they do not say otherwise. A breach of a MUST is FAIL, of a SHOULD WARN. */
  readonly strength: Strength
  /** What is required, in one sentence. */
  readonly statement: string
  /** Where that comes from. */
  readonly source: string
  /** What happens to people when it is broken. */
  readonly because: string
  /** The same where it shows in this way, and the sentence above is about another. */
  readonly becauses: Partial<Readonly<Record<Symptom, string>>>
  /** What the suite expects to see, under the terms of a run. */
  readonly expected: (terms: Terms) => string
  /** It can't be judged of a receiver that acknowledges nothing at all. */
  readonly presumesAcknowledgement: boolean
  /**
   * Requirements that its cases take for granted, besides those that ordinary events, duplicates and their effects are
   * about: where one of them is broken, it probably breaks too.
   */
  readonly presupposes: ReadonlyArray<Requirement["id"]>
  /** Without these it can't be tested. */
  readonly needs: ReadonlyArray<Need>
  /** Without these it can fail from level 2 on, but not pass: the half that they show was not seen. */
  readonly provenBy: ReadonlyArray<Need>
  /** Whether it is judged by its own cases, or by whatever was executed. */
  readonly examines: "own" | "all"
  /** The cases that a verdict takes: six at most where a receiver is slow, so keep to what differs in kind. */
  readonly given: ReadonlyArray<Case>
  /** More directed cases, after those that every requirement takes. */
  readonly further: ReadonlyArray<Case>
  /** Cases that are given where effects are seen, and say nothing where they are not. */
  readonly givenWithEffects: ReadonlyArray<Case>
  /** Cases that are given where one key for dropping duplicates is stressed. */
  readonly givenFor: Partial<Readonly<Record<DedupKey, ReadonlyArray<Case>>>>
  /** Cases drawn from the seed, as far as time allows. */
  readonly sampled: Samples
  readonly judge: Judge
}

/** What most requirements have in common. */
const usual = {
  profile: null,
  listedWithoutProfile: false,
  strength: "MUST",
  presumesAcknowledgement: true,
  becauses: {},
  presupposes: [],
  needs: [],
  provenBy: [],
  examines: "own",
  further: [],
  givenWithEffects: [],
  givenFor: {},
  sampled: noSamples
} satisfies Partial<Requirement>

/** What each symptom means to people, whatever came before it. */
export const symptoms = {
  unacknowledged:
    "An attempt that is not acknowledged is made again: for about three days for an access log, for 45 seconds for a call. Then the event is given up.",
  duplicate_refused:
    "A duplicate arrives when an acknowledgement was lost. A receiver that refuses it (often with 409) receives it again until the sender reports the event as failed, although it was handled.",
  lost: "After an acknowledgement the sender forgets the event. A receiver that answers 200 and drops it, because of a swallowed error or a full queue, loses it for good.",
  doubled:
    "Duplicates are part of the design: one follows every lost acknowledgement. A receiver that acts on each rings twice, bills twice, opens twice.",
  doubled_at_once:
    "A sender that lost the answer tries again while the first attempt may still run, perhaps in another process of the receiver. Checking for the id first and recording it later lets both through."
} as const satisfies Readonly<Record<Symptom, string>>

/** Why an event whose answer was lost has two effects. */
export const unrecorded =
  "Networks fail after the work is done and before the answer arrives. Work that is not recorded together with the id of its event is done again at the retry."

/** A requirement with what is usual for most of them. */
export const requirement = (
  id: Requirement["id"],
  level: Level,
  own: Omit<Requirement, "id" | "level" | keyof typeof usual> & Partial<Requirement>
): Requirement => ({ ...usual, ...own, id, level })

/** The cases that a verdict takes, where one key is stressed and effects are seen or not. */
export const casesOf = (
  { given, givenFor, givenWithEffects }: Requirement,
  dedupKey: DedupKey,
  seesEffects: boolean
): ReadonlyArray<Case> => [...given, ...(seesEffects ? givenWithEffects : []), ...(givenFor[dedupKey] ?? [])]

/** Every directed case, whatever is seen and stressed: for pages and `explain`. */
export const everyCaseOf = ({ further, given, givenFor, givenWithEffects }: Requirement): ReadonlyArray<Case> => [
  ...new Map(
    [...given, ...givenWithEffects, ...Object.values(givenFor).flat(), ...further].map((one) => [
      keyOf(one.history),
      one
    ])
  ).values()
]
