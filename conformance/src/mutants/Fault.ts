/**
 * The wrong receivers as they are tried: at the level and with the profile of the requirement that must find them out.
 */
import { requirements } from "../requirements/Catalogue.ts"
import type { Level, Profile, Requirement } from "../requirements/Requirement.ts"
import type { Change } from "./Base.ts"
import { rows } from "./Rows.ts"

export interface Fault {
  readonly name: string
  readonly requirement: Requirement["id"]
  /** What it does wrong, in one sentence. */
  readonly does: string
  readonly change: Change
  /** The least level at which that can be seen. */
  readonly level: Level
  readonly profile: Profile | null
  /** `WARN` where a SHOULD finds it out. */
  readonly found: "FAIL" | "WARN"
}

export const faults: ReadonlyArray<Fault> = requirements.flatMap(({ id, level, profile, strength }) =>
  Object.entries(rows[id] ?? {}).map(([name, [does, change, tried]]) => {
    const found = strength === "MUST" ? "FAIL" : "WARN"
    return { name, requirement: id, does, change, level, profile, found, ...tried }
  })
)
