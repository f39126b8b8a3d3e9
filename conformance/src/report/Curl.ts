/**
 * A request as a curl command, to do by hand what the suite did.
 */
import { Shell, Signature } from "@doorhook/core"
import type { Evidence } from "../executor/Judgement.ts"
import type { HttpRequest } from "../observed/HttpRequest.ts"
import { shownUrl } from "../record/Shown.ts"
import { decisiveOf } from "./Evidence.ts"

const quoted = (url: URL): string => Shell.quote(shownUrl(url))

/**
 * The command; one that sends twice if the event had been sent before, to whichever URL that was. A signature is left out:
 * it is good for minutes only, and reports go to others. The deadline is in milliseconds.
 */
export const curlOf = (url: URL, request: HttpRequest, deadline: number, before: URL | null): string => {
  const there = quoted(url)
  const once = commandOf(there, request, deadline)
  if (before === null) return once
  return before.href === url.href
    ? `for attempt in 1 2; do ${once}; echo; done`
    : `for url in ${quoted(before)} ${there}; do ${commandOf('"$url"', request, deadline)}; echo; done`
}

const commandOf = (url: string, { body, headers, method }: HttpRequest, deadline: number): string =>
  [
    `curl -sS -i --max-time ${deadline / 1_000} ${url}`,
    ...(method === "POST" ? [] : [`-X ${method}`]),
    ...Object.entries(headers)
      .filter(([name]) => name !== Signature.headerNames.signature)
      .map(([name, value]) => `-H ${Shell.quote(`${name}: ${value}`)}`),
    `--data-binary ${Shell.quote(body)}`
  ].join(" ")

/** What was sent when a verdict was decided: once, or again where the event had been sent. Null where no request decided. */
export const byHand = (evidence: Evidence, deadline: number): string | null => {
  const decisive = decisiveOf(evidence)
  if (decisive === undefined) return null
  const { endpoint, event, first, request } = decisive
  const before = first ? undefined : evidence.trace.attempts.find((one) => one.event === event)
  return curlOf(new URL(endpoint), request, deadline, before === undefined ? null : new URL(before.endpoint))
}
