/**
 * Defines requirements: their texts, histories and judgement. `needs` lists everything that a run must be able to see
 * or do to test them.
 */
import { Struct } from "effect"
import { keyOf } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { noSamples } from "../history/Samples.ts"
import type { Samples } from "../history/Samples.ts"
import type { Strength } from "../history/Variations.ts"
import type { Judge } from "../judgement/Judge.ts"
import type { DedupKey, Criteria } from "../judgement/Criteria.ts"
import type { Symptom } from "../judgement/Verdict.ts"

/** What the suite needs from a receiver: 1 only its URL, 2 also a probe, 3 also a way to restart or kill it. */
export type Level = 1 | 2 | 3

/**
 * Everything that a run may be able to see or do, in the words of the report (`seen`), of the command (`toGive`) and of
 * a Vitest test (`inTest`).
 */
export const needs = {
  effects: {
    seen: "effects of events",
    toGive: "a probe (--probe) counts the effects of an event",
    inTest: "a `probe` that `start` returns counts the effects of an event"
  },
  digest: {
    seen: "what was stored",
    toGive: "a probe that answers with a digest shows what was stored",
    inTest: "a `probe` that returns a digest shows what was stored"
  },
  stop: {
    seen: "stopping and starting the receiver",
    toGive: "--restart-cmd, --kill-cmd or --spawn lets the suite stop the receiver",
    inTest: "a `restart` or `kill` that `start` returns lets the suite stop the receiver"
  },
  kill: {
    seen: "killing the receiver abruptly",
    toGive: "--kill-cmd or --spawn lets the suite kill the receiver abruptly; a restart command may stop it gracefully",
    inTest: "a `kill` that `start` returns lets the suite kill the receiver abruptly"
  },
  pause: {
    seen: "pausing the receiver",
    toGive: "--pause-cmd with --resume-cmd, or --spawn, lets the suite pause the receiver",
    inTest: "a `pause` and a `resume` that `start` returns let the suite pause the receiver"
  },
  advance: {
    seen: "moving the receiver's clock",
    toGive: "--profile clock with --advance-cmd lets the suite move the receiver's clock",
    inTest: '`profiles: ["clock"]` with an `advance` that `start` returns lets the suite move the receiver\'s clock'
  },
  endpoints: {
    seen: "a second URL",
    toGive: "a second --url shows whether tenants are kept apart",
    inTest: "`otherUrls` shows whether tenants are kept apart"
  },
  secret: {
    seen: "signing",
    toGive: "--secret lets the suite sign its requests",
    inTest: "`secret` lets the suite sign its requests"
  },
  rate: {
    seen: "the load the receiver is made for",
    toGive: "--peak-rate declares the load that the receiver is made for",
    inTest: "`peakRate` declares the load that the receiver is made for"
  }
} as const
export type Need = keyof typeof needs
export const allNeeds: ReadonlyArray<Need> = Struct.keys(needs)

/** Groups of requirements that are tested only on request, each with the need that its requirements depend on. */
export const profiles = { signed: "secret", tenant: "endpoints", clock: "advance", load: "rate" } as const
export type Profile = keyof typeof profiles

/** The families of requirements by the middle of their ids, with their headings in reports. */
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
  GET: "Other methods",
  OWN: "Your own rules"
} as const
type Family = keyof typeof families

export interface Requirement {
  /** Never changes, because users' builds refer to it. */
  readonly id: `R-${Family}-${string}`
  readonly level: Level
  /** The profile without which the requirement is not tested; null if it is always tested. */
  readonly profile: Profile | null
  /**
   * Whether a run without the profile lists the requirement as NOT_OBSERVABLE, and says how to test it.
   */
  readonly listedWithoutProfile: boolean
  /** Default strength of the cases. A broken MUST is FAIL, a broken SHOULD is WARN. */
  readonly strength: Strength
  /** What is required, in one sentence. */
  readonly statement: string
  /** The document that states the requirement. */
  readonly source: string
  /** The consequence of a breach. */
  readonly because: string
  /** The consequences for some symptoms, if they differ. */
  readonly becauses: Partial<Readonly<Record<Symptom, string>>>
  /** What the suite expects to see, under the criteria of a run. */
  readonly expected: (criteria: Criteria) => string
  /** Whether the requirement can be judged only if the receiver acknowledges at least one event. */
  readonly presumesAcknowledgement: boolean
  /**
   * Requirements that the cases presuppose, besides those about ordinary events and duplicates. If a presupposed
   * requirement is broken, this requirement probably fails too.
   */
  readonly presupposes: ReadonlyArray<Requirement["id"]>
  /** Needs that a run must meet to test the requirement. */
  readonly needs: ReadonlyArray<Need>
  /** Needs that a run at level 2 or 3 must meet for the requirement to pass. Without them it can only fail. */
  readonly provenBy: ReadonlyArray<Need>
  /** Whether the requirement is judged by its own cases, or by all cases that were executed. */
  readonly examines: "own" | "all"
  /**
   * The cases that a verdict needs. Each case takes long on a slow receiver, so include only cases that differ in kind.
   */
  readonly given: ReadonlyArray<Case>
  /** More fixed cases, executed after the given cases of all requirements. */
  readonly further: ReadonlyArray<Case>
  /** More given cases, for what the run can see and do, and the deduplication key that it stresses (`--dedup-key`). */
  readonly givenIf: (sight: ReadonlySet<Need>, dedupKey: DedupKey) => ReadonlyArray<Case>
  /** Random cases, drawn from the seed while time allows. */
  readonly sampled: Samples
  readonly judge: Judge
}

/** The defaults of a requirement. */
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
  givenIf: () => [],
  sampled: noSamples
} satisfies Partial<Requirement>

/** The consequence of each symptom. */
export const symptoms = {
  unacknowledged:
    "An attempt that is not acknowledged is made again: for about three days for an access log, for 45 seconds for a call. Then the event is given up.",
  duplicate_refused:
    "A duplicate arrives when an acknowledgement was lost. A receiver that refuses it (often with 409) receives it again until the sender reports the event as failed, although it was handled.",
  lost: "After an acknowledgement the sender forgets the event. A receiver that answers 200 and drops it, because of a swallowed error or a full queue, loses it forever.",
  doubled:
    "Duplicates are part of the design: one follows every lost acknowledgement. If a receiver acts on each of them, it rings, bills or opens twice.",
  doubled_at_once:
    "A sender that lost the answer tries again while the first attempt may still run, perhaps in another process of the receiver. A receiver that checks for the id first and records it later handles both."
} as const satisfies Readonly<Record<Symptom, string>>

/** The consequence of a second effect of an event whose answer was lost. */
export const unrecorded =
  "Networks fail after the work is done and before the answer arrives. Work that is not recorded together with the id of its event is done again at the retry."

/** Makes a requirement, with the usual defaults. */
export const requirement = (
  id: Requirement["id"],
  level: Level,
  own: Omit<Requirement, "id" | "level" | keyof typeof usual> & Partial<Requirement>
): Requirement => ({ ...usual, ...own, id, level })

/** Returns the cases that a verdict needs. */
export const casesOf = (
  { given, givenIf }: Requirement,
  dedupKey: DedupKey,
  sight: ReadonlySet<Need>
): ReadonlyArray<Case> => [...given, ...givenIf(sight, dedupKey)]

/** Returns all fixed cases, for the requirements page and `explain`. */
export const everyCaseOf = (requirement: Requirement): ReadonlyArray<Case> => {
  const everySight = [new Set(allNeeds), new Set<Need>(["effects"])]
  const given = (["both", "header", "body"] as const).flatMap((key) =>
    everySight.flatMap((sight) => casesOf(requirement, key, sight))
  )
  return [...new Map([...given, ...requirement.further].map((one) => [keyOf(one.history), one])).values()]
}
