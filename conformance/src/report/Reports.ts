/**
 * The report forms that `--report` can write to a file, and the code of two small ones: the HTTP archive and the badge.
 */
import { checkDifferent, checkWritable, CommandFailure, writeNamed } from "@doorhook/core"
import type { NamedFile } from "@doorhook/core"
import { Effect, Result } from "effect"
import { version } from "../record/Evidence.ts"
import { claimOf, gapsOf, isFailure } from "./Explanation.ts"
import { toHtml } from "./Html.ts"
import { toJUnit } from "./JUnit.ts"
import { safeHeaders, safeText, safeUrl, toJson } from "./Report.ts"
import type { Report, ReportedAttempt, ReportedRequirement } from "./Report.ts"
import { toMarkdown } from "./Text.ts"

export const toBadge = (report: Report): string => {
  const failed = report.requirements.filter(isFailure).length
  const states = {
    pass: { message: claimOf(report), color: gapsOf(report) === "" ? "brightgreen" : "yellow" },
    fail: { message: failed === 0 ? "baseline stale" : `${failed} failed`, color: "red" },
    inconclusive: { message: "inconclusive", color: "lightgrey" }
  } as const
  return `${JSON.stringify({ schemaVersion: 1, label: "webhook receiver", ...states[report.verdict] }, null, 2)}\n`
}

const headersOf = (headers: Readonly<Record<string, string>>) =>
  safeHeaders(headers).map(([name, value]) => ({ name, value }))

const valueOf = (headers: Readonly<Record<string, string>>, name: string): string =>
  Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? ""

/** HAR's value for an unknown size or time. */
const notKnown = -1

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
      headersSize: notKnown,
      bodySize: request.bodyBytes
    },
    response: {
      // In HAR, status 0 means that no answer arrived.
      status: status ?? 0,
      statusText: status === null ? (error ?? "") : "",
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: headersOf(responseHeaders),
      content: { size: bytes, mimeType: valueOf(responseHeaders, "content-type"), text: safeText(excerpt) },
      redirectURL: valueOf(responseHeaders, "location"),
      headersSize: notKnown,
      bodySize: bytes
    },
    cache: {},
    timings: {
      blocked: notKnown,
      dns: notKnown,
      connect: notKnown,
      send: 0,
      wait: headersMs ?? elapsedMs,
      receive: headersMs === null ? 0 : Math.max(0, elapsedMs - headersMs),
      ssl: notKnown
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

const kinds = {
  json: toJson,
  junit: toJUnit,
  html: toHtml,
  md: toMarkdown,
  har: toHar,
  badge: toBadge
} as const satisfies Record<string, (report: Report) => string>
type Kind = keyof typeof kinds

const isKind = (text: string): text is Kind => Object.hasOwn(kinds, text)

/** A report to write. */
export interface Request {
  readonly kind: Kind
  readonly file: string
}

const accepted = Object.keys(kinds)
  .map((kind) => `${kind}=FILE`)
  .join(", ")

const parseOne = (text: string): Result.Result<Request, CommandFailure> => {
  const split = text.indexOf("=")
  const kind = split === -1 ? text : text.slice(0, split)
  const file = split === -1 ? "" : text.slice(split + 1)
  if (!isKind(kind))
    return Result.fail(CommandFailure.usage(`--report ${text}: unknown kind of report; accepted: ${accepted}`))
  if (file === "") return Result.fail(CommandFailure.usage(`--report ${text}: the file is missing; write ${kind}=FILE`))
  return Result.succeed({ kind, file })
}

/** Reads the values of `--report`, each a list like `json=a.json,json=b.json`. */
export const parse = (texts: ReadonlyArray<string>): Result.Result<ReadonlyArray<Request>, CommandFailure> =>
  Result.all(texts.flatMap((text) => text.split(/,(?=[a-z]+=)/)).map(parseOne))

/**
 * Checks before a run that the reports and the files in `beside` can be written. All must be different files, and none
 * may be in `read`.
 */
export const check = (
  requests: ReadonlyArray<Request>,
  beside: ReadonlyArray<NamedFile> = [],
  read: ReadonlyArray<NamedFile> = []
) => {
  const named = [...requests.map(({ file, kind }) => ({ said: `--report ${kind}=${file}`, file })), ...beside]
  return Effect.andThen(
    checkDifferent([...read, ...named]),
    Effect.forEach(named, ({ file, said }) => checkWritable(said, file), { discard: true })
  )
}

export const write = (requests: ReadonlyArray<Request>, report: Report) =>
  Effect.forEach(requests, ({ file, kind }) => writeNamed("--report", file, kinds[kind](report)), { discard: true })
