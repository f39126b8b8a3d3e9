/**
 * Puts a report into words: the conclusion (exit code, headline, claim and its gaps), the failures with root causes
 * first, a line for each requirement, and the notes. All reports for people lay out this explanation. The command
 * itself sets the exit codes 3 (wrong usage) and 130 (interrupted).
 */
import { Array as Arrays } from "effect"
import { verdicts } from "../judgement/Verdict.ts"
import type { Verdict } from "../judgement/Verdict.ts"
import { memoryInWords } from "../record/Evidence.ts"
import { select } from "../requirements/Catalogue.ts"
import { families } from "../requirements/Requirement.ts"
import { blocksOf, isOpen, observedBlock, oneLine } from "./Blocks.ts"
import type { Block } from "./Blocks.ts"
import type { Report, ReportedRequirement } from "./Report.ts"

export const exitCodes = { passed: 0, failed: 1, inconclusive: 2, unusable: 4 } as const

const exitCodeByVerdict = { pass: 0, fail: 1, inconclusive: 2 } as const

const isUnusable = ({ ended }: Pick<Report, "ended">): boolean =>
  ended === "target_unusable" || ended === "probe_unusable"

/** Returns the exit code. An unusable receiver or probe takes precedence over the verdict. */
export const exitCodeOf = (report: Pick<Report, "ended" | "verdict">): number =>
  isUnusable(report) ? exitCodes.unusable : exitCodeByVerdict[report.verdict]

/**
 * Returns the verdict of a run. Failures in the baseline do not fail the run, but a requirement in the baseline that
 * passed does. A run can't pass if it was interrupted, or if its receiver or probe became unusable. A run that only
 * reached `--max-time` can.
 */
export const verdictOf = (
  requirements: ReadonlyArray<ReportedRequirement>,
  ended: Report["ended"],
  stale: ReadonlyArray<string>
): Report["verdict"] => {
  if (stale.length > 0 || requirements.some(isFailure)) return "fail"
  const isBrokenOff = ended !== "complete" && ended !== "time_up"
  return isBrokenOff || requirements.some(isUndecided) || requirements.every(({ verdict }) => verdict !== "PASS")
    ? "inconclusive"
    : "pass"
}

/** Whether nothing could be sent. One reason then explains every untested requirement. */
export const neverBegan = (report: Report): boolean => report.attempts === 0 && isUnusable(report)

/** Whether a requirement fails the run. */
export const isFailure = ({ fails }: Pick<ReportedRequirement, "fails">): boolean => fails

/** Whether a requirement makes the run inconclusive. */
export const isUndecided = ({ strength, verdict }: Pick<ReportedRequirement, "strength" | "verdict">): boolean =>
  strength === "MUST" && (verdict === "INCONCLUSIVE" || verdict === "ERROR")

const idsOf = (requirements: ReadonlyArray<ReportedRequirement>): string => requirements.map(({ id }) => id).join(", ")

const soFar = "these are the results up to that point. "

const endings: Readonly<Record<Report["ended"], string>> = {
  complete: "",
  time_up: "The run reached --max-time before everything was done. ",
  interrupted: `Interrupted: ${soFar}`,
  target_unusable: `The receiver could no longer be reached or operated: ${soFar}`,
  probe_unusable: `The probe could no longer be used: ${soFar}`,
  stayed_down: `The receiver was killed and did not start again: ${soFar}`
}

/** Says what ended an incomplete run, in a sentence with a trailing space; empty for a complete run. */
const endingOf = (report: Report): string => {
  if (!neverBegan(report)) return endings[report.ended]
  return report.ended === "probe_unusable"
    ? "The probe could not be used. "
    : "The receiver could not be reached or operated. "
}

const whyOpen = (report: Report): string => {
  if (report.requirements.every(({ verdict }) => verdict === "SKIPPED")) return report.endedBecause
  const ids = idsOf(report.requirements.filter(isUndecided))
  return `Inconclusive: ${ids === "" ? "nothing passed" : `${ids} could not be decided`}. ${endingOf(report)}`.trimEnd()
}

/** Says in one line why a run did not pass; null if it passed. */
export const shortcomingOf = (report: Report): string | null => {
  const failures = report.requirements.filter(isFailure)
  const roots = failures.filter(({ under }) => under === null)
  const followers = failures.length - roots.length
  const failed = `${idsOf(roots)}${followers === 0 ? "" : ` (and ${followers} that probably ${followers === 1 ? "follows" : "follow"})`}`
  switch (exitCodeOf(report)) {
    case exitCodes.passed:
      return null
    case exitCodes.failed:
      return failed === ""
        ? `The baseline is stale: ${(report.baseline?.stale ?? []).join(", ")} passed. Remove it from the baseline, so that it can't fail again unnoticed.`
        : `The receiver does not conform: ${failed} failed.`
    case exitCodes.unusable:
      return failed === "" ? report.endedBecause : `${report.endedBecause} Before that, ${failed} failed.`
    default:
      return whyOpen(report)
  }
}

const levels: Readonly<Record<Report["level"], string>> = { 1: "L1 acknowledges", 2: "L2 once", 3: "L3 durable" }

/**
 * Counts the gaps of a pass, in words: untested requirements of its level, and known failures. Empty if there are none.
 */
const gapsOf = ({ level, profiles, requirements }: Report): string => {
  const whole = new Set<string>(select({ level, profile: profiles, only: [], skip: [] }).selected.map(({ id }) => id))
  const tested = requirements.filter(({ id, verdict }) => whole.has(id) && verdict !== "SKIPPED").length
  const known = requirements.filter((one) => one.known && one.verdict === "FAIL").length
  return [
    ...(tested < whole.size ? [`${tested} of ${whole.size} requirements`] : []),
    ...(known > 0 ? [`${known} known to fail`] : [])
  ].join(", ")
}

/** Says what a pass claims: the level, the profiles and the bindings, with the gaps. */
const claimOf = (report: Report): string => {
  const { bindings, level, profiles } = report
  const gaps = gapsOf(report)
  return `${[levels[level], ...profiles].join(" + ")}${bindings === undefined ? "" : ` for ${bindings.join(" and ")}`}${gaps === "" ? "" : ` (${gaps})`}`
}

/** Returns the claim. Adds how long the receiver was seen to remember ids, unless R-DUP-06 tested that. */
const claimWithHorizon = (report: Report): string => {
  const { level, memory, requirements, verdict } = report
  const isTested = requirements.some((one) => one.id === "R-DUP-06" && one.verdict === "PASS")
  const horizon = verdict === "pass" && level > 1 && memory !== undefined && !isTested ? memoryInWords(memory) : ""
  return [claimOf(report), ...(horizon === "" ? [] : [horizon])].join(", ")
}

/** Returns the verdict as a headline. */
const headlineOf = (report: Report): string => {
  if (report.verdict === "inconclusive") return "Inconclusive"
  if (report.verdict === "fail") return "The receiver does not conform"
  return gapsOf(report) === "" ? "The receiver conforms" : "The receiver conforms in part"
}

/** A requirement that did not pass, with the failures that it probably caused. */
export interface Explained {
  /** One id, or several if the requirements are open for the same reason. */
  readonly ids: ReadonlyArray<string>
  readonly verdict: Verdict
  readonly headline: string
  readonly blocks: ReadonlyArray<Block>
  readonly followers: ReadonlyArray<Explained>
}

/** A family of requirements. */
export interface Summary {
  /** Middle part of the requirements' ids, such as `DUP`. */
  readonly key: string
  readonly name: string
  readonly lines: ReadonlyArray<{
    readonly id: string
    readonly verdict: Verdict
    /** Level, profile, and whether the requirement is a SHOULD. */
    readonly scope: string
    readonly statement: string
    /** The evidence of a pass; empty for other verdicts. */
    readonly observed: string
    readonly requirement: ReportedRequirement
  }>
}

export interface Explanation {
  readonly headline: string
  readonly claim: string
  /** Number of requirements with each verdict, such as `12 PASS, 1 FAIL`. */
  readonly counts: string
  /** How an incomplete run ended, and why; empty for a complete run. */
  readonly ending: string
  readonly explained: ReadonlyArray<Explained>
  readonly summary: ReadonlyArray<Summary>
  readonly notes: ReadonlyArray<string>
}

/** Explains one requirement alone, for a JUnit test case or a vitest test. */
export const explainRequirement = (requirement: ReportedRequirement): Explained => ({
  ids: [requirement.id],
  verdict: requirement.verdict,
  headline: requirement.statement,
  blocks: blocksOf(requirement),
  followers: []
})

const order: ReadonlyArray<Verdict> = ["FAIL", "ERROR", "WARN", "INCONCLUSIVE", "NOT_OBSERVABLE"]

/** Returns why a requirement is open, without the number of cases done, which differs between requirements. */
const reasonOf = ({ observed }: ReportedRequirement): string =>
  observed.replace(/[:,]? (?:with )?\d+ of \d+ cases done$/, "")

/** Merges requirements that are open for the same reason into one entry, to keep failures visible. */
const together = (requirements: ReadonlyArray<ReportedRequirement>): ReadonlyArray<Explained> =>
  Object.values(Arrays.groupBy(requirements, (one) => (one.history.length > 0 ? one.id : reasonOf(one)))).map(
    ([first, ...others]) =>
      others.length === 0
        ? explainRequirement(first)
        : {
            ids: [first, ...others].map(({ id }) => id),
            verdict: first.verdict,
            headline: `${others.length + 1} requirements, for the same reason`,
            blocks: [observedBlock(reasonOf(first))],
            followers: []
          }
  )

/**
 * Returns the requirements that did not pass, sorted by severity of the verdict, then by the number of failures they
 * probably caused.
 */
const explainedOf = (report: Report): ReadonlyArray<Explained> => {
  if (neverBegan(report)) return []
  const open = report.requirements.filter(isOpen)
  const explain = (one: ReportedRequirement): Explained => ({
    ...explainRequirement(one),
    followers: open.filter(({ under }) => under === one.id).map(explain)
  })
  return order.flatMap((verdict) => {
    const roots = open.filter((one) => one.verdict === verdict && one.under === null)
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
    observed: verdict === "PASS" ? oneLine(observed) : "",
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

/** Counts the requirements by verdict, without folded ones and verdicts that do not occur. */
export const countsOf = (
  requirements: ReadonlyArray<ReportedRequirement>
): ReadonlyArray<readonly [verdict: Verdict, count: number]> =>
  verdicts.flatMap((verdict) => {
    const count = requirements.filter((one) => one.verdict === verdict && one.under === null).length
    return count === 0 ? [] : [[verdict, count] as const]
  })

const countsInWords = ({ requirements }: Report): string => {
  const folded = requirements.filter(({ under }) => under !== null).length
  return [
    ...countsOf(requirements).map(([verdict, count]) => `${count} ${verdict}`),
    ...(folded === 0 ? [] : [`${folded} that ${folded === 1 ? "follows" : "follow"} from these`])
  ].join(", ")
}

const notesOf = ({ baseline, notes }: Report): ReadonlyArray<string> =>
  [
    ...(baseline === null || baseline.stale.length === 0
      ? []
      : [`The baseline lists requirements that no longer fail: ${baseline.stale.join(", ")}. Remove them.`]),
    ...notes
  ].map((note) => oneLine(note, 600))

export const explanationOf = (report: Report): Explanation => ({
  headline: headlineOf(report),
  claim: claimWithHorizon(report),
  counts: countsInWords(report),
  ending: oneLine(`${endingOf(report)}${report.endedBecause}`, 1_000),
  explained: explainedOf(report),
  summary: summaryOf(report),
  notes: notesOf(report)
})
