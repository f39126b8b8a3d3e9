/**
 * `--report`: the forms that can be written to a file.
 */
import { checkDifferent, checkWritable, CommandFailure, writeNamed } from "@doorhook/core"
import type { NamedFile } from "@doorhook/core"
import { Effect, Result } from "effect"
import { toBadge } from "./Badge.ts"
import { toHar } from "./Har.ts"
import { toHtml } from "./HtmlReport.ts"
import { toJUnit } from "./JUnit.ts"
import { toMarkdown } from "./Markdown.ts"
import type { Report } from "./Report.ts"
import { toJson } from "./Report.ts"

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

/** A report to be written. */
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
    return Result.fail(CommandFailure.usage(`--report ${text}: there is no such report; there is ${accepted}`))
  if (file === "") return Result.fail(CommandFailure.usage(`--report ${text}: the file is missing; write ${kind}=FILE`))
  return Result.succeed({ kind, file })
}

/** Reads what `--report` was given, each a list like `json=a.json,json=b.json`. */
export const parse = (texts: ReadonlyArray<string>): Result.Result<ReadonlyArray<Request>, CommandFailure> =>
  Result.all(texts.flatMap((text) => text.split(/,(?=[a-z]+=)/)).map(parseOne))

/** Checks before a run that the reports and the files `beside` them can be written, each to its own file and none that is `read`. */
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

/** Writes the reports. */
export const write = (requests: ReadonlyArray<Request>, report: Report) =>
  Effect.forEach(requests, ({ file, kind }) => writeNamed("--report", file, kinds[kind](report)), { discard: true })
