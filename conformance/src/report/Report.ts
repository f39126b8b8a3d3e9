/**
 * The report of a run, as data: what `--report json=FILE` writes and every other form is made from.
 */
import { DurationText } from "@doorhook/core"
import { Schema } from "effect"
import type { Terms } from "../checks/Terms.ts"
import { verdicts } from "../checks/Finding.ts"
import type { Verdict } from "../checks/Finding.ts"
import { exchangeInWords } from "../checks/Words.ts"
import type { Ended, Evidence, Outcome } from "../executor/Judgement.ts"
import type { Attempt } from "../executor/Trace.ts"
import { Operation } from "../history/History.ts"
import { inWords } from "../history/Words.ts"
import type { Level, Requirement } from "../requirements/Requirement.ts"
import { suite } from "../Suite.ts"
import { curlOf } from "./Curl.ts"
import { rerunOf } from "./Rerun.ts"
import type { Invocation } from "./Rerun.ts"
import { shownUrl } from "./Shown.ts"

/** One request and what came back. Times in milliseconds. */
const ReportedAttempt = Schema.Struct({
  number: Schema.Int,
  /** What came back, in words. */
  got: Schema.String,
  webhookId: Schema.String,
  /** Since the history began. */
  startedMs: Schema.Finite,
  connection: Schema.Literals(["new", "reused"]),
  status: Schema.NullOr(Schema.Int),
  /** When the answer's headers were there; null when none came. */
  headersMs: Schema.NullOr(Schema.Finite),
  /** When the exchange was over. */
  elapsedMs: Schema.Finite,
  /** `complete`, or how it went wrong. */
  ended: Schema.String,
  /** Bytes of the answer's body. */
  bytes: Schema.Int,
  excerpt: Schema.String,
  error: Schema.NullOr(Schema.String)
})

/** One operation of the history, in words, as data, and with the attempts it made. */
const Step = Schema.Struct({
  did: Schema.String,
  op: Operation,
  attempts: Schema.Array(ReportedAttempt)
})
export type Step = typeof Step.Type

const ReportedRequirement = Schema.Struct({
  id: Schema.String,
  level: Schema.Literals([1, 2, 3]),
  strength: Schema.Literals(["MUST", "SHOULD"]),
  verdict: Schema.Literals(verdicts),
  statement: Schema.String,
  source: Schema.String,
  because: Schema.String,
  expected: Schema.String,
  observed: Schema.String,
  /** What was done, where that decided the verdict; empty when it passed. */
  history: Schema.Array(Step),
  /** The place, in `history`, of the step and the attempt that decided the verdict; null when none did. */
  decidedBy: Schema.NullOr(Schema.Struct({ step: Schema.Int, attempt: Schema.Int })),
  /** The deciding request as a curl command, without its signature; null when no request decided. */
  curl: Schema.NullOr(Schema.String),
  /** The command that does it all again. */
  replay: Schema.String
})
export type ReportedRequirement = typeof ReportedRequirement.Type

export const Report = Schema.Struct({
  schemaVersion: Schema.Literal(1),
  suite: Schema.String,
  seed: Schema.Int,
  target: Schema.String,
  level: Schema.Literals([1, 2, 3]),
  verdict: Schema.Literals(["pass", "fail", "inconclusive"]),
  /** Whether all of it was done, and what ended it if not. */
  ended: Schema.Literals(["complete", "time_up", "interrupted", "target_unusable"]),
  /** Which statuses acknowledge. */
  ack: Schema.Literals(["200", "2xx"]),
  deadlineMs: Schema.Int,
  /** Around the deadline, what the suite can't tell from a late answer. */
  guardMs: Schema.Int,
  attempts: Schema.Int,
  requirements: Schema.Array(ReportedRequirement)
})
export type Report = typeof Report.Type

/** What a report is made from. */
export interface ReportInput {
  readonly invocation: Invocation
  readonly level: Level
  readonly terms: Terms
  readonly outcomes: ReadonlyArray<Outcome>
  readonly skipped: ReadonlyArray<Requirement>
  readonly ended: Ended
  readonly attempts: number
}

/** The most of an answer that is reported, in characters. */
const longestExcerpt = 1_000

const round = (value: number): number => Math.round(value * 1_000) / 1_000

const reportAttempt = ({ exchange, number, reused, started, webhook_id }: Attempt): Step["attempts"][number] => ({
  number,
  got: exchangeInWords(exchange),
  webhookId: webhook_id,
  startedMs: round(started),
  connection: reused ? "reused" : "new",
  elapsedMs: round(exchange.elapsed),
  ...(exchange._tag === "Answered"
    ? {
        status: exchange.status,
        headersMs: round(exchange.headers_elapsed),
        ended: exchange.ending,
        bytes: exchange.bytes,
        excerpt: exchange.excerpt.slice(0, longestExcerpt),
        error: exchange.detail
      }
    : { status: null, headersMs: null, ended: exchange.outcome, bytes: 0, excerpt: "", error: exchange.detail })
})

const stepsOf = ({ trace }: Evidence): ReadonlyArray<Step> => {
  const words = inWords(trace.history.ops)
  return trace.history.ops.map((op, index) => ({
    did: words[index] ?? "",
    op,
    attempts: trace.attempts.filter((attempt) => attempt.op === index).map(reportAttempt)
  }))
}

const decidedBy = ({ attempt, trace }: Evidence): ReportedRequirement["decidedBy"] => {
  const decisive = attempt === null ? undefined : trace.attempts[attempt]
  if (decisive === undefined) return null
  const ofStep = trace.attempts.filter(({ op }) => op === decisive.op)
  return { step: decisive.op, attempt: ofStep.indexOf(decisive) }
}

const reportRequirement = (
  requirement: Requirement,
  verdict: Verdict,
  observed: string,
  evidence: Evidence | null,
  { invocation, terms }: ReportInput
): ReportedRequirement => {
  const decisive =
    evidence === null || evidence.attempt === null ? undefined : evidence.trace.attempts[evidence.attempt]
  return {
    id: requirement.id,
    level: requirement.level,
    strength: requirement.strength,
    verdict,
    statement: requirement.statement,
    source: requirement.source,
    because: requirement.because,
    expected: requirement.expected(terms),
    observed,
    history: evidence === null ? [] : stepsOf(evidence),
    decidedBy: evidence === null ? null : decidedBy(evidence),
    curl: decisive === undefined ? null : curlOf(invocation.url, decisive.request, terms.deadline, !decisive.first),
    replay: rerunOf(invocation, requirement.id)
  }
}

/** What was broken off can have failed, but not passed. */
const verdictOf = (requirements: ReadonlyArray<ReportedRequirement>, { how }: Ended): Report["verdict"] => {
  if (requirements.some(({ verdict }) => verdict === "FAIL")) return "fail"
  if (how === "interrupted" || how === "target_unusable") return "inconclusive"
  const open = requirements.some(
    ({ strength, verdict }) => strength === "MUST" && (verdict === "INCONCLUSIVE" || verdict === "ERROR")
  )
  return open || requirements.every(({ verdict }) => verdict !== "PASS") ? "inconclusive" : "pass"
}

/** Puts a report together. */
export const make = (input: ReportInput): Report => {
  const { attempts, ended, invocation, level, outcomes, skipped, terms } = input
  const requirements = [
    ...outcomes.map(({ evidence, observed, requirement, verdict }) =>
      reportRequirement(requirement, verdict, observed, evidence, input)
    ),
    ...skipped.map((requirement) => reportRequirement(requirement, "SKIPPED", "left out by --skip", null, input))
  ].toSorted((a, b) => a.id.localeCompare(b.id, "en"))
  return {
    schemaVersion: 1,
    suite,
    seed: invocation.seed,
    target: shownUrl(invocation.url),
    level,
    verdict: verdictOf(requirements, ended),
    ended: ended.how,
    ack: terms.rule,
    deadlineMs: terms.deadline,
    guardMs: terms.guard,
    attempts,
    requirements
  }
}

/** The report as JSON text. */
export const toJson = (report: Report): string => `${JSON.stringify(Schema.encodeSync(Report)(report), null, 2)}\n`

/** The deadline of a run, in words. */
export const deadlineInWords = ({ deadlineMs }: Report): string => DurationText.format(deadlineMs)
