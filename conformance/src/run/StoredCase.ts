/**
 * Histories that failed, as files: to be replayed when the receiver has been corrected. They hold no ids; those are minted
 * when a history is executed.
 */
import { CommandFailure, eventIdPrefix, fileTroubleOf } from "@doorhook/core"
import { Effect, Option, Schema } from "effect"
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { codeOf } from "../evidence/Exchange.ts"
import { keyOf, lanes } from "../history/History.ts"
import { hashOf } from "../history/Json.ts"
import { Operation } from "../history/Operations.ts"
import { Confirmed, suite } from "../record/Evidence.ts"
import type { CaseRun, Refinement } from "../record/Evidence.ts"
import type { Outcome } from "../record/Outcome.ts"

export const StoredCase = Schema.Struct({
  v: Schema.Literal(2),
  suite: Schema.String,
  seed: Schema.Int,
  /** The id of the requirement that it breaks. */
  violates: Schema.String,
  title: Schema.String,
  lane: Schema.Literals(lanes),
  /** With the conditions under which it failed as operations. */
  ops: Schema.Array(Operation),
  observed: Schema.String,
  /**
   * How often exactly these operations were executed by themselves, and failed. Null: they never were, or never failed
   * so; then that they pass says nothing, and a replay answers OPEN.
   */
  reproduced: Schema.NullOr(Confirmed)
})
export type StoredCase = typeof StoredCase.Type

/** What a replay says of a stored history. */
export type Replayed = "FAILS" | "FIXED" | "OPEN"

/** How often a history is tried before it counts as passing: so that a failure is missed one time in twenty. */
export const repeatsFor = ({ failed, tried }: Confirmed): number => {
  const share = tried === 0 ? 0 : failed / tried
  if (share >= 0.9) return 1
  return share === 0 ? 10 : Math.min(10, Math.ceil(Math.log(0.05) / Math.log(1 - share)))
}

/**
 * FIXED only if these operations failed by themselves once and do not now, as often as that takes. FAILS as soon as one
 * does. OPEN otherwise: the file stays.
 */
export const replayedOf = (
  { reproduced }: Pick<StoredCase, "reproduced">,
  passed: number,
  hasFailed: boolean
): Replayed =>
  hasFailed
    ? "FAILS"
    : reproduced !== null && reproduced.failed > 0 && passed >= repeatsFor(reproduced)
      ? "FIXED"
      : "OPEN"

/** An id in a text, be it cut short. */
const mentioned = new RegExp(`${eventIdPrefix}[0-9A-Za-z]+`, "g")

const encode = Schema.encodeSync(Schema.fromJsonString(StoredCase))

/** What came of storing: files by the requirement's id, and why not more; null: no problem. */
export interface Stored {
  readonly files: ReadonlyMap<string, string>
  readonly problem: string | null
}

/** Writes a file and the folder that it is in; answers why it could not be written, null when it was. */
const write = (folder: string, file: string, text: string): Promise<string | null> =>
  mkdir(folder, { recursive: true })
    .then(() => writeFile(file, text))
    .then(
      () => null,
      (error: unknown) => (codeOf(error) === "EEXIST" ? "it is a file, not a folder" : fileTroubleOf(error))
    )

/** How often a run itself did its history with nothing before the eyes of the receiver but that; null where others acted. */
const byItself = ({ alone, repeats, trace }: CaseRun): Confirmed | null =>
  alone && trace.otherEvents === 0 && trace.interventions.every(({ op }) => op !== null)
    ? { tried: 1 + repeats.length, failed: 1 }
    : null

/** Writes the histories of failures to a folder. A folder that can't be written takes no verdict away. */
export const storeCases = Effect.fnUntraced(function* (
  folder: string | null,
  seed: number,
  outcomes: ReadonlyArray<Outcome>,
  refinements: ReadonlyArray<Refinement>
): Effect.fn.Return<Stored> {
  const files = new Map<string, string>()
  let problem: string | null = null
  for (const { decisive, observed, requirement, verdict } of outcomes) {
    if (folder === null || decisive === null || (verdict !== "FAIL" && verdict !== "WARN")) continue
    const { history } = decisive.trace
    const { lane, title } = decisive.run
    const refinement = refinements.find((one) => one.requirement === requirement.id)
    const file = join(folder, `${requirement.id}-${hashOf("sha256", keyOf(history)).slice(0, 8)}.json`)
    const stored: StoredCase = {
      v: 2,
      suite,
      seed,
      violates: requirement.id,
      title,
      lane,
      ops: history.ops,
      // Ids are minted when a history is executed; those of then mean nothing later.
      observed: observed.replaceAll(mentioned, `${eventIdPrefix}...`),
      reproduced:
        refinement === undefined
          ? byItself(decisive.run)
          : refinement.reproduced === null || refinement.confirmed.failed === 0
            ? null
            : refinement.confirmed
    }
    const trouble = yield* Effect.promise(() => write(folder, file, `${encode(stored)}\n`))
    if (trouble === null) files.set(requirement.id, file)
    else {
      problem = `Failing histories could not be stored in ${folder}: ${trouble}. Name a folder that can be written by --cases, and run again with --seed ${seed}.`
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

/** Reads a stored history. */
export const readCase = Effect.fnUntraced(function* (file: string): Effect.fn.Return<StoredCase, CommandFailure> {
  const text = yield* onDisk(
    () => readFile(file, "utf8"),
    (trouble) => `${file} can't be read: ${trouble}. Name a history that a run stored, which its report does too.`
  )
  const stored = decode(text)
  if (Option.isSome(stored)) return stored.value
  const version = decodeVersion(text)
  if (Option.isNone(version)) {
    return yield* CommandFailure.usage(`${file} is no stored history of this suite: JSON with v, violates and ops`)
  }
  const { v, violates } = version.value
  const why =
    v === 2 ? "holds operations that this version does not know" : `was stored by another version of the suite (v ${v})`
  return yield* CommandFailure.usage(`${file} ${why}. Run again: run --only ${violates}`)
})

/** The files of a folder that hold stored histories; none where there is no such folder yet. */
export const storedIn = (folder: string): Effect.Effect<ReadonlyArray<string>, CommandFailure> =>
  onDisk(
    () => readdir(folder).catch((error: unknown) => (codeOf(error) === "ENOENT" ? [] : Promise.reject(error))),
    (trouble) =>
      `--cases ${folder}: stored histories can't be looked for there: ${trouble}. Name the folder that runs store them in.`
  ).pipe(
    Effect.map((names) => names.filter((name) => name.endsWith(".json")).toSorted()),
    Effect.map((names) => names.map((name) => join(folder, name)))
  )

/** Deletes a history that fails no more. */
export const forget = (file: string): Effect.Effect<void, CommandFailure> =>
  onDisk(
    () => rm(file, { force: true }),
    (trouble) =>
      `The history fails no more, but ${file} can't be deleted: ${trouble}. Delete it yourself, or keep it by --keep.`
  )
