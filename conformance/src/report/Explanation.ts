/**
 * What a report says, in words: root causes first with their followers, a line for each requirement, and the notes. Every
 * form that people read lays this out.
 */
import { Array as Arrays } from "effect"
import type { Verdict } from "../judgement/Finding.ts"
import { verdicts } from "../judgement/Finding.ts"
import { families } from "../requirements/Requirement.ts"
import { blocksOf, isOpen, observedBlock, said } from "./Blocks.ts"
import type { Block } from "./Blocks.ts"
import { claimWithHorizon, endingOf, headlineOf, neverBegan } from "./Conclusion.ts"
import type { Report, ReportedRequirement } from "./Report.ts"

/** One requirement that did not pass, with those that probably follow from it. */
export interface Explained {
  /** Several if they are open for one reason. */
  readonly ids: ReadonlyArray<string>
  readonly verdict: Verdict
  readonly headline: string
  readonly blocks: ReadonlyArray<Block>
  readonly followers: ReadonlyArray<Explained>
}

/** A family of requirements. */
export interface Summary {
  /** The middle of their ids: `DUP`. */
  readonly key: string
  readonly name: string
  readonly lines: ReadonlyArray<{
    readonly id: string
    readonly verdict: Verdict
    /** Its level, its profile, and whether it is a SHOULD. */
    readonly scope: string
    readonly statement: string
    /** What a pass rests on; empty for other verdicts. */
    readonly observed: string
    readonly requirement: ReportedRequirement
  }>
}

export interface Explanation {
  readonly headline: string
  readonly claim: string
  /** The number of each verdict. */
  readonly counts: string
  /** How an incomplete run ended, and why; empty for a complete one. */
  readonly ending: string
  readonly explained: ReadonlyArray<Explained>
  readonly summary: ReadonlyArray<Summary>
  readonly notes: ReadonlyArray<string>
}

/** One requirement alone: for JUnit's test cases and vitest's tests. */
export const explainRequirement = (requirement: ReportedRequirement): Explained => ({
  ids: [requirement.id],
  verdict: requirement.verdict,
  headline: requirement.statement,
  blocks: blocksOf(requirement),
  followers: []
})

const order: ReadonlyArray<Verdict> = ["FAIL", "ERROR", "WARN", "INCONCLUSIVE", "NOT_OBSERVABLE"]

/** By id, the cause that a requirement is shown under: one that is no less severe. Without circles. */
const parentsOf = (requirements: ReadonlyArray<ReportedRequirement>): ReadonlyMap<string, string> => {
  const byId = new Map(requirements.map((one) => [one.id, one]))
  const parents = new Map<string, string>()
  const isUnder = (id: string, other: string): boolean => {
    for (let at: string | undefined = id; at !== undefined; at = parents.get(at)) if (at === other) return true
    return false
  }
  for (const { follows = [], id, known, verdict } of requirements) {
    const parent = follows.find((cause) => {
      const one = byId.get(cause)
      return one !== undefined && (one.verdict === "FAIL" || one.verdict === verdict) && (known || !one.known)
        ? !isUnder(cause, id)
        : false
    })
    if (parent !== undefined) parents.set(id, parent)
  }
  return parents
}

/** Why something is open, without its progress, which differs between requirements. */
const reasonOf = ({ observed }: ReportedRequirement): string =>
  observed.replace(/[:,]? (?:with )?\d+ of \d+ cases done$/, "")

/** Requirements that are open for one reason become one entry, so that they do not hide a failure. */
const together = (requirements: ReadonlyArray<ReportedRequirement>): ReadonlyArray<Explained> =>
  Object.values(Arrays.groupBy(requirements, (one) => (one.history.length > 0 ? one.id : reasonOf(one)))).map(
    ([first, ...others]) =>
      others.length === 0
        ? explainRequirement(first)
        : {
            ids: [first, ...others].map(({ id }) => id),
            verdict: first.verdict,
            headline: `${others.length + 1} requirements, for one reason`,
            blocks: [observedBlock(reasonOf(first))],
            followers: []
          }
  )

/** What did not pass: the worst verdict first, and of one verdict what explains most. */
const explainedOf = (report: Report): ReadonlyArray<Explained> => {
  if (neverBegan(report)) return []
  const open = report.requirements.filter(isOpen)
  const parents = parentsOf(open)
  const explain = (one: ReportedRequirement): Explained => ({
    ...explainRequirement(one),
    followers: open.filter(({ id }) => parents.get(id) === one.id).map(explain)
  })
  return order.flatMap((verdict) => {
    const roots = open.filter((one) => one.verdict === verdict && !parents.has(one.id))
    if (verdict === "INCONCLUSIVE" || verdict === "NOT_OBSERVABLE") return together(roots)
    return roots.map(explain).toSorted((a, b) => b.followers.length - a.followers.length)
  })
}

const lineOf = (requirement: ReportedRequirement): Summary["lines"][number] => {
  const { id, level, observed, profile, statement, strength, verdict } = requirement
  const scope = [`level ${level}`, ...(profile === null ? [] : [profile]), ...(strength === "MUST" ? [] : ["should"])]
  return {
    id,
    verdict,
    scope: scope.join(", "),
    statement,
    observed: verdict === "PASS" ? said(observed) : "",
    requirement
  }
}

const names = new Map<string, string>(Object.entries(families))

const summaryOf = ({ requirements }: Report): ReadonlyArray<Summary> =>
  Object.entries(Arrays.groupBy(requirements, ({ id }) => id.split("-")[1] ?? id)).map(([key, members]) => ({
    key,
    name: names.get(key) ?? key,
    lines: members.map(lineOf)
  }))

/** How often each verdict was given, of those that were. */
export const countsOf = ({ requirements }: Report): ReadonlyArray<readonly [verdict: Verdict, count: number]> =>
  verdicts.flatMap((verdict) => {
    const count = requirements.filter((one) => one.verdict === verdict).length
    return count === 0 ? [] : [[verdict, count] as const]
  })

const notesOf = ({ baseline, notes }: Report): ReadonlyArray<string> =>
  [
    ...(baseline === null || baseline.stale.length === 0
      ? []
      : [`The baseline lists requirements that no longer fail: ${baseline.stale.join(", ")}. Take them out.`]),
    ...notes
  ].map((note) => said(note, 600))

export const explanationOf = (report: Report): Explanation => ({
  headline: headlineOf(report),
  claim: claimWithHorizon(report),
  counts: countsOf(report)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(", "),
  ending: said(`${endingOf(report)}${report.endedBecause}`, 1_000),
  explained: explainedOf(report),
  summary: summaryOf(report),
  notes: notesOf(report)
})
