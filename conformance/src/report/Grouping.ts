/**
 * The requirements of a report by what they are about, as reports show them.
 */
import type { Verdict } from "../checks/Finding.ts"
import type { Report, ReportedRequirement } from "./Report.ts"

const names: Readonly<Record<string, string>> = {
  ACK: "Acknowledging",
  DUP: "Duplicates",
  NEW: "Telling events apart",
  LOS: "Losing nothing",
  LATE: "Late answers",
  CRA: "Crashes and restarts",
  ORD: "Order",
  FWD: "Unusual and unknown content",
  HTTP: "HTTP",
  SIG: "Signatures",
  GET: "Other methods"
}

/** The middle of an id: `DUP` of `R-DUP-02`. */
const groupOf = (id: string): string => id.split("-")[1] ?? id

/** What a group is about. */
const groupName = (group: string): string => names[group] ?? group

export interface Group {
  readonly key: string
  readonly name: string
  readonly requirements: ReadonlyArray<ReportedRequirement>
}

/** The groups of a report, in its order. */
export const groupsOf = ({ requirements }: Report): ReadonlyArray<Group> =>
  [...new Set(requirements.map(({ id }) => groupOf(id)))].map((key) => ({
    key,
    name: groupName(key),
    requirements: requirements.filter(({ id }) => groupOf(id) === key)
  }))

/** How often each verdict was given, of those that were. */
export const countsOf = ({ requirements }: Report): ReadonlyArray<readonly [verdict: Verdict, count: number]> => {
  const counts = new Map<Verdict, number>()
  for (const { verdict } of requirements) counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
  return [...counts]
}

/** Whether a verdict wants to be explained: it is neither passed nor left out. */
export const isOpen = ({ verdict }: ReportedRequirement): boolean => verdict !== "PASS" && verdict !== "SKIPPED"

/** What a verdict means, in one line. */
export const meanings: Readonly<Record<Verdict, string>> = {
  PASS: "holds in every case that was tried",
  FAIL: "a case breaks it",
  WARN: "a case breaks it, and it is a SHOULD",
  INCONCLUSIVE: "could not be decided",
  NOT_OBSERVABLE: "can't be seen with what the receiver shows",
  SKIPPED: "left out on request",
  ERROR: "the suite itself failed"
}
