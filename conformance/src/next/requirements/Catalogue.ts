/**
 * Every requirement of this version, in the order of reports.
 */
import { acknowledging } from "./Acknowledging.ts"
import type { Requirement } from "./Requirement.ts"

export const requirements: ReadonlyArray<Requirement> = [...acknowledging]
