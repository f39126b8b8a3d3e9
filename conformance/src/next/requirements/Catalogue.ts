/**
 * Every requirement of this version, in the order of reports.
 */
import { acknowledging } from "./Acknowledging.ts"
import { duplicating } from "./Duplicates.ts"
import { identity } from "./Identity.ts"
import type { Requirement } from "./Requirement.ts"

export const requirements: ReadonlyArray<Requirement> = [...acknowledging, ...duplicating, ...identity]

/** The requirement of that id, in whatever case it is written. */
export const find = (id: string): Requirement | undefined =>
  requirements.find((requirement) => requirement.id === id.toUpperCase())
