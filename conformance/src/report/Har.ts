/**
 * The attempts of failed histories as an HTTP archive (HAR 1.2).
 */
import { version } from "../Suite.ts"
import { safeHeaders, safeText, safeUrl } from "./Redaction.ts"
import type { Report, ReportedAttempt, ReportedRequirement } from "./Report.ts"

const headersOf = (headers: Readonly<Record<string, string>>) =>
  safeHeaders(headers).map(([name, value]) => ({ name, value }))

const valueOf = (headers: Readonly<Record<string, string>>, name: string): string =>
  Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? ""

/** HAR's value for what is not known. */
const unknown = -1

const entryOf = (attempt: ReportedAttempt, startedAt: number, comment: string) => {
  const { bytes, elapsedMs, error, excerpt, headersMs, request, responseHeaders, startedMs, status } = attempt
  return {
    startedDateTime: new Date(startedAt + startedMs).toISOString(),
    time: elapsedMs,
    request: {
      method: request.method,
      url: safeUrl(request.url),
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: headersOf(request.headers),
      queryString: [],
      ...(request.bodyBytes === 0
        ? {}
        : { postData: { mimeType: valueOf(request.headers, "content-type"), text: safeText(request.body) } }),
      headersSize: unknown,
      bodySize: request.bodyBytes
    },
    response: {
      // In HAR, status 0 means that no answer came.
      status: status ?? 0,
      statusText: status === null ? (error ?? "") : "",
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: headersOf(responseHeaders),
      content: { size: bytes, mimeType: valueOf(responseHeaders, "content-type"), text: safeText(excerpt) },
      redirectURL: valueOf(responseHeaders, "location"),
      headersSize: unknown,
      bodySize: bytes
    },
    cache: {},
    timings: {
      blocked: unknown,
      dns: unknown,
      connect: unknown,
      send: 0,
      wait: headersMs ?? elapsedMs,
      receive: headersMs === null ? 0 : Math.max(0, elapsedMs - headersMs),
      ssl: unknown
    },
    comment
  }
}

const entriesOf = ({ history, historyStartedAt, id, verdict }: ReportedRequirement, report: Report) => {
  const startedAt = Date.parse(historyStartedAt ?? report.startedAt)
  return history.flatMap(({ attempts, did }) =>
    attempts.map((attempt) => entryOf(attempt, startedAt, `${verdict} ${id}: ${did}: ${attempt.got}`))
  )
}

export const toHar = (report: Report): string => {
  const entries = report.requirements
    .filter(({ verdict }) => verdict === "FAIL" || verdict === "WARN" || verdict === "ERROR")
    .flatMap((requirement) => entriesOf(requirement, report))
  const log = {
    version: "1.2",
    creator: { name: "doorhook-conformance", version },
    entries,
    comment: `${report.target}, seed ${report.seed}. Signatures are left out.`
  }
  return `${JSON.stringify({ log }, null, 2)}\n`
}
