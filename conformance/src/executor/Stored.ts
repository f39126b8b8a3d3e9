/**
 * Histories that failed, as files: to be replayed when the receiver has been mended. They hold no ids; those are minted
 * when a history is executed.
 */
import { CommandFailure, eventIdPrefix } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Outcome } from "./Judgement.ts"
import { keyOf } from "./Judgement.ts"
import { fileTroubleOf, isMissing } from "../FileTrouble.ts"
import { lanes, Operation } from "../history/History.ts"
import { suite } from "../Suite.ts"

export const StoredCase = Schema.Struct({
  v: Schema.Literal(1),
  suite: Schema.String,
  seed: Schema.Int,
  /** The id of the requirement that it breaks. */
  violates: Schema.String,
  title: Schema.String,
  lane: Schema.Literals(lanes),
  ops: Schema.Array(Operation),
  observed: Schema.String,
  confirm: Schema.NullOr(Schema.Struct({ tried: Schema.Int, failed: Schema.Int })),
  /** Whether histories of other requirements were executed when it failed; missing where that is not known. */
  beside: Schema.optionalKey(Schema.Boolean)
})
export type StoredCase = typeof StoredCase.Type

/** An id in a text, be it cut short. */
const mentioned = new RegExp(`${eventIdPrefix}[0-9A-Za-z]+`, "g")

const encode = Schema.encodeSync(Schema.fromJsonString(StoredCase))

/** A file's name without its ending: the requirement, and which history. */
const nameOf = (id: string, key: string): string =>
  `${id}-${createHash("sha256").update(key).digest("hex").slice(0, 8)}`

/** What came of storing: files by the requirement's id, and why there are not more. */
export interface Stored {
  readonly files: ReadonlyMap<string, string>
  readonly problem: string | null
}

/** Writes a file and the folder that it is in; answers why it could not be written, null when it was. */
const write = async (folder: string, file: string, text: string): Promise<string | null> => {
  try {
    await mkdir(folder, { recursive: true })
    await writeFile(file, text)
    return null
  } catch (error) {
    return fileTroubleOf(error)
  }
}

/** Writes the histories of failures to a folder. A folder that can't be written keeps no verdict from being told. */
export const storeCases = Effect.fnUntraced(function* (
  folder: string | null,
  seed: number,
  outcomes: ReadonlyArray<Outcome>
): Effect.fn.Return<Stored> {
  const files = new Map<string, string>()
  let problem: string | null = null
  for (const { confirmed, evidence, observed, requirement, verdict } of outcomes) {
    if (folder === null || evidence === null || (verdict !== "FAIL" && verdict !== "WARN")) continue
    const { history } = evidence.trace
    const { lane, title } = evidence.case
    const file = join(folder, `${nameOf(requirement.id, keyOf({ history }))}.json`)
    const stored: StoredCase = {
      v: 1,
      suite,
      seed,
      violates: requirement.id,
      title,
      lane,
      ops: history.ops,
      // Ids are minted when a history is executed; those of then mean nothing later.
      observed: observed.replaceAll(mentioned, `${eventIdPrefix}...`),
      confirm: confirmed,
      beside: !evidence.alone && outcomes.length > 1
    }
    const trouble = yield* Effect.promise(() => write(folder, file, `${encode(stored)}\n`))
    if (trouble === null) files.set(requirement.id, file)
    else {
      problem = `Failing histories could not be stored in ${folder}: ${trouble}. Name a folder that can be written by --cases, and run again with --seed ${seed}.`
    }
  }
  return { files, problem }
})

/** Reads a stored history. */
export const readCase = (file: string): Effect.Effect<StoredCase, CommandFailure> =>
  Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: (error) =>
      CommandFailure.usage(
        `${file} can't be read: ${fileTroubleOf(error)}. Name a history that a run stored, which its report does too.`
      )
  }).pipe(
    Effect.flatMap((text) =>
      Schema.decodeEffect(Schema.fromJsonString(StoredCase))(text).pipe(
        Effect.mapError(() =>
          CommandFailure.usage(`${file} is no stored history of this suite: JSON with v, violates and ops`)
        )
      )
    )
  )

/** The files of a folder that hold stored histories; none where there is no such folder yet. */
export const storedIn = (folder: string): Effect.Effect<ReadonlyArray<string>, CommandFailure> =>
  Effect.tryPromise({
    try: () => readdir(folder).catch((error: unknown) => (isMissing(error) ? [] : Promise.reject(error))),
    catch: (error) =>
      CommandFailure.usage(
        `--cases ${folder}: stored histories can't be looked for there: ${fileTroubleOf(error)}. Name the folder that runs store them in.`
      )
  }).pipe(
    Effect.map((names) =>
      names
        .filter((name) => name.endsWith(".json"))
        .toSorted()
        .map((name) => join(folder, name))
    )
  )

/** Takes a history away that fails no more. */
export const forget = (file: string): Effect.Effect<void, CommandFailure> =>
  Effect.tryPromise({
    try: () => rm(file, { force: true }),
    catch: (error) =>
      CommandFailure.usage(
        `The history fails no more, but ${file} can't be deleted: ${fileTroubleOf(error)}. Delete it yourself, or keep it by --keep.`
      )
  })
