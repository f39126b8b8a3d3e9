/**
 * Shows a trace in a report: the operations with their attempts, the actions of other cases on the receiver during
 * them, the effects, and a curl command that repeats the requests.
 */
import { Shell, Signature, UrlPolicy } from "@doorhook/core"
import type { HttpRequest } from "../evidence/Exchange.ts"
import type { Attempt, Trace, TraceIntervention } from "../evidence/Trace.ts"
import { inWords, isByCurl } from "../history/Operations.ts"
import type { Operation } from "../history/Operations.ts"
import { formOf, variationOf } from "../history/Variations.ts"
import type { Variation } from "../history/Variations.ts"
import { cased } from "../http/Wire.ts"
import { crowdInWords, exchangeInWords } from "../judgement/Criteria.ts"
import { storiesOf } from "../judgement/Judge.ts"
import { withoutSignature } from "../record/Evidence.ts"
import type { Outcome } from "../record/Outcome.ts"
import type { ReportedAttempt, ReportedEffects, ReportedRequirement, Step } from "./Report.ts"

/** Length of the reported part of an answer, in characters. */
const longestExcerpt = 1_000
/** Length of the reported part of a request's body, in characters. */
const longestBody = 4_096
/** Maximum number of attempts to report for a step. */
const mostAttempts = 40

export const round = (value: number): number => Math.round(value * 1_000) / 1_000

export const times = (count: number): string => (count === 1 ? "once" : `${count.toLocaleString("en-US")} times`)

const gotOf = ({ event, exchange, inFlight, limit, started }: Attempt, { attempts }: Trace): string => {
  const answer = exchangeInWords(exchange)
  if (limit === null) return answer
  const isRepeated = attempts.some((one) => one.event === event && one.started > started)
  return `${answer}, ${crowdInWords(limit, inFlight)}${isRepeated ? "; sent again after a pause" : ""}`
}

const reportAttempt = (attempt: Attempt, trace: Trace): ReportedAttempt => {
  const { endpoint, exchange, number, request, reused, started, webhook_id } = attempt
  return {
    number,
    got: gotOf(attempt, trace),
    webhookId: webhook_id,
    startedMs: round(started),
    connection: reused ? "reused" : "new",
    elapsedMs: round(exchange.elapsed),
    request: {
      method: request.method,
      url: UrlPolicy.shownUrl(new URL(endpoint)),
      headers: withoutSignature(request.headers),
      body: request.body.slice(0, longestBody),
      bodyBytes: Buffer.byteLength(request.body)
    },
    ...(exchange._tag === "Answered"
      ? { status: exchange.status, excerpt: exchange.excerpt.slice(0, longestExcerpt) }
      : { status: null, excerpt: "" })
  }
}

type Decisive = NonNullable<Outcome["decisive"]>

/** Returns the attempt that decided the verdict; undefined if no single attempt did. */
const decisiveOf = ({ attempt, trace }: Pick<Decisive, "attempt" | "trace">): Attempt | undefined =>
  attempt === null ? undefined : trace.attempts[attempt]

/** Returns the first attempts of a step, and all attempts of the decisive event. */
const chosen = (trace: Trace, op: number, decisive: Attempt | undefined): ReadonlyArray<Attempt> =>
  trace.attempts
    .filter((attempt) => attempt.op === op)
    .filter(({ event }, place) => place < mostAttempts || event === decisive?.event)

/**
 * Returns the index of the step that ran at a time. Prefers a step without attempts if there is one between the
 * attempts before and after that time.
 */
const stepAt = ({ attempts, history: { ops } }: Trace, at: number): number => {
  const before = Math.max(-1, ...attempts.filter(({ started }) => started <= at).map(({ op }) => op))
  const after = Math.min(ops.length, ...attempts.filter(({ started }) => started > at).map(({ op }) => op))
  return after > before + 1 ? before + 1 : Math.max(0, before)
}

const acts = {
  killed: (whom: string) => `killed ${whom}`,
  restarted: (whom: string) => `restarted ${whom}`,
  paused: (whom: string) => `paused ${whom}`,
  clock_moved: (whom: string) => `moved the clock of ${whom}`
} as const

/** Describes the actions of other cases on the receiver. */
const doneByOthers = (interventions: ReadonlyArray<TraceIntervention>): ReadonlyArray<string> => {
  const kinds = [...new Set(interventions.map(({ what }) => what))]
  return kinds.map((kind, place) => {
    const count = interventions.filter(({ what }) => what === kind).length
    return `${acts[kind](place === 0 ? "the receiver" : "it")}${count === 1 ? "" : ` ${times(count)}`}`
  })
}

/** `a`, `a and b`, `a, b and c`. */
export const listed = (parts: ReadonlyArray<string>): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`

/** Says why actions of other cases may have contributed to the failure; null if they can't have. */
const partInWords = (decisive: Decisive): string | null => {
  const { isOrdinary, symptom } = decisive
  if (isOrdinary) return null
  if (symptom === "lost" || symptom === "doubled" || symptom === "doubled_at_once")
    return "which matters if it keeps ids or effects in memory"
  return decisiveOf(decisive)?.exchange._tag === "Failed" ? "which leaves requests in flight without an answer" : null
}

/** Returns a text to append to each step: the actions of other cases during the step, and why they matter. */
const doneBesides = (decisive: Decisive, follows: boolean): ReadonlyArray<string> => {
  const part = follows ? null : partInWords(decisive)
  const { trace } = decisive
  const { began, history, interventions, otherEvents } = trace
  const others = interventions.filter(({ op }) => op === null)
  const placed = others.map((one) => ({ one, step: stepAt(trace, one.from - began) }))
  const long = history.ops.findIndex(({ k }) => k === "age")
  return history.ops.map((_, step) => {
    const done = [
      ...doneByOthers(placed.filter((each) => each.step === step).map(({ one }) => one)),
      ...(step === long && otherEvents > 0 ? [`sent ${otherEvents.toLocaleString("en-US")} other events`] : [])
    ]
    return done.length === 0 || part === null ? "" : `; in between, other cases ${listed(done)}, ${part}`
  })
}

/**
 * Returns the history step by step. If another failure probably caused this failure, leaves out the actions of other
 * cases.
 */
export const stepsOf = (decisive: Decisive, follows: boolean): ReadonlyArray<Step> => {
  const { trace } = decisive
  const words = inWords(trace.history.ops)
  const besides = doneBesides(decisive, follows)
  return trace.history.ops.map((op, index) => {
    const attempts = chosen(trace, index, decisiveOf(decisive))
    return {
      did: `${words[index] ?? ""}${besides[index] ?? ""}`,
      op,
      attempts: attempts.map((one) => reportAttempt(one, trace)),
      moreAttempts: trace.attempts.filter((attempt) => attempt.op === index).length - attempts.length
    }
  })
}

export const decidedBy = (decisive: Decisive): ReportedRequirement["decidedBy"] => {
  const attempt = decisiveOf(decisive)
  if (attempt === undefined) return null
  return { step: attempt.op, attempt: chosen(decisive.trace, attempt.op, attempt).indexOf(attempt) }
}

/**
 * Returns the effects of the events, the decisive event first. If there are many events, returns only wrong effects.
 * Leaves out events that were never acknowledged and rightly took no effect, such as those that a limit refused.
 */
export const effectsOf = (
  one: Pick<Decisive, "attempt" | "criteria" | "event" | "trace">
): ReadonlyArray<ReportedEffects> => {
  const { criteria, event: decisive, trace } = one
  const about = decisive ?? decisiveOf(one)?.event
  const owed = new Set(
    storiesOf(trace, criteria).flatMap(({ event, state }) => (state === "acknowledged" ? [event] : []))
  )
  const all = trace.events.flatMap((event, index): ReadonlyArray<ReportedEffects> => {
    const seen = trace.effects[index] ?? null
    if (seen === null || (seen.most === 0 && index !== about && !owed.has(index))) return []
    const digestMatches = seen.digest === null ? null : seen.digest === (event.exactDigest ?? event.digest)
    return [
      {
        event: index + 1,
        webhookId: event.webhookId,
        dataId: event.dataId,
        effects: seen.last,
        ...(seen.most > seen.last ? { most: seen.most } : {}),
        digestMatches,
        ...(digestMatches === false && seen.data !== undefined ? { stored: seen.data.slice(0, longestBody) } : {})
      }
    ]
  })
  const isFirst = ({ event }: ReportedEffects): boolean => event - 1 === decisive
  const ordered = [...all.filter(isFirst), ...all.filter((one) => !isFirst(one))]
  return ordered.length <= mostAttempts
    ? ordered
    : ordered
        .filter(({ digestMatches, effects, most }) => effects !== 1 || most !== undefined || digestMatches === false)
        .slice(0, mostAttempts)
}

/**
 * Length of the longest curl command shown outside the JSON report, in characters. Enough for an ordinary event sent
 * twice.
 */
export const longestCurl = 3_000

/** One request of a command, and its variations. */
export interface ByHand {
  readonly url: URL
  readonly request: HttpRequest
  readonly how: ReadonlyArray<Variation>
}

const headerOf = (name: string, value: string): string => Shell.quote(value === "" ? `${name};` : `${name}: ${value}`)

const commandOf = (url: string, { how, request: { body, headers, method } }: ByHand, deadline: number): string =>
  [
    `curl -sS -i --max-time ${deadline / 1_000} ${url}`,
    ...(method === "POST" ? [] : [`-X ${method}`]),
    ...new Set(how.flatMap((one) => variationOf(one).curl ?? []).filter((words) => words !== "")),
    ...Object.entries(headers).map(([name, value]) => `-H ${headerOf(cased(name, formOf(how).headerCase), value)}`),
    `--data-binary ${Shell.quote(body)}`
  ].join(" ")

/** Returns the command that sends these requests in sequence. The deadline is in milliseconds. */
export const curlOf = (sent: ReadonlyArray<ByHand>, deadline: number): string => {
  const urls = sent.map(({ url }) => Shell.quote(UrlPolicy.shownUrl(url)))
  const [one = "", ...others] = new Set(sent.map((each) => commandOf('"$url"', each, deadline)))
  if (others.length > 0) return sent.map((each, place) => commandOf(urls[place] ?? "", each, deadline)).join("; echo; ")
  if (new Set(sent.map(({ url }) => url.href)).size > 1) return `for url in ${urls.join(" ")}; do ${one}; echo; done`
  const once = one.replace('"$url"', () => urls[0] ?? "")
  return sent.length === 1
    ? once
    : `for attempt in ${sent.map((_, place) => place + 1).join(" ")}; do ${once}; echo; done`
}

const howOf = (op: Operation | undefined): ReadonlyArray<Variation> => (op !== undefined && "how" in op ? op.how : [])

/** Whether a request is signed. Reports leave signatures out, so no command can repeat such a request. */
const isSigned = ({ request: { headers } }: Attempt): boolean => (headers[Signature.headerNames.signature] ?? "") !== ""

/** Whether an operation sends a forged request in a form that curl can't repeat. */
const isBeyondCurl = (op: Operation | undefined): boolean => op !== undefined && "by" in op && op.by !== "plain"

/**
 * Returns the curl command that sends the requests that decided a verdict. Null if no request decided it, or if the
 * command would have to leave out a signature, another event or an action on the receiver. (The reported history is the
 * shortest that failed, so everything in it matters.)
 */
export const curlCommand = (
  decisive: Pick<NonNullable<Outcome["decisive"]>, "attempt" | "criteria" | "trace">
): string | null => {
  const { criteria, trace } = decisive
  const last = decisiveOf(decisive)
  if (last === undefined) return null
  const { attempts, history, interventions } = trace
  const sent = attempts.slice(0, attempts.indexOf(last) + 1)
  if (interventions.length > 0 || !history.ops.every(isByCurl)) return null
  if (sent.some((one) => one.event !== last.event || isSigned(one) || isBeyondCurl(history.ops[one.op]))) {
    return null
  }
  const all = sent.map(({ endpoint, op, request }) => ({
    url: new URL(endpoint),
    request,
    how: howOf(history.ops[op])
  }))
  return all.some(({ how }) => how.some((one) => variationOf(one).curl === null))
    ? null
    : curlOf(all, criteria.deadline)
}
