/**
 * Why a delivery stands as it does, in plain words, and what can be done: the one place where states, reasons, outcomes
 * and statuses become sentences. Commands, the operator API and whatever shows deliveries to people say these.
 */
import type { Attempt, Delivery } from "../domain/Delivery.ts"
import type { Integration } from "../domain/Integration.ts"
import { isoOf } from "../domain/IsoTime.ts"
import { goneStatus, heedsRetryAfter } from "./Settling.ts"

/** What of an attempt is explained. */
export type ExplainedAttempt = Pick<Attempt, "number" | "started_at" | "duration_ms" | "outcome" | "status" | "detail">

/** What is known of a delivery. */
export interface Explained {
  readonly delivery: Pick<Delivery, "state" | "reason" | "attempts" | "next_attempt_at">
  /** Its last attempt; null before the first. */
  readonly last: ExplainedAttempt | null
  /** Its integration as it is now; null when it was deleted. */
  readonly integration: Pick<Integration, "status" | "disabled_reason"> | null
}

/** What statuses that do not acknowledge mean, and what helps. The last digits may stand for all of their hundred. */
const meanings: Readonly<Record<string, string>> = {
  "401": "it asks for credentials. Deliveries carry none: the receiver can tell them by their signature",
  "403":
    "it does not let us in. The receiver can tell deliveries by their signature; a firewall may want the service's addresses",
  "404": "nothing is there at the integration's URL. Check the URL",
  "405": "it takes no POST requests at the integration's URL. Check the URL",
  "413": "the event is larger than it accepts",
  "429": "it has too many requests",
  "502": "a proxy in front of it could not reach it",
  "503": "it is unavailable for now",
  "504": "a proxy in front of it got no answer from it",
  "2xx":
    "only 200 acknowledges. Let the receiver answer 200, or let any 2xx acknowledge for this integration (its setting acknowledge: 2xx)",
  "3xx": "a redirect, and redirects are not followed. Change the integration's URL to the place itself",
  "4xx": "it does not accept the request",
  "5xx": "something failed inside it. Its own log says what"
}

const ofStatus = (status: number): string => {
  const meaning = meanings[String(status)] ?? meanings[`${Math.floor(status / 100)}xx`]
  return `The receiver answered ${status}${meaning === undefined ? "" : `: ${meaning}`}.`
}

/** What a failure means, before its own words, and what helps, after them. */
const failures: Readonly<
  Record<Exclude<Attempt["outcome"], "acknowledged" | "bad_status">, readonly [string, string]>
> = {
  timeout: ["The receiver did not complete its answer's headers in time", "It should answer first and work afterwards"],
  connection_refused: ["No connection to the receiver came about", "Check that it runs and can be reached from here"],
  connection_reset: ["The connection to the receiver broke", "Its own log, or that of a proxy before it, may say why"],
  dns: ["The name in the integration's URL has no address", "Check the URL and the name's DNS entries"],
  tls: [
    "No secure connection to the receiver came about",
    "Its certificate must be valid now, for the name in the URL, and issued by a known authority"
  ],
  blocked_address: [
    "Nothing was sent, because the address is not allowed",
    "An operator can allow its network, for the service or for this integration (allow-target)"
  ],
  invalid_response: ["What the receiver answered is not a valid HTTP answer", "Check what listens at the URL"]
}

/** How an attempt ended, in a sentence or two. */
export const explainAttempt = ({ detail, duration_ms, outcome, status }: ExplainedAttempt): string => {
  if (outcome === "acknowledged") return `The receiver acknowledged with ${status ?? 200} after ${duration_ms} ms.`
  if (outcome === "bad_status") return ofStatus(status ?? 0)
  if (outcome === "timeout" && status !== null)
    return `The receiver answered ${status}, but too late: after ${duration_ms} ms. ${failures.timeout[1]}.`
  const [what, advice] = failures[outcome]
  return `${what}${detail === null ? "" : ` (${detail})`}. ${advice}.`
}

const disabledWords = {
  manual: "by hand",
  gone: "because its receiver answered 410 Gone",
  failing: "because its receiver had acknowledged nothing for too long"
} as const

/** Why a delivery stands as it does, and what comes next or can be done: a sentence or more each. */
export interface Explanation {
  readonly why: string
  readonly next: string
}

/** What stands in the way of sending again, and how to. */
const remedy = (integration: Explained["integration"]): string => {
  if (integration === null) return "Nothing more is sent: the integration was deleted."
  if (integration.status === "enabled")
    return "Nothing more is sent unless it is asked for: resend this delivery, or recover all of the integration since a time."
  const by = disabledWords[integration.disabled_reason ?? "manual"]
  return `The integration is disabled, ${by}. Enable it, then resend this delivery or recover all since a time.`
}

const cancelled = ({ delivery: { reason }, integration, last }: Explained): Explanation => {
  const next = remedy(integration)
  switch (reason) {
    case "integration_gone":
      return last?.status === goneStatus
        ? { why: `The receiver answered 410 Gone at ${isoOf(last.started_at)}: the integration was disabled.`, next }
        : {
            why: join(
              last === null ? "" : explainAttempt(last),
              "Then the receiver answered another delivery with 410 Gone: the integration was disabled."
            ),
            next
          }
    case "integration_deleted":
      return { why: "The integration was deleted before this was acknowledged.", next: "Nothing more is sent." }
    case "right_lost":
      return {
        why: "The user who made the integration has no right to these events any more, so this was not sent.",
        next: "Nothing more is sent. When the right is back, resend this delivery."
      }
    default:
      return {
        why: join(
          last === null ? "" : explainAttempt(last),
          "The integration was disabled before this was acknowledged."
        ),
        next
      }
  }
}

const join = (...sentences: ReadonlyArray<string>): string => sentences.filter((sentence) => sentence !== "").join(" ")

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)

/** Why a delivery ended, or what it waits for, and what can be done. */
export const explain = (explained: Explained): Explanation => {
  const { delivery, integration, last } = explained
  const due = delivery.next_attempt_at === null ? "soon" : `at ${isoOf(delivery.next_attempt_at)}`
  const ending = last === null ? "" : explainAttempt(last)
  switch (delivery.state) {
    case "pending":
      return last === null
        ? { why: "It is stored and was not sent yet.", next: `Its first attempt is due ${due}.` }
        : { why: join(ending, "It is to be sent again."), next: `Attempt ${delivery.attempts + 1} is due ${due}.` }
    case "delivering":
      return {
        why: join(ending, "An attempt is under way."),
        next: `If nothing is heard of it, another is made ${due}.`
      }
    case "retrying": {
      const heeded = heedsRetryAfter(last?.status ?? null)
        ? " A Retry-After of the answer is honoured, for up to an hour."
        : ""
      return { why: ending, next: `Attempt ${delivery.attempts + 1} is due ${due}.${heeded}` }
    }
    case "delivered":
      return { why: ending, next: "Nothing: it has arrived." }
    case "exhausted":
      return {
        why: join(ending, `It was tried ${times(delivery.attempts)}, and the schedule has no more attempts.`),
        next: remedy(integration)
      }
    case "expired":
      return {
        why:
          last === null
            ? "Its lifetime was over before an attempt could be made."
            : join(ending, `It was tried ${times(delivery.attempts)} before its lifetime was over.`),
        next: "Nothing more is sent: so late a call would ring for nobody."
      }
    case "skipped":
      return {
        why: "The integration was disabled when the event came, so nothing was sent.",
        next: remedy(integration)
      }
    case "cancelled":
      return cancelled(explained)
  }
}
