/**
 * What is to be done for each requirement, and what can't be, for want of something.
 */
import type { DedupKey } from "../checks/Terms.ts"
import type { Case } from "../history/History.ts"
import { draw } from "../history/Samples.ts"
import type { Need } from "../requirements/Profile.ts"
import { directedCases } from "../requirements/Requirement.ts"
import type { Level, Requirement } from "../requirements/Requirement.ts"
import type { Plan } from "./Judgement.ts"
import { keyOf } from "./Judgement.ts"

/** What is there to see with, and to act with. */
export type Sight = ReadonlySet<Need>

export const planOf = (
  requirement: Requirement,
  seed: number,
  dedupKey: DedupKey,
  level: Level,
  sight: Sight
): Plan => {
  const missing = requirement.needs.find((need) => !sight.has(need)) ?? null
  const unproven = level === 1 ? null : (requirement.provenBy.find((need) => !sight.has(need)) ?? null)
  const none = missing !== null
  const directed = none ? [] : directedCases(requirement, dedupKey, sight.has("effects"))
  const sampled = none ? [] : draw(requirement.sampled, seed)
  return { requirement, directed, sampled, keys: new Set([...directed, ...sampled].map(keyOf)), missing, unproven }
}

/** Two cases with equal histories are one. */
export const distinct = (cases: ReadonlyArray<Case>): ReadonlyArray<Case> =>
  Array.from(new Map(cases.map((one) => [keyOf(one), one])).values())
