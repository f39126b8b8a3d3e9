/**
 * The explanation of one requirement, in blocks that every form only lays out: console, HTML, Markdown and JUnit have no
 * words of their own.
 */
import { shownText } from "@doorhook/core"
import type { Verdict } from "../judgement/Finding.ts"
import { longestCurl } from "./Curl.ts"
import { dataOf, differencesOf } from "./Differences.ts"
import type { Difference } from "./Differences.ts"
import { safeText } from "./Redaction.ts"
import type { ReportedAttempt, ReportedEffects, ReportedRequirement } from "./Report.ts"
import { listed, times } from "./Steps.ts"

/** A labelled part of an explanation. */
export type Block =
  | { readonly kind: "line"; readonly label: string; readonly text: string; readonly important: boolean }
  /** Preformatted: a command to paste, or lines that stand below each other. */
  | { readonly kind: "code"; readonly label: string; readonly text: string }
  | { readonly kind: "list"; readonly label: string; readonly lines: ReadonlyArray<string> }
  | { readonly kind: "steps"; readonly label: string; readonly steps: ReadonlyArray<StepBlock> }

/** An operation of the history with its attempts. */
export interface StepBlock {
  readonly number: number
  readonly did: string
  readonly attempts: ReadonlyArray<{
    readonly sent: string
    readonly got: string
    /** Whether it decided the verdict. */
    readonly decides: boolean
    readonly attempt: ReportedAttempt
  }>
  /** Says how many attempts are left out; empty for none. */
  readonly more: string
}

/** A text that may hold the receiver's words, on one line. */
export const said = (text: string, most = 400): string => shownText(safeText(text), most)

const line = (label: string, text: string): Block => ({ kind: "line", label, text, important: false })

export const observedBlock = (text: string): Block => ({
  kind: "line",
  label: "Observed",
  text: said(text),
  important: true
})

const milliseconds = (value: number): string => `${Math.round(value).toLocaleString("en-US")} ms`

const attemptBlock = (
  attempt: ReportedAttempt,
  decides: boolean,
  { effects }: ReportedRequirement
): StepBlock["attempts"][number] => {
  const { connection, excerpt, got, number, request, startedMs, webhookId } = attempt
  const body = said(excerpt, 80)
  const event = effects.find((one) => one.webhookId === webhookId)?.event
  const about = event === undefined || effects.length === 1 ? "" : `event ${event}: `
  return {
    sent: `${request.method} ${webhookId}, attempt ${number}, ${connection} connection, at ${milliseconds(startedMs)}`,
    got: `${about}${said(got, 300)}${body === "" ? "" : `: ${body}`}`,
    decides,
    attempt
  }
}

/** The most attempts of a step that are shown; the JSON report and the HTTP archive have more. */
const mostAttempts = 6

const stepBlocks = (requirement: ReportedRequirement): ReadonlyArray<StepBlock> => {
  const { decidedBy, history } = requirement
  const decisive = history[decidedBy?.step ?? -1]?.attempts[decidedBy?.attempt ?? -1]?.webhookId
  return history.map(({ attempts, did, moreAttempts }, step) => {
    const shown = attempts
      .map((attempt, index) =>
        attemptBlock(attempt, decidedBy?.step === step && decidedBy.attempt === index, requirement)
      )
      .filter(({ attempt, decides }, index) => index < mostAttempts || decides || attempt.webhookId === decisive)
    const more = attempts.length - shown.length + moreAttempts
    return {
      number: step + 1,
      did: said(did),
      attempts: shown,
      more: more === 0 ? "" : `and ${more.toLocaleString("en-US")} more attempts`
    }
  })
}

/** The most events whose effects are listed, and the most members of stored data. */
const mostEffects = 5
const mostMembers = 8

const isNotable = ({ digestMatches, effects, most }: ReportedEffects): boolean =>
  effects !== 1 || most !== undefined || digestMatches === false

const effectsInWords = ({ digestMatches, effects, event, most, webhookId }: ReportedEffects): string => {
  const did = effects === 0 ? "took no effect" : `took effect ${times(effects)}`
  const before = most === undefined ? "" : ` at the latest reading, ${times(most)} before`
  return `event ${event} ${did}${before}${digestMatches === false ? ", and the stored data differs from what was sent" : ""} (webhook-id ${webhookId})`
}

/** The effects that are not as they should be, and a summary of the others. */
export const notableEffects = ({ effects }: Pick<ReportedRequirement, "effects">): ReadonlyArray<string> => {
  const notable = effects.filter(isNotable)
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
  const sent = history.flatMap(({ attempts }) => attempts)
  for (const { stored, webhookId } of effects) {
    const data = dataOf(sent.find((one) => one.webhookId === webhookId)?.request.body ?? "")
    const found = stored === undefined || data === null ? [] : differencesOf(data, stored)
    if (found.length > 0) return found.slice(0, mostMembers)
  }
  return []
}

const effectBlocks = (requirement: ReportedRequirement): ReadonlyArray<Block> => {
  const { effects } = requirement
  if (effects.length === 0) return []
  const members = differencesIn(requirement)
  const isHidden = effects.some(({ digestMatches, stored }) => digestMatches === false && stored === undefined)
  return [
    {
      kind: "list",
      label: "Probe",
      lines: [
        ...notableEffects(requirement),
        ...(isHidden ? ["return `data` beside `digest` in the probe's answer to see which member differs"] : [])
      ]
    },
    ...(members.length === 0
      ? []
      : [
          {
            kind: "code",
            label: "Stored data",
            text: members.map(({ path, sent, stored }) => `${path}\n  sent    ${sent}\n  stored  ${stored}`).join("\n")
          } as const
        ])
  ]
}

/** How often a repeated failure came back. One that does not come back is usually a race, and still proof. */
export const confirmedInWords = ({ failed, tried }: NonNullable<ReportedRequirement["confirmed"]>): string => {
  const done = `${times(tried)}${tried === 1 ? "" : ", one at a time"}: it`
  if (failed === 0) return `${done} did not fail again, so it probably depends on timing or on concurrent requests`
  return failed === tried ? `${done} failed ${tried === 1 ? "again" : "each time"}` : `${done} failed ${times(failed)}`
}

const isBroken = (verdict: Verdict): boolean => verdict === "FAIL" || verdict === "WARN"

/** Whether a verdict needs explaining: it is neither passed nor left out. */
export const isOpen = ({ verdict }: Pick<ReportedRequirement, "verdict">): boolean =>
  verdict !== "PASS" && verdict !== "SKIPPED"

const curlBlock = (curl: string): Block =>
  curl.length > longestCurl
    ? line("By hand", "the request is long: see `curl` in the JSON report (--report json=FILE)")
    : { kind: "code", label: "By hand", text: safeText(curl) }

/** What a report says of a requirement, in this order. */
export const blocksOf = (requirement: ReportedRequirement): ReadonlyArray<Block> => {
  const { because, confirmed, curl, cutShort, expected, follows = [], history, known } = requirement
  const { observed, replay, source, strength, verdict } = requirement
  const again: Block = { kind: "code", label: "Again", text: safeText(replay) }
  const seen = observed === "" ? [] : [observedBlock(observed)]
  if (!isBroken(verdict) && history.length === 0) {
    const short = cutShort.map((one) => line("Cut short", said(one)))
    return [...seen, ...short, ...(isOpen(requirement) && verdict !== "NOT_OBSERVABLE" ? [again] : [])]
  }
  return [
    ...(known ? [line("Known", "it is in the baseline")] : []),
    line("Expected", expected),
    ...seen,
    ...(verdict === "WARN" && strength === "MUST"
      ? [line("Only WARN", "this much of the requirement is a SHOULD, so that it does not change the exit code")]
      : []),
    ...(follows.length === 0 ? [] : [line("Follows", `probably from ${listed(follows)}: correct that first`)]),
    ...(history.length === 0 ? [] : [{ kind: "steps", label: "History", steps: stepBlocks(requirement) } as const]),
    ...effectBlocks(requirement),
    ...(confirmed === null ? [] : [line("Repeated", confirmedInWords(confirmed))]),
    ...(isBroken(verdict) ? [line("Because", because)] : []),
    line("Source", source),
    ...(curl === null ? [] : [curlBlock(curl)]),
    again
  ]
}
