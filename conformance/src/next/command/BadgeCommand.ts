/**
 * `conformance badge`: a badge from a report that was kept.
 */
import { CommandFailure, fileTrouble } from "@doorhook/core"
import { Console, Effect, FileSystem, Schema } from "effect"
import { toBadge } from "../report/Badge.ts"
import { Report } from "../report/Report.ts"

/** Prints what shields.io asks of an endpoint. */
export const printBadge = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs
    .readFileString(file)
    .pipe(Effect.mapError((error) => CommandFailure.usage(`badge ${file}: it can't be read: ${fileTrouble(error)}`)))
  const report = yield* Schema.decodeEffect(Schema.fromJsonString(Report))(text).pipe(
    Effect.mapError(() =>
      CommandFailure.usage(`badge ${file}: it is no report of this version; write one with --report json=${file}`)
    )
  )
  yield* Console.log(toBadge(report).trimEnd())
})
