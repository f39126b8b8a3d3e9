/**
 * A request as a curl command, to do by hand what the suite did; where one command can't show it, none.
 */
import { Shell, Signature, UrlPolicy } from "@doorhook/core"
import type { Evidence } from "../executor/Judgement.ts"
import { cased } from "../executor/Wire.ts"
import type { Operation, Variation } from "../history/History.ts"
import type { Attempt } from "../observed/Trace.ts"
import type { HttpRequest } from "../observed/HttpRequest.ts"
import { decisiveOf } from "./Evidence.ts"

/** A longer command is left to the JSON report: that of an ordinary event that came twice is not. */
export const longestCurl = 3_000

/** What a variation takes of curl besides the request's headers and body; null where curl has no means for it. */
const means: Readonly<Record<Variation, string | null>> = {
  next_attempt: "",
  resigned: "",
  aged: "",
  reencoded: "",
  reordered: "",
  escaped: "",
  kept: null,
  new_connection: "",
  close: "-H 'connection: close'",
  chunked: "--http1.1 -H 'transfer-encoding: chunked'",
  slow: null,
  expect: "--http1.1 -H 'expect: 100-continue'",
  // The names themselves are written so; later versions of HTTP know but one case.
  upper_headers: "--http1.1",
  title_headers: "--http1.1",
  content_type_charset: "",
  content_type_case: "",
  changed: "",
  signature_last: "",
  signature_first: "",
  signature_among_unknown: "",
  old_stamp: "",
  early_stamp: ""
}

/** Whether requests one after the other, each by a curl of its own, do what an operation does. */
const byCurl: Readonly<Record<Operation["k"], boolean>> = {
  new: true,
  again: true,
  retry: true,
  retry_open: true,
  again_all: true,
  race_new: false,
  race_again: false,
  volleys: false,
  twins: false,
  shuffled: false,
  filler: false,
  cut_new: false,
  cut_again: false,
  abort_storm: false,
  stalled: false,
  forged: true,
  forged_again: true,
  malformed: true,
  method_new: true,
  method_again: true,
  elsewhere: true,
  idle: false,
  age: false,
  restart: false,
  kill_amid: false,
  pause_during: false,
  advance: false,
  load: false
}

/** One request of a command, and what was unusual about how it was sent. */
export interface ByHand {
  readonly url: URL
  readonly request: HttpRequest
  readonly how: ReadonlyArray<Variation>
}

const headerOf = (name: string, value: string): string => Shell.quote(value === "" ? `${name};` : `${name}: ${value}`)

const caseOf = (how: ReadonlyArray<Variation>) =>
  how.includes("upper_headers") ? "upper" : how.includes("title_headers") ? "title" : "lower"

const commandOf = (url: string, { how, request: { body, headers, method } }: ByHand, deadline: number): string =>
  [
    `curl -sS -i --max-time ${deadline / 1_000} ${url}`,
    ...(method === "POST" ? [] : [`-X ${method}`]),
    ...new Set(how.flatMap((one) => means[one] ?? []).filter((words) => words !== "")),
    ...Object.entries(headers).map(([name, value]) => `-H ${headerOf(cased(name, caseOf(how)), value)}`),
    `--data-binary ${Shell.quote(body)}`
  ].join(" ")

/** The command that sends these, one after the other. The deadline is in milliseconds. */
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

/** A signature is good for minutes only, and reports go to others: it is left out, and nothing is shown without it. */
const isSigned = ({ request: { headers } }: Attempt): boolean => (headers[Signature.headerNames.signature] ?? "") !== ""

/**
 * What was sent of an event until a verdict was decided. Null where no request decided; and where the command would show
 * something else than the suite saw, for what it leaves out: a signature, what was sent of other events before (the
 * shortest history that failed is told, so that all before counts), what happened meanwhile.
 */
export const byHand = (evidence: Evidence, deadline: number): string | null => {
  const decisive = decisiveOf(evidence)
  if (decisive === undefined) return null
  const { attempts, history } = evidence.trace
  const sent = attempts.slice(0, attempts.indexOf(decisive) + 1)
  if (!history.ops.every(({ k }) => byCurl[k])) return null
  if (sent.some((one) => one.event !== decisive.event || isSigned(one))) return null
  const all = sent.map(({ endpoint, op, request }) => ({
    url: new URL(endpoint),
    request,
    how: howOf(history.ops[op])
  }))
  return all.some(({ how }) => how.some((one) => means[one] === null)) ? null : curlOf(all, deadline)
}
