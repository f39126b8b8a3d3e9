/**
 * A request as a curl command, to do by hand what the suite did.
 */
import { Shell, Signature } from "@doorhook/core"
import type { HttpRequest } from "../observed/HttpRequest.ts"
import { shownUrl } from "../record/Shown.ts"

/**
 * The command; one that sends twice if what matters is the second time. A signature is left out: it is good for minutes
 * only, and reports go to others. The deadline is in milliseconds.
 */
export const curlOf = (url: URL, request: HttpRequest, deadline: number, twice: boolean): string => {
  const once = commandOf(url, request, deadline)
  return twice ? `for attempt in 1 2; do ${once}; echo; done` : once
}

const commandOf = (url: URL, { body, headers, method }: HttpRequest, deadline: number): string =>
  [
    `curl -sS -i --max-time ${deadline / 1_000} ${Shell.quote(shownUrl(url))}`,
    ...(method === "POST" ? [] : [`-X ${method}`]),
    ...Object.entries(headers)
      .filter(([name]) => name !== Signature.headerNames.signature)
      .map(([name, value]) => `-H ${Shell.quote(`${name}: ${value}`)}`),
    `--data-binary ${Shell.quote(body)}`
  ].join(" ")
