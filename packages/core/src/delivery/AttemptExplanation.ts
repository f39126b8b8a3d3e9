/**
 * Explains the outcome of an attempt in plain words and suggests a remedy. No other module turns outcomes and statuses into text.
 */
import type { Attempt } from "../model/Delivery.ts"

/** Who reads an explanation: an operator of the service, or the owner of the integration, who doesn't know the service's network. */
export type Reader = "operator" | "owner"

/** The members of an attempt that an explanation uses. */
export type ExplainedAttempt = Pick<Attempt, "number" | "started_at" | "duration_ms" | "outcome" | "status" | "detail">

/** Meaning and remedy of each status that does not acknowledge. `4xx` stands for all statuses from 400 to 499. */
const meanings: Readonly<Record<string, string>> = {
  "401":
    "it rejects the signature, or requires credentials, which deliveries don't carry. Check that the receiver has this integration's signing secret (it can be replaced: rotate_secret) and the right time, and verifies the body before it parses it",
  "403":
    "it refuses access. The receiver can recognize deliveries by their signature; a firewall may have to allow the service's addresses",
  "404": "nothing is there at the integration's URL. Check the URL",
  "405": "it takes no POST requests at the integration's URL. Check the URL",
  "413": "the event is larger than it accepts",
  "429": "it gets too many requests",
  "502": "a proxy in front of it could not reach it",
  "503": "it is unavailable for now",
  "504": "a proxy in front of it got no answer from it",
  "2xx":
    "only 200 acknowledges. Let the receiver answer 200, or let any 2xx acknowledge for this integration (its setting acknowledge: 2xx)",
  "3xx": "a redirect, and redirects are not followed. Change the integration's URL to the redirect's target",
  "4xx": "it does not accept the request",
  "5xx": "it had an internal error. Its own log may say more"
}

/** Meanings for owners, without remedies that only operators can apply. */
const ownerMeanings: typeof meanings = { ...meanings, "2xx": "only 200 acknowledges. Let the receiver answer 200" }

const ofStatus = (status: number, detail: string | null, reader: Reader): string => {
  const known = reader === "owner" ? ownerMeanings : meanings
  const meaning = known[String(status)] ?? known[`${Math.floor(status / 100)}xx`]
  const said = `The receiver answered ${status}${meaning === undefined ? "" : `: ${meaning}`}.`
  return detail === null ? said : `${said} It ${detail}.`
}

/** For each failure, its meaning and a remedy. The attempt's detail is shown between the two. */
const failures: Readonly<
  Record<Exclude<Attempt["outcome"], "acknowledged" | "bad_status">, readonly [string, string]>
> = {
  timeout: ["The receiver did not complete its answer's headers in time", "It should answer first and work afterwards"],
  connection_refused: [
    "No connection to the receiver could be made",
    "Check that it runs and can be reached from here"
  ],
  connection_reset: [
    "The connection to the receiver broke",
    "Its log, or the log of a proxy in front of it, may say why"
  ],
  dns: ["The name in the integration's URL has no address", "Check the URL and the name's DNS entries"],
  tls: [
    "No secure connection to the receiver could be made",
    "Its certificate must be valid now, for the name in the URL, and issued by a known authority; use ca-file to add your own"
  ],
  blocked_address: [
    "This attempt was not sent, because the address is not allowed",
    "An operator can allow its network, for the service or for this integration (allow-target)"
  ],
  invalid_response: ["The receiver's answer is not valid HTTP", "Check what listens at the URL"]
}

/** The same for owners, without details of the service's network. */
const ownerFailures: typeof failures = {
  ...failures,
  timeout: [
    "No answer came in time",
    "Check that the receiver can be reached, and that it answers first and works afterwards"
  ],
  tls: [failures.tls[0], "Its certificate must be valid now, for the name in the URL, and issued by a known authority"],
  blocked_address: [
    failures.blocked_address[0],
    "Give the integration a URL with a public address, or ask the operators of this service to allow this one"
  ]
}

/** How an attempt ended, in a sentence or two. */
export const explainAttempt = (attempt: ExplainedAttempt, reader: Reader = "operator"): string => {
  const { duration_ms, outcome, status } = attempt
  const detail = reader === "owner" ? null : attempt.detail
  if (outcome === "acknowledged") return `The receiver acknowledged with ${status ?? 200} after ${duration_ms} ms.`
  if (outcome === "bad_status") return ofStatus(status ?? 0, detail, reader)
  if (outcome === "timeout" && status !== null)
    return `The receiver answered ${status}, but too late: after ${duration_ms} ms. ${failures.timeout[1]}.`
  const [what, helps] = (reader === "owner" ? ownerFailures : failures)[outcome]
  return `${what}${detail === null ? "" : ` (${detail})`}. ${helps}.`
}
