/**
 * Explains one requirement in blocks of text. The console, HTML, Markdown and JUnit reports only lay the blocks out, so
 * their wording is the same.
 */
import { shownText } from "@doorhook/core"
import { Predicate } from "effect"
import { exactText, isExactNumber, parseExact } from "../history/Json.ts"
import type { Verdict } from "../judgement/Verdict.ts"
import { safeText } from "./Report.ts"
import type { ReportedAttempt, ReportedEffects, ReportedRequirement } from "./Report.ts"
import { listed, longestCurl, times } from "./Steps.ts"

/** A labelled part of an explanation: one line, or several preformatted lines. */
export interface Block {
  readonly label: string
  readonly lines: ReadonlyArray<string>
  /** Whether reports emphasise the block, and show it even of a folded failure. */
  readonly isImportant: boolean
}

/** Returns a text on one line, shortened and without secrets, because it may quote the receiver. */
export const oneLine = (text: string, most = 400): string => shownText(safeText(text), most)

const block = (label: string, ...lines: ReadonlyArray<string>): Block => ({ label, lines, isImportant: false })

export const observedBlock = (text: string): Block => ({ label: "Observed", lines: [oneLine(text)], isImportant: true })

/** Describes the answer to an attempt. Names its event if the history has several. */
const answerLine = ({ excerpt, got, webhookId }: ReportedAttempt, { effects }: ReportedRequirement): string => {
  const body = oneLine(excerpt, 80)
  const event = effects.find((one) => one.webhookId === webhookId)?.event
  const about = event === undefined || effects.length === 1 ? "" : `event ${event}: `
  return `   got   ${about}${oneLine(got, 300)}${body === "" ? "" : `: ${body}`}`
}

/** Maximum number of attempts shown per step. The JSON report contains more. */
const mostAttempts = 6

/** Returns the history line by line. Marks the attempt that decided the verdict. */
const historyLines = (requirement: ReportedRequirement): ReadonlyArray<string> => {
  const { decidedBy, history } = requirement
  const decisive = history[decidedBy?.step ?? -1]?.attempts[decidedBy?.attempt ?? -1]
  return history.flatMap(({ attempts, did, moreAttempts }, step) => {
    const shown = attempts.filter((attempt, index) => index < mostAttempts || attempt.webhookId === decisive?.webhookId)
    const more = attempts.length - shown.length + moreAttempts
    return [
      `${step + 1}. ${attempts.length === 0 ? "then" : "sent"}  ${oneLine(did)}`,
      ...shown.map((one) => `${answerLine(one, requirement)}${one === decisive ? "   <- here" : ""}`),
      ...(more === 0 ? [] : [`   and ${more.toLocaleString("en-US")} more attempts`])
    ]
  })
}

/** Maximum number of events whose effects are listed. */
const mostEffects = 5
/** Maximum number of differing members of stored data that are listed. */
const mostMembers = 8

const isNotable = ({ digestMatches, effects, most }: ReportedEffects): boolean =>
  effects !== 1 || most !== undefined || digestMatches === false

const effectsInWords = ({ digestMatches, effects, event, most, webhookId }: ReportedEffects): string => {
  const did = effects === 0 ? "took no effect" : `took effect ${times(effects)}`
  const before = most === undefined ? "" : ` at the latest reading, ${times(most)} before`
  return `event ${event} ${did}${before}${digestMatches === false ? ", and the stored data differs from what was sent" : ""} (webhook-id ${webhookId})`
}

/** Lists the wrong effects and summarizes the others. */
export const notableEffects = ({ effects }: Pick<ReportedRequirement, "effects">): ReadonlyArray<string> => {
  const notable = effects.filter(isNotable)
  if (notable.length === 0 && effects.length > mostEffects) return [`all ${effects.length} events took effect once`]
  const shown = notable.length === 0 ? effects : notable
  const others = effects.length - shown.length
  return [
    ...shown.slice(0, mostEffects).map(effectsInWords),
    ...(shown.length > mostEffects ? [`and ${shown.length - mostEffects} more like these`] : []),
    ...(others === 0 ? [] : [`${others === 1 ? "the other event" : `the other ${others} events`} took effect once`])
  ].map((one) => oneLine(one, 300))
}

/** Returns the differing members of the first event that was not stored as it was sent. */
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
    block(
      "Probe",
      ...notableEffects(requirement),
      ...(isHidden ? ["return `data` beside `digest` in the probe's answer to see which member differs"] : [])
    ),
    ...(members.length === 0
      ? []
      : [
          block(
            "Stored data",
            ...members.flatMap(({ path, sent, stored }) => [path, `  sent    ${sent}`, `  stored  ${stored}`])
          )
        ])
  ]
}

/**
 * Says how often the history failed again when repeated. A failure that does not recur is usually a race, but it still
 * counts as proof.
 */
export const confirmedInWords = ({ failed, tried }: NonNullable<ReportedRequirement["confirmed"]>): string => {
  const done = `${times(tried)}${tried === 1 ? "" : ", one at a time"}: it`
  if (failed === 0) return `${done} did not fail again, so it probably depends on timing or on concurrent requests`
  return failed === tried ? `${done} failed ${tried === 1 ? "again" : "each time"}` : `${done} failed ${times(failed)}`
}

const isBroken = (verdict: Verdict): boolean => verdict === "FAIL" || verdict === "WARN"

/** Whether a verdict needs an explanation: it is neither PASS nor SKIPPED. */
export const isOpen = ({ verdict }: Pick<ReportedRequirement, "verdict">): boolean =>
  verdict !== "PASS" && verdict !== "SKIPPED"

const curlBlock = (curl: string): Block =>
  curl.length > longestCurl
    ? block("By hand", "the request is long: see `curl` in the JSON report (--report json=FILE)")
    : block("By hand", ...safeText(curl).split("\n"))

const originInWords = {
  fixed: "a fixed case",
  seed: "drawn from the seed",
  other: "a case of another requirement"
} as const

const caseInWords = ({ isShortened, origin, title }: NonNullable<ReportedRequirement["case"]>): string =>
  `${title} (${originInWords[origin]}${isShortened ? "; the history is shortened" : ""})`

/** Returns the blocks about a requirement, in display order. */
export const blocksOf = (requirement: ReportedRequirement): ReadonlyArray<Block> => {
  const { because, case: found, confirmed, curl, cutShort, expected, fails, follows = [], history, known } = requirement
  const { observed, replay, source, strength, verdict } = requirement
  const again = block("Again", safeText(replay))
  const seen = observed === "" ? [] : [observedBlock(observed)]
  if (!isBroken(verdict) && history.length === 0) {
    const short = cutShort.map((one) => block("Cut short", oneLine(one)))
    return [...seen, ...short, ...(isOpen(requirement) && verdict !== "NOT_OBSERVABLE" ? [again] : [])]
  }
  return [
    ...(known ? [block("Known", "it is in the baseline")] : []),
    block("Expected", expected),
    ...seen,
    ...(verdict === "WARN" && strength === "MUST"
      ? [
          block(
            "Only WARN",
            `this part of the requirement is a SHOULD${fails ? ", which counts with --strict" : " and does not change the exit code"}`
          )
        ]
      : []),
    ...(follows.length === 0 ? [] : [block("Follows", `probably from ${listed(follows)}: correct that first`)]),
    ...(found === null ? [] : [block("Case", caseInWords(found))]),
    ...(history.length === 0 ? [] : [block("History", ...historyLines(requirement))]),
    ...effectBlocks(requirement),
    ...(confirmed === null ? [] : [block("Repeated", confirmedInWords(confirmed))]),
    ...(isBroken(verdict) ? [block("Because", because)] : []),
    block("Source", source),
    ...(curl === null ? [] : [curlBlock(curl)]),
    again
  ]
}

interface Difference {
  readonly path: string
  readonly sent: string
  readonly stored: string
}

const longest = 300
const missing = "(missing)"

/** Renders a value on one line, with invisible and combining characters as their codes. */
const shown = (value: unknown): string => {
  const visible = exactText(value).replaceAll(/[\u007f-\u00a0]|\p{Cf}|\p{Mn}/gu, (one) => {
    const code = one.codePointAt(0) ?? 0
    return `\\u${code > 0xffff ? `{${code.toString(16)}}` : code.toString(16).padStart(4, "0")}`
  })
  return shownText(safeText(visible), longest)
}

/** Number of characters shown before the first difference of two long texts; twice as many are shown from there on. */
const around = 20

/** Renders two texts. Cuts long texts to the part around the first difference, and adds their lengths. */
const shownTexts = (sent: string, stored: string): Omit<Difference, "path"> => {
  const [before, after] = [Array.from(sent), Array.from(stored)]
  if (Math.max(before.length, after.length) <= 4 * around) return { sent: shown(sent), stored: shown(stored) }
  const different = before.findIndex((character, place) => character !== after[place])
  const from = Math.max(0, (different === -1 ? before.length : different) - around)
  const part = (all: ReadonlyArray<string>): string => {
    const to = from + 3 * around
    const text = `${from === 0 ? "" : "..."}${all.slice(from, to).join("")}${all.length > to ? "..." : ""}`
    return `${shown(text)} (${all.length} characters)`
  }
  return { sent: part(before), stored: part(after) }
}

const childrenOf = (value: object): ReadonlyMap<string, unknown> =>
  new Map(
    Object.entries(value).map(([name, one]) => [
      Array.isArray(value) ? `[${name}]` : /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`,
      one
    ])
  )

const isHolder = (value: unknown): value is object => Array.isArray(value) || Predicate.isObject(value)

const between = (path: string, sent: unknown, stored: unknown): ReadonlyArray<Difference> => {
  if (exactText(sent, true) === exactText(stored, true)) return []
  if (Predicate.isString(sent) && Predicate.isString(stored) && !isExactNumber(sent) && !isExactNumber(stored))
    return [{ path, ...shownTexts(sent, stored) }]
  if (!isHolder(sent) || !isHolder(stored) || Array.isArray(sent) !== Array.isArray(stored)) {
    return [{ path, sent: shown(sent), stored: shown(stored) }]
  }
  const [before, after] = [childrenOf(sent), childrenOf(stored)]
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const child = `${path}${name}`
    if (!after.has(name)) return [{ path: child, sent: shown(before.get(name)), stored: missing }]
    if (!before.has(name)) return [{ path: child, sent: missing, stored: shown(after.get(name)) }]
    return between(child, before.get(name), after.get(name))
  })
}

/**
 * Returns the members that differ between two JSON texts, with their paths and all digits; none if either text isn't
 * JSON.
 */
export const differencesOf = (sent: string, stored: string): ReadonlyArray<Difference> => {
  const [before, after] = [parseExact(sent), parseExact(stored)]
  return before === undefined || after === undefined ? [] : between("data", before, after)
}

/** Returns the data of the event in a body as JSON text; null if the body isn't an event. */
export const dataOf = (body: string): string | null => {
  const parsed = parseExact(body)
  const event = Predicate.hasProperty(parsed, "event") ? parsed.event : null
  return Predicate.hasProperty(event, "data") ? exactText(event.data) : null
}
