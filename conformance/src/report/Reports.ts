/**
 * The kinds of report that can be written to a file: one entry each.
 */
import { CommandFailure } from "@doorhook/core"
import { Effect, FileSystem, Path, Result } from "effect"
import { toBadge } from "./Badge.ts"
import { toHar } from "./Har.ts"
import { toHtml } from "./html/HtmlReport.ts"
import { toJUnit } from "./JUnit.ts"
import { toMarkdown } from "./Markdown.ts"
import type { Report } from "./Report.ts"
import { toJson } from "./Report.ts"
import { toStatement } from "./Statement.ts"

const kinds = {
  json: toJson,
  junit: toJUnit,
  html: toHtml,
  md: toMarkdown,
  har: toHar,
  statement: toStatement,
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

const cannotWrite = (flag: string, file: string, why: string): CommandFailure =>
  CommandFailure.usage(`${flag}: ${file} can't be written (${why})`)

/** Finds out before the run whether a file that a flag names can be written after it. */
export const checkFile = Effect.fnUntraced(function* (flag: string, file: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const folder = path.dirname(path.resolve(file))
  const isFolder = yield* fs.stat(file).pipe(
    Effect.map(({ type }) => type === "Directory"),
    // What does not exist yet is no folder.
    Effect.orElseSucceed(() => false)
  )
  if (isFolder) return yield* cannotWrite(flag, file, "it is a folder")
  const exists = yield* fs.exists(folder).pipe(Effect.mapError((error) => cannotWrite(flag, file, error.message)))
  if (!exists) return yield* cannotWrite(flag, file, "its folder does not exist")
})

/** The same for all reports. */
export const checkWritable = (requests: ReadonlyArray<Request>) =>
  Effect.forEach(requests, ({ file }) => checkFile("--report", file), { discard: true })

/** Writes the reports. */
export const write = Effect.fnUntraced(function* (requests: ReadonlyArray<Request>, report: Report) {
  const fs = yield* FileSystem.FileSystem
  for (const { file, kind } of requests) {
    yield* fs
      .writeFileString(file, kinds[kind](report))
      .pipe(Effect.mapError((error) => cannotWrite("--report", file, error.message)))
  }
})
