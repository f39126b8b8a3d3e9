/**
 * The explanation of a report in blocks that every form only lays out: the console, HTML, Markdown and JUnit hold no words
 * of their own but headings of columns. Same words, same order everywhere.
 */
import { shownText } from "@doorhook/core"
import type { Verdict } from "../judgement/Finding.ts"
import { verdicts } from "../judgement/Finding.ts"
import { families } from "../requirements/Requirement.ts"
import { claimWithHorizon, headlineOf } from "./Claim.ts"
import { longestCurl } from "./Curl.ts"
import { dataOf, differencesOf } from "./Differences.ts"
import type { Difference } from "./Differences.ts"
import { endingOf, neverBegan } from "./Ending.ts"
import { safeText } from "./Redaction.ts"
import type { Report, ReportedAttempt, ReportedEffects, ReportedRequirement } from "./Report.ts"
import { times } from "./Steps.ts"

/** A part of an explanation. */
export type Block =
  /** A labelled sentence: Expected, Observed, Because, Source, Follows, Repeated, Cut short, Known. */
  | { readonly kind: "line"; readonly label: string; readonly text: string; readonly important: boolean }
  /** What was done, step by step; one of the steps and attempts decided. */
  | { readonly kind: "steps"; readonly label: string; readonly steps: ReadonlyArray<StepBlock> }
  /** What to paste: the command that repeats it, the curl command. */
  | { readonly kind: "code"; readonly label: string; readonly text: string }
  /** What was sent and what is stored, where they differ: the members that do. */
  | { readonly kind: "difference"; readonly label: string; readonly members: ReadonlyArray<Difference> }
  /** What the probe said of the events. */
  | { readonly kind: "effects"; readonly label: string; readonly lines: ReadonlyArray<string> }

export interface StepBlock {
  readonly number: number
  readonly did: string
  readonly attempts: ReadonlyArray<{
    readonly at: string
    readonly sent: string
    readonly got: string
    readonly decides: boolean
    readonly attempt: ReportedAttempt
  }>
  /** Words for attempts that are left out; empty where none is. */
  readonly more: string
}

/** One requirement that needs explaining, with those that probably follow from it folded under it. */
export interface Explained {
  /** Several where they are left open for one reason. */
  readonly ids: ReadonlyArray<string>
  readonly verdict: Verdict
  readonly headline: string
  readonly blocks: ReadonlyArray<Block>
  readonly followers: ReadonlyArray<Explained>
}

/** A family of requirements, each with its verdict in one line. */
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
    /** What a pass rests on; empty where it is explained. */
    readonly observed: string
    readonly requirement: ReportedRequirement
  }>
}

export interface Explanation {
  /** The verdict as a headline, and the claim with what it leaves out. */
  readonly headline: string
  readonly claim: string
  /** Numbers of each verdict, in words. */
  readonly counts: string
  /** How it ended, and why nothing more was done; empty where all was. */
  readonly ending: string
  /** Root causes first: FAIL, ERROR, WARN, INCONCLUSIVE, NOT_OBSERVABLE. Those left open for one reason are one entry. */
  readonly explained: ReadonlyArray<Explained>
  readonly summary: ReadonlyArray<Summary>
  readonly notes: ReadonlyArray<string>
}

/** A text that may hold the receiver's words, on one line. */
const said = (text: string, most = 400): string => shownText(safeText(text), most)

const line = (label: string, text: string, important = false): Block => ({ kind: "line", label, text, important })

const milliseconds = (value: number): string => `${Math.round(value).toLocaleString("en-US")} ms`

const attemptBlock = (attempt: ReportedAttempt, decides: boolean): StepBlock["attempts"][number] => {
  const { connection, excerpt, got, number, request, startedMs, webhookId } = attempt
  const body = said(excerpt, 80)
  return {
    at: milliseconds(startedMs),
    sent: `${request.method} ${webhookId}, attempt ${number}, ${connection} connection, at ${milliseconds(startedMs)}`,
    got: `${said(got, 300)}${body === "" ? "" : `: ${body}`}`,
    decides,
    attempt
  }
}

const stepsOf = ({ decidedBy, history }: ReportedRequirement): ReadonlyArray<StepBlock> =>
  history.map(({ attempts, did, moreAttempts }, place) => ({
    number: place + 1,
    did: said(did),
    attempts: attempts.map((attempt, index) =>
      attemptBlock(attempt, decidedBy?.step === place && decidedBy.attempt === index)
    ),
    more: moreAttempts === 0 ? "" : `and ${moreAttempts.toLocaleString("en-US")} more attempts`
  }))

/** The most events whose effects are listed, and the most members. */
const mostEffects = 5
const mostMembers = 8

const effectsInWords = ({ digestMatches, effects, event, most, webhookId }: ReportedEffects): string => {
  const did = effects === 0 ? "took no effect" : `took effect ${times(effects)}`
  const before = most === undefined ? "" : ` at the latest reading, ${times(most)} before`
  return `event ${event} ${did}${before}${digestMatches === false ? ", and what was stored is not what was sent" : ""} (webhook-id ${webhookId})`
}

/** Those of the effects that are not as they should be, and a word on the others. */
export const notableEffects = ({ effects }: Pick<ReportedRequirement, "effects">): ReadonlyArray<string> => {
  const notable = effects.filter((one) => one.effects !== 1 || one.most !== undefined || one.digestMatches === false)
  const shown = notable.length === 0 ? effects : notable
  const others = effects.length - shown.length
  return [
    ...shown.slice(0, mostEffects).map(effectsInWords),
    ...(shown.length > mostEffects ? [`and ${shown.length - mostEffects} more like these`] : []),
    ...(others === 0 ? [] : [`${others === 1 ? "the other event" : `the other ${others} events`} took effect once`])
  ].map((one) => said(one, 300))
}

/** The members that differ, of the first event whose stored data the probe shows. */
const differencesIn = ({ effects, history }: ReportedRequirement): ReadonlyArray<Difference> => {
  const bodies = history.flatMap(({ attempts }) => attempts)
  for (const { stored, webhookId } of effects) {
    if (stored === undefined) continue
    const body = bodies.find((one) => one.webhookId === webhookId)?.request.body
    const sent = body === undefined ? null : dataOf(body)
    const found = sent === null ? [] : differencesOf(sent, stored)
    if (found.length > 0) return found.slice(0, mostMembers)
  }
  return []
}

const effectBlocks = (requirement: ReportedRequirement): ReadonlyArray<Block> => {
  const { effects } = requirement
  if (effects.length === 0) return []
  const members = differencesIn(requirement)
  const hidden = effects.some(({ digestMatches, stored }) => digestMatches === false && stored === undefined)
  return [
    {
      kind: "effects",
      label: "Probe",
      lines: [
        ...notableEffects(requirement),
        ...(hidden ? ["give `data` in the probe's answer beside `digest` to see which member differs"] : [])
      ]
    },
    ...(members.length === 0 ? [] : [{ kind: "difference", label: "Stored", members } as const])
  ]
}

/** How sure that is, in words. What was seen once is proof: one that does not come back is a race, as a rule. */
export const confirmedInWords = ({ failed, tried }: NonNullable<ReportedRequirement["confirmed"]>): string => {
  const done = `done ${times(tried)} more${tried === 1 ? "" : ", one at a time"}: it`
  if (failed === 0) return `${done} did not fail again, so it probably depends on timing or on what else was going on`
  return failed === tried ? `${done} failed ${tried === 1 ? "again" : "each time"}` : `${done} failed ${times(failed)}`
}

const isBroken = ({ verdict }: Pick<ReportedRequirement, "verdict">): boolean =>
  verdict === "FAIL" || verdict === "WARN"

/** Whether a verdict needs explaining: it is neither passed nor left out. */
const isOpen = ({ verdict }: Pick<ReportedRequirement, "verdict">): boolean =>
  verdict !== "PASS" && verdict !== "SKIPPED"

const listed = (ids: ReadonlyArray<string>): string =>
  ids.length < 2 ? ids.join("") : `${ids.slice(0, -1).join(", ")} and ${ids.at(-1)}`

const curlBlock = ({ curl }: ReportedRequirement): ReadonlyArray<Block> =>
  curl === null
    ? []
    : curl.length > longestCurl
      ? [line("By hand", "the request is long: see `curl` in the JSON report (--report json=FILE)")]
      : [{ kind: "code", label: "By hand", text: safeText(curl) }]

const blocksOf = (requirement: ReportedRequirement): ReadonlyArray<Block> => {
  const { because, confirmed, cutShort, expected, follows = [], history, known, observed, replay, source } = requirement
  const again: Block = { kind: "code", label: "Again", text: safeText(replay) }
  const seen = observed === "" ? [] : [line("Observed", said(observed), true)]
  const short = cutShort.map((one) => line("Cut short", said(one)))
  if (!isOpen(requirement)) return [...seen, ...short]
  const isLong = isBroken(requirement) || history.length > 0
  if (!isLong) return [...seen, ...short, ...(requirement.verdict === "NOT_OBSERVABLE" ? [] : [again])]
  return [
    ...(known ? [line("Known", "it is in the baseline")] : []),
    line("Expected", expected),
    ...seen,
    ...(follows.length === 0 ? [] : [line("Follows", `probably from ${listed(follows)}: correct that first`)]),
    ...(history.length === 0 ? [] : [{ kind: "steps", label: "History", steps: stepsOf(requirement) } as const]),
    ...effectBlocks(requirement),
    ...(confirmed === null ? [] : [line("Repeated", confirmedInWords(confirmed))]),
    ...(isBroken(requirement) ? [line("Because", because)] : []),
    line("Source", source),
    ...curlBlock(requirement),
    again
  ]
}

/** One requirement alone: for JUnit's test cases, vitest's tests and `replay`. */
export const explainRequirement = (requirement: ReportedRequirement): Explained => ({
  ids: [requirement.id],
  verdict: requirement.verdict,
  headline: requirement.statement,
  blocks: blocksOf(requirement),
  followers: []
})

const order: ReadonlyArray<Verdict> = ["FAIL", "ERROR", "WARN", "INCONCLUSIVE", "NOT_OBSERVABLE"]

/** What a requirement is folded under, by ids: what it probably follows from, where that says no less. No circles. */
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

/** Why something is open, without how far it came: that differs from one to the next. */
const reasonOf = ({ observed }: ReportedRequirement): string =>
  observed.replace(/[:,]? (?:with )?\d+ of \d+ cases done$/, "")

/** What is left open for one reason is said once: it must not hide what failed. */
const together = (requirements: ReadonlyArray<ReportedRequirement>): ReadonlyArray<Explained> => {
  const groups = new Map<string, ReadonlyArray<ReportedRequirement>>()
  for (const one of requirements) {
    const key = one.history.length > 0 ? `${one.verdict} ${one.id}` : `${one.verdict} ${reasonOf(one)}`
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    if (group.length === 1) return [explainRequirement(first)]
    return [
      {
        ids: group.map(({ id }) => id),
        verdict: first.verdict,
        headline: `${group.length} requirements, for one reason`,
        blocks: [line("Observed", said(reasonOf(first)), true)],
        followers: []
      }
    ]
  })
}

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
    return verdict === "INCONCLUSIVE" || verdict === "NOT_OBSERVABLE" ? together(roots) : roots.map(explain)
  })
}

/** The middle of an id: `DUP` of `R-DUP-02`. */
const familyOf = (id: string): string => id.split("-")[1] ?? id

const nameOf = (key: string): string => Object.entries(families).find(([family]) => family === key)?.[1] ?? key

const summaryOf = ({ requirements }: Report): ReadonlyArray<Summary> =>
  [...new Set(requirements.map(({ id }) => familyOf(id)))].map((key) => ({
    key,
    name: nameOf(key),
    lines: requirements
      .filter(({ id }) => familyOf(id) === key)
      .map((requirement) => {
        const { id, level, observed, profile, statement, strength, verdict } = requirement
        const scope = [
          `level ${level}`,
          ...(profile === null ? [] : [profile]),
          ...(strength === "MUST" ? [] : ["should"])
        ].join(", ")
        return {
          id,
          verdict,
          scope,
          statement,
          observed: verdict === "PASS" ? said(observed) : "",
          requirement
        }
      })
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
      : [`The baseline lists what does not fail any more: ${baseline.stale.join(", ")}. Take it out.`]),
    ...notes
  ].map((note) => said(note, 600))

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

/** What a report says, in words. */
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
