/**
 * Stores failed histories as files, to replay them after the receiver is corrected. The files contain no event ids,
 * because each execution creates new ones.
 */
import { codeOf, CommandFailure, eventIdPrefix, fileTroubleOf } from "@doorhook/core"
import { Effect, Option, Schema } from "effect"
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { keyOf, lanes } from "../history/History.ts"
import { hashOf } from "../history/Json.ts"
import { Operation } from "../history/Operations.ts"
import { Confirmed, failureRate, reproductionOf, suite } from "../record/Evidence.ts"
import type { CaseRun, Reproduction } from "../record/Evidence.ts"
import type { Outcome } from "../record/Outcome.ts"
import { Report } from "../report/Report.ts"

export const StoredCase = Schema.Struct({
  v: Schema.Literal(2),
  suite: Schema.String,
  seed: Schema.Int,
  /** The id of the broken requirement. */
  violates: Schema.String,
  title: Schema.String,
  lane: Schema.Literals(lanes),
  /** The operations, including the actions of other cases that the failure depended on. */
  ops: Schema.Array(Operation),
  observed: Schema.String,
  /**
   * How often exactly these operations were executed alone, and how often they failed. Null if they were not seen to fail
   * again, or never ran alone: a pass then proves nothing, and a replay without a failure returns OPEN.
   */
  reproduced: Schema.NullOr(Confirmed)
})
export type StoredCase = typeof StoredCase.Type

/** The result of a replay. */
export type Replayed = "STILL FAILS" | "FIXED" | "OPEN"

/**
 * Returns how often a history must pass to count as fixed, ten times at most. Up to that limit, the chance that a fault
 * which is still there goes unnoticed is about 5 %.
 */
export const repeatsFor = (confirmed: Confirmed): number =>
  Math.min(10, Math.ceil(Math.log(0.05) / Math.log(1 - failureRate(confirmed))))

/**
 * Returns STILL FAILS if the replay failed, FIXED if these operations failed alone before and passed often enough now, and
 * OPEN otherwise. The file of an OPEN history is kept.
 */
export const replayedOf = (
  { reproduced }: Pick<StoredCase, "reproduced">,
  passed: number,
  hasFailed: boolean
): Replayed =>
  hasFailed
    ? "STILL FAILS"
    : reproduced !== null && reproduced.failed > 0 && passed >= repeatsFor(reproduced)
      ? "FIXED"
      : "OPEN"

/** Matches event ids in a text, even shortened ids. */
const mentioned = new RegExp(`${eventIdPrefix}[0-9A-Za-z]+`, "g")

const encode = Schema.encodeSync(Schema.fromJsonString(StoredCase))

/** Stored files by requirement id, and the reason if a file could not be stored. */
export interface Stored {
  readonly files: ReadonlyMap<string, string>
  readonly problem: string | null
}

/** Creates the folder and writes the file. Returns the reason if that fails, otherwise null. */
const write = (folder: string, file: string, text: string): Promise<string | null> =>
  mkdir(folder, { recursive: true })
    .then(() => writeFile(file, text))
    .then(
      () => null,
      (error: unknown) => (codeOf(error) === "EEXIST" ? "it is a file, not a folder" : fileTroubleOf(error))
    )

/**
 * Returns how often the run itself executed the history alone; null if other cases acted on the receiver in that time.
 */
const byItself = ({ alone, repeats, trace }: CaseRun): Confirmed | null =>
  alone && trace.otherEvents === 0 && trace.interventions.every(({ op }) => op !== null)
    ? { tried: 1 + repeats.length, failed: 1 }
    : null

/** Writes failed histories to a folder. A write error changes no verdict. */
export const storeCases = Effect.fnUntraced(function* (
  folder: string | null,
  seed: number,
  outcomes: ReadonlyArray<Outcome>,
  reproductions: ReadonlyArray<Reproduction>
): Effect.fn.Return<Stored> {
  const files = new Map<string, string>()
  let problem: string | null = null
  for (const { decisive, isLimit, observed, requirement, verdict } of outcomes) {
    if (folder === null || decisive === null || isLimit || (verdict !== "FAIL" && verdict !== "WARN")) continue
    const { history } = decisive.trace
    const { lane, title, trace } = decisive.run
    const reproduction = reproductionOf(reproductions, requirement.id, trace.history)
    const file = join(folder, `${requirement.id}-${hashOf("sha256", keyOf(history)).slice(0, 8)}.json`)
    const stored: StoredCase = {
      v: 2,
      suite,
      seed,
      violates: requirement.id,
      title,
      lane,
      ops: history.ops,
      // The ids in the text mean nothing outside of this run.
      observed: observed.replaceAll(mentioned, `${eventIdPrefix}...`),
      reproduced:
        reproduction === undefined
          ? byItself(decisive.run)
          : reproduction.trace === null || reproduction.confirmed.failed === 0
            ? null
            : reproduction.confirmed
    }
    const trouble = yield* Effect.promise(() => write(folder, file, `${encode(stored)}\n`))
    if (trouble === null) files.set(requirement.id, file)
    else {
      problem = `Failed histories could not be stored in ${folder}: ${trouble}. Name a writable folder with --cases, and run again with --seed ${seed}.`
    }
  }
  return { files, problem }
})

const decode = Schema.decodeOption(Schema.fromJsonString(StoredCase))
const decodeVersion = Schema.decodeOption(
  Schema.fromJsonString(Schema.Struct({ v: Schema.Int, violates: Schema.String }))
)

const onDisk = <A>(act: () => Promise<A>, wrong: (trouble: string) => string): Effect.Effect<A, CommandFailure> =>
  Effect.tryPromise({ try: act, catch: (error) => CommandFailure.usage(wrong(fileTroubleOf(error))) })

const readText = (file: string): Effect.Effect<string, CommandFailure> =>
  onDisk(
    () => readFile(file, "utf8"),
    (trouble) => `${file} can't be read: ${trouble}. Name a stored history, a folder of them, or a JSON report.`
  )

/** Reads a stored history. */
const readCase = Effect.fnUntraced(function* (file: string): Effect.fn.Return<StoredCase, CommandFailure> {
  const text = yield* readText(file)
  const stored = decode(text)
  if (Option.isSome(stored)) return stored.value
  const version = decodeVersion(text)
  if (Option.isNone(version)) {
    return yield* CommandFailure.usage(
      `${file} is not a stored history of this suite: it must be JSON with v, violates and ops`
    )
  }
  const { v, violates } = version.value
  const why =
    v === 2
      ? "has operations that this version does not support"
      : `was stored by another version of the suite (v ${v})`
  return yield* CommandFailure.usage(`${file} ${why}. Run again: run --only ${violates}`)
})

/** A stored history and its file; null if it is only in a report. */
export interface Found {
  readonly stored: StoredCase
  readonly file: string | null
}

const decodeReport = Schema.decodeOption(Schema.fromJsonString(Report))

/** Returns the failures of a report, from their files where these still exist. */
const failuresIn = Effect.fnUntraced(function* ({ requirements, seed, suite: by }: Report) {
  return yield* Effect.forEach(
    requirements.filter(({ history, stored, verdict }) =>
      verdict === "FAIL" ? history.length > 0 : verdict === "WARN" && stored !== null
    ),
    Effect.fnUntraced(function* ({ case: one, confirmed, history, id, observed, stored: file }) {
      const known = file === null ? Option.none() : yield* Effect.option(readCase(file))
      if (Option.isSome(known)) return { stored: known.value, file }
      const stored: StoredCase = {
        v: 2,
        suite: by,
        seed,
        violates: id,
        title: one?.title ?? id,
        lane: "state",
        ops: history.map(({ op }) => op),
        observed,
        reproduced: confirmed
      }
      return { stored, file: null }
    })
  )
})

/** Returns the stored histories that a file, a folder or a JSON report has; null if there is no such file or folder. */
export const storedAt = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<ReadonlyArray<Found> | null, CommandFailure> {
  const kind = yield* Effect.promise(() => stat(path).catch(() => null))
  if (kind === null) return null
  if (kind.isDirectory()) {
    return yield* Effect.forEach(yield* storedIn(path), (file) =>
      Effect.map(readCase(file), (stored): Found => ({ stored, file }))
    )
  }
  const report = decodeReport(yield* readText(path))
  return Option.isSome(report) ? yield* failuresIn(report.value) : [{ stored: yield* readCase(path), file: path }]
})

/** Returns the files with stored histories in a folder; none if the folder does not exist yet. */
export const storedIn = (folder: string): Effect.Effect<ReadonlyArray<string>, CommandFailure> =>
  onDisk(
    () => readdir(folder).catch((error: unknown) => (codeOf(error) === "ENOENT" ? [] : Promise.reject(error))),
    (trouble) =>
      `--cases ${folder}: can't read stored histories there: ${trouble}. Name the folder that runs store them in.`
  ).pipe(
    Effect.map((names) => names.filter((name) => name.endsWith(".json")).toSorted()),
    Effect.map((names) => names.map((name) => join(folder, name)))
  )

/** Deletes a history that no longer fails. */
export const forget = (file: string): Effect.Effect<void, CommandFailure> =>
  onDisk(
    () => rm(file, { force: true }),
    (trouble) =>
      `The history no longer fails, but ${file} can't be deleted: ${trouble}. Delete it yourself, or keep it with --keep.`
  )
