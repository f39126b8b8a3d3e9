/**
 * Every requirement of this version, in the order of reports.
 */
import { acknowledging } from "./Acknowledging.ts"
import { crashing } from "./Crashes.ts"
import { duplicating } from "./Duplicates.ts"
import { identity } from "./Identity.ts"
import { answeringLate } from "./LateAnswers.ts"
import { losing } from "./Losses.ts"
import { ordering } from "./Order.ts"
import type { Requirement } from "./Requirement.ts"

export const requirements: ReadonlyArray<Requirement> = [
  ...acknowledging,
  ...duplicating,
  ...identity,
  ...losing,
  ...answeringLate,
  ...crashing,
  ...ordering
]

/** The requirement of that id, in whatever case it is written. */
export const find = (id: string): Requirement | undefined =>
  requirements.find((requirement) => requirement.id === id.toUpperCase())
