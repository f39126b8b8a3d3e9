/**
 * What a run of the suite is given, and what follows where nothing is said.
 */
import { Acknowledgement } from "@doorhook/core"
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { DedupKey } from "../checks/Terms.ts"
import type { Hooks } from "../hooks/Hooks.ts"
import { noHooks } from "../hooks/Hooks.ts"
import { startPatience } from "../hooks/Ready.ts"
import type { Probe } from "../probes/Probe.ts"
import type { Profile } from "../requirements/Profile.ts"
import type { Level } from "../requirements/Requirement.ts"

/** How long effects are waited for where nothing is said, in milliseconds. */
export const defaultSettle = 10_000

/** How long a run may take where nothing is said, in milliseconds: nothing is hurried then. */
export const defaultMaxTime = 120_000

/** All times in milliseconds. */
export interface SuiteOptions {
  /** Where events are posted. */
  readonly url: URL
  /** The receiver's other URLs, for the tenant profile. */
  readonly otherUrls?: ReadonlyArray<URL>
  readonly level?: Level
  readonly profiles?: ReadonlyArray<Profile>
  readonly probe?: Probe | null
  readonly hooks?: Hooks
  readonly secret?: Redacted.Redacted<string> | null
  readonly ack?: Acknowledgement.AcknowledgementRule
  readonly deadline?: number
  /** How long effects are waited for. */
  readonly settle?: number
  readonly seed?: number
  readonly maxTime?: number
  /**
   * Waiting times are multiplied by this; the share of two minutes that `maxTime` is, and at most 1, by default. Less is
   * for receivers that are known to be quick: the run ends sooner and does not hurry its end.
   */
  readonly pace?: number
  /** How long a receiver that was killed and does not start again is tried to be started; half a minute by default. */
  readonly comeback?: number
  /** Ids or patterns like `R-DUP-*`. */
  readonly only?: ReadonlyArray<string>
  readonly skip?: ReadonlyArray<string>
  readonly dedupKey?: DedupKey
  /** Events a second; null where none was declared. */
  readonly peakRate?: number | null
  /** Ids of requirements that are known to fail. */
  readonly baseline?: ReadonlyArray<string> | null
  /** Where histories that failed are stored; null: nowhere. */
  readonly casesFolder?: string | null
  /** The file that everything which happened is written to, for `conformance check`; null: none. */
  readonly trace?: string | null
  /** Whether the target was said to be the caller's own: only for the command that repeats a run. */
  readonly owned?: boolean
  /** Further words of the command that repeats a run: probe and hooks; null of a test's run, which no command repeats. */
  readonly repeatFlags?: ReadonlyArray<string> | null
  readonly progress?: (what: string) => Effect.Effect<void>
}

/** By what waiting times are multiplied in a run of so many milliseconds. */
export const paceOf = (maxTime: number): number => Math.min(1, maxTime / defaultMaxTime)

export type Settled = Required<SuiteOptions>

/** The options with everything that was not said. */
export const withDefaults = (options: SuiteOptions, seed: number): Settled => ({
  otherUrls: [],
  level: 1,
  profiles: [],
  probe: null,
  hooks: noHooks,
  secret: null,
  ack: "200",
  deadline: Acknowledgement.defaultDeadline,
  settle: defaultSettle,
  seed,
  maxTime: defaultMaxTime,
  pace: paceOf(options.maxTime ?? defaultMaxTime),
  comeback: startPatience,
  only: [],
  skip: [],
  dedupKey: "both",
  peakRate: null,
  baseline: null,
  casesFolder: null,
  trace: null,
  owned: false,
  repeatFlags: [],
  progress: () => Effect.void,
  ...options
})
