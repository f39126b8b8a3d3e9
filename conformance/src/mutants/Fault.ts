/**
 * One wrong receiver: a row that says what is wrong, which requirement must find it out, and how it differs from the
 * correct one.
 */
import type { Level, Profile, Requirement } from "../requirements/Requirement.ts"
import type { Change } from "./Base.ts"

export interface Fault {
  /** Stable: the kill table lists it. */
  readonly name: string
  readonly requirement: Requirement["id"]
  /** What it does wrong, in one sentence. */
  readonly does: string
  /** The least level at which that can be seen. */
  readonly level: Level
  readonly profile: Profile | null
  /** `WARN` where a SHOULD finds it out. */
  readonly found: "FAIL" | "WARN"
  /** Whether it must be run as a process of its own: faults that only show when a process ends. */
  readonly ownProcess: boolean
  readonly change: Change
}

/** Rows of one level: `[name, requirement, does, change]`. */
export const faults =
  (
    level: Level,
    {
      found = "FAIL",
      ownProcess = level === 3,
      profile = null
    }: Partial<Pick<Fault, "found" | "ownProcess" | "profile">> = {}
  ) =>
  (
    ...rows: ReadonlyArray<readonly [name: string, requirement: Requirement["id"], does: string, change: Change]>
  ): ReadonlyArray<Fault> =>
    rows.map(([name, requirement, does, change]) => ({
      name,
      requirement,
      does,
      change,
      level,
      profile,
      found,
      ownProcess
    }))
