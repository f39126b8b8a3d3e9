/**
 * The rules of delivery that a run is held against, and how a broken one is told.
 */
import type { RunKind } from "./RunKind.ts"

/** A place where a rule was broken. */
export interface Violation {
  readonly rule: RuleName
  readonly what: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

export const rules = {
  "nothing-lost":
    "Every accepted event gets a delivery for each integration it matches, each delivery ends or waits, and only those of a disabled integration are skipped",
  "retry-times":
    "A retry comes when its schedule or Retry-After says, up to a fifth later, or early after an outage; nothing is given up before, and a failed early attempt leaves its delivery due when it was",
  "nothing-after-end": "Nothing is sent after a delivery has ended, or to an integration that is deleted or disabled",
  "call-lifetime": "No call is sent after its lifetime",
  "attempt-numbers": "Attempts are numbered from 1 without gaps",
  "delivered-is-received": "What ends as delivered was answered 200 in time",
  "same-body": "All attempts of an event carry the same bytes: its data as published",
  leases: "A delivery is never open twice at once, and each attempt fits into the membership of its worker",
  isolation: "A receiver sees only events of its scope and of its bindings",
  caps: "No process has more requests open than its settings say, in all or to one integration",
  signatures: "Every request is signed with its integration's secret, at the time of its attempt"
} as const
export type RuleName = keyof typeof rules

/** Judged where the world is ours as well: on virtual time alone. */
const ofOurWorld: ReadonlySet<string> = new Set<RuleName>(["isolation", "caps", "signatures"])

/** The rules that a run of a kind is held against, in words. */
export const rulesOf = (kind: RunKind): ReadonlyArray<string> =>
  Object.entries(rules).flatMap(([name, rule]) => (kind === "virtual" || !ofOurWorld.has(name) ? [rule] : []))
