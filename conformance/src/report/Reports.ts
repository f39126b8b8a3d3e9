/**
 * The forms of reports that `--report` can write to a file.
 */
import { checkDifferent, checkWritable, CommandFailure, writeNamed } from "@doorhook/core"
import type { NamedFile } from "@doorhook/core"
import { Effect, Result } from "effect"
import { toHtml } from "./Html.ts"
import { toJUnit } from "./JUnit.ts"
import { toJson } from "./Report.ts"
import type { Report } from "./Report.ts"
import { toMarkdown } from "./Text.ts"

const kinds = {
  json: toJson,
  junit: toJUnit,
  html: toHtml,
  md: toMarkdown
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
