/**
 * Explains in plain words how an attempt ended and what to do about it.
 */
import { Option } from "effect"
import type { Attempt } from "../model/Delivery.ts"
import * as DurationText from "../model/DurationText.ts"
import { maxRetryAfter } from "../model/RetryPolicy.ts"
import type { SentenceKey, Sentences } from "../model/Sentences.ts"
import { say, sentences } from "../model/Sentences.ts"
import { causeIn } from "../model/TlsProblem.ts"
import { placeIn } from "./Redirect.ts"
import { waitIn } from "./Settlements.ts"

/**
 * Reader of an explanation: an operator, or the integration's owner, who must not learn about the service's network.
 */
export type Reader = "operator" | "owner"

/** The members of an attempt that an explanation uses. */
export type ExplainedAttempt = Pick<Attempt, "number" | "started_at" | "duration_ms" | "outcome" | "status" | "detail">

const isKey = (key: string): key is SentenceKey => Object.hasOwn(sentences, key)

/** Returns the key of the sentence about an outcome, cause or status, preferably the sentence for this reader. */
const keyFor = (name: string, reader: Reader): SentenceKey | null => {
  const [key, own] = [`attempt_${name}`, `attempt_${name}_${reader}`]
  if (isKey(own)) return own
  return isKey(key) ? key : null
}

/** Returns sentences about where a redirect points, or how long the receiver asked to wait. */
const answerSaid = (detail: string | null): Sentences => {
  const place = placeIn(detail)
  if (place !== null) return [say("attempt_points", { place })]
  const wait = Option.getOrNull(Option.flatMap(Option.fromNullishOr(waitIn(detail)), DurationText.parse))
  if (wait === null) return []
  const asked = { wait: { duration: wait } }
  return wait > maxRetryAfter
    ? [say("attempt_asked_more", { ...asked, most: { duration: maxRetryAfter } })]
    : [say("attempt_asked", asked)]
}

const ofStatus = (status: number, detail: string | null, reader: Reader): Sentences => {
  const key = keyFor(String(status), reader) ?? keyFor(`${Math.floor(status / 100)}xx`, reader) ?? "attempt_status"
  return [say(key, { status }), ...answerSaid(detail)]
}

/** Explains how an attempt ended, in one or two sentences. */
export const explainAttempt = (attempt: ExplainedAttempt, reader: Reader = "operator"): Sentences => {
  const { duration_ms: millis, outcome, status } = attempt
  const detail = reader === "owner" ? null : attempt.detail
  if (outcome === "acknowledged") return [say("attempt_acknowledged", { status: status ?? 200, millis })]
  if (outcome === "bad_status") return ofStatus(status ?? 0, detail, reader)
  if (outcome === "timeout" && status !== null) return [say("attempt_late", { status, millis })]
  const cause = keyFor(causeIn(attempt.detail) ?? "", reader)
  return [
    say(cause ?? keyFor(outcome, reader) ?? `attempt_${outcome}`, { detail: detail === null ? "" : ` (${detail})` })
  ]
}
