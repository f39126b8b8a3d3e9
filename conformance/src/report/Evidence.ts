/**
 * What was sent and what came back, as a report tells it.
 */
import { Signature, UrlPolicy } from "@doorhook/core"
import type { Evidence } from "../executor/Judgement.ts"
import type { Attempt, Trace } from "../observed/Trace.ts"
import { exchangeInWords } from "../checks/Words.ts"
import { inWords } from "../history/Words.ts"
import type { ReportedAttempt, ReportedEffects, ReportedRequirement, Step } from "./Report.ts"

/** The most of an answer that is reported, in characters. */
const longestExcerpt = 1_000
/** The most of a request's body that is reported, in characters. */
const longestBody = 4_096
/** The most attempts of one step that are reported. */
const mostAttempts = 40

export const round = (value: number): number => Math.round(value * 1_000) / 1_000

/** A signature is good for some minutes, and reports go to others. */
const withoutSignature = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      name.toLowerCase() === Signature.headerNames.signature && value !== "" ? "(left out)" : value
    ])
  )

const reportAttempt = ({
  endpoint,
  exchange,
  number,
  request,
  reused,
  started,
  webhook_id
}: Attempt): ReportedAttempt => ({
  number,
  got: exchangeInWords(exchange),
  webhookId: webhook_id,
  startedMs: round(started),
  connection: reused ? "reused" : "new",
  elapsedMs: round(exchange.elapsed),
  request: {
    method: request.method,
    url: UrlPolicy.shownUrl(new URL(endpoint)),
    headers: withoutSignature(request.headers),
    body: request.body.slice(0, longestBody),
    bodyBytes: Buffer.byteLength(request.body, request.encoding)
  },
  ...(exchange._tag === "Answered"
    ? {
        status: exchange.status,
        headersMs: round(exchange.headers_elapsed),
        ended: exchange.ending,
        bytes: exchange.bytes,
        excerpt: exchange.excerpt.slice(0, longestExcerpt),
        error: exchange.detail,
        responseHeaders: exchange.headers
      }
    : {
        status: null,
        headersMs: null,
        ended: exchange.outcome,
        bytes: 0,
        excerpt: "",
        error: exchange.detail,
        responseHeaders: {}
      })
})

/** The attempts of a step that are reported: the first of many, and the one that decided. */
const chosen = (trace: Trace, op: number, decisive: Attempt | undefined): ReadonlyArray<Attempt> => {
  const all = trace.attempts.filter((attempt) => attempt.op === op)
  const first = all.slice(0, mostAttempts)
  return decisive !== undefined && decisive.op === op && !first.includes(decisive) ? [...first, decisive] : first
}

/** The attempt that decided; none where it was not one attempt's doing. */
export const decisiveOf = ({ attempt, trace }: Evidence): Attempt | undefined =>
  attempt === null ? undefined : trace.attempts[attempt]

/** The history, step by step. */
export const stepsOf = (evidence: Evidence): ReadonlyArray<Step> => {
  const { trace } = evidence
  const words = inWords(trace.history.ops)
  return trace.history.ops.map((op, index) => {
    const attempts = chosen(trace, index, decisiveOf(evidence))
    return {
      did: words[index] ?? "",
      op,
      attempts: attempts.map(reportAttempt),
      moreAttempts: trace.attempts.filter((attempt) => attempt.op === index).length - attempts.length
    }
  })
}

export const decidedBy = (evidence: Evidence): ReportedRequirement["decidedBy"] => {
  const decisive = decisiveOf(evidence)
  if (decisive === undefined) return null
  return { step: decisive.op, attempt: chosen(evidence.trace, decisive.op, decisive).indexOf(decisive) }
}

/** What the probe said of the events, those that are right left out where there are many. */
export const effectsOf = ({ trace }: Evidence): ReadonlyArray<ReportedEffects> => {
  const all = trace.events.flatMap((event, index): ReadonlyArray<ReportedEffects> => {
    const seen = trace.effects[index] ?? null
    if (seen === null) return []
    return [
      {
        event: index + 1,
        webhookId: event.webhookId,
        dataId: event.dataId,
        effects: seen.last,
        ...(seen.most > seen.last ? { most: seen.most } : {}),
        digestMatches: seen.digest === null ? null : seen.digest === event.digest
      }
    ]
  })
  return all.length <= mostAttempts
    ? all
    : all.filter(({ effects, most }) => effects !== 1 || most !== undefined).slice(0, mostAttempts)
}
