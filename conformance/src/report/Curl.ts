/**
 * A request as a curl command, to do by hand what the suite did; where one command can't show it, none.
 */
import { Shell, Signature, UrlPolicy } from "@doorhook/core"
import type { HttpRequest } from "../evidence/Exchange.ts"
import type { Attempt } from "../evidence/Trace.ts"
import { isByCurl } from "../history/Operations.ts"
import type { Operation } from "../history/Operations.ts"
import { formOf, variationOf } from "../history/Variations.ts"
import type { Variation } from "../history/Variations.ts"
import { cased } from "../http/Wire.ts"
import type { Outcome } from "../record/Verdict.ts"
import { decisiveOf } from "./Steps.ts"

/** A longer command is left to the JSON report: that of an ordinary event that came twice is not. */
export const longestCurl = 3_000

/** One request of a command, and what was unusual about how it was sent. */
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

/** Came another way than by itself. */
const isBeyondCurl = (op: Operation | undefined): boolean => op !== undefined && "by" in op && op.by !== "plain"

/**
 * What was sent of an event until a verdict was decided. Null where no request decided; and where the command would show
 * something else than the suite saw, for what it leaves out: a signature, what was sent of other events before (the
 * shortest history that failed is reported, so that all before counts), what happened in between.
 */
export const byHand = (
  decisive: Pick<NonNullable<Outcome["decisive"]>, "attempt" | "terms" | "trace">
): string | null => {
  const { terms, trace } = decisive
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
  return all.some(({ how }) => how.some((one) => variationOf(one).curl === null)) ? null : curlOf(all, terms.deadline)
}
