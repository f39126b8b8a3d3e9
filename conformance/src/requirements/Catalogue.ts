/**
 * Every requirement of this version, in the order of reports.
 */
import { acknowledging } from "./Acknowledging.ts"
import { forwarding } from "./Content.ts"
import { crashing } from "./Crashes.ts"
import { duplicating } from "./Duplicates.ts"
import { requesting } from "./Http.ts"
import { identity } from "./Identity.ts"
import { answeringLate } from "./LateAnswers.ts"
import { losing } from "./Losses.ts"
import { otherMethods } from "./Methods.ts"
import { ordering } from "./Order.ts"
import type { Requirement } from "./Requirement.ts"
import { signing } from "./Signatures.ts"

export const requirements: ReadonlyArray<Requirement> = [
  ...acknowledging,
  ...duplicating,
  ...identity,
  ...losing,
  ...answeringLate,
  ...crashing,
  ...ordering,
  ...forwarding,
  ...requesting,
  ...signing,
  ...otherMethods
]

/** The requirement of that id, in whatever case it is written. */
export const find = (id: string): Requirement | undefined =>
  requirements.find((requirement) => requirement.id === id.toUpperCase())
