/**
 * Moves everything from one database to another, so that clients, receivers and readers notice nothing: ids, tokens,
 * cursors and secrets stay the same.
 *
 * Rows are copied in parts, by ranges of their keys, while the source is in use. Then the source is stopped, and each
 * range is compared with its copy and copied again if it has changed. A part of a source and its copy are the same text,
 * so that comparing texts compares the rows. A killed move can be repeated: it finds the parts that are already equal.
 *
 * The target has a mark until it is complete, and the source gets a mark before the target loses its own. doorhook does
 * not start on a database with a mark, so at no time can both be in use.
 */
import { BuildingMoves } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import { createHash } from "node:crypto"
import { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { Key, KeyRange, Mark, MovedTable, Numbers, Part } from "./MovedTables.ts"
import { marks, movedTables } from "./MovedTables.ts"

/** A database as the source or the target of a move. */
export interface MoveSide {
  /** The file name or server address, without credentials. */
  readonly name: string
  /**
   * Keeps other moves away from the database until the scope is closed. Fails if there is one. A file is kept by who
   * opens it: as the target from the beginning, as the source during the last step.
   */
  readonly hold: Effect.Effect<void, DatabaseUnusable, Scope.Scope>
  /** Returns the key at which the part after a key ends; null after the last row. */
  readonly end: (table: MovedTable, after: Key | null) => Effect.Effect<Key | null, DatabaseUnusable>
  readonly read: (table: MovedTable, range: KeyRange) => Effect.Effect<Part, DatabaseUnusable>
  /** Replaces all rows of a range. `isEmpty`: it has none yet. */
  readonly replace: (
    table: MovedTable,
    range: KeyRange,
    rows: string,
    isEmpty: boolean
  ) => Effect.Effect<void, DatabaseUnusable>
  /** Reads a setting of moves. */
  readonly mark: (name: Mark) => Effect.Effect<string | null, DatabaseUnusable>
  /** Writes a setting of moves, or removes it if the value is null. Syncs all changes so far to disk. */
  readonly setMark: (name: Mark, value: string | null) => Effect.Effect<void, DatabaseUnusable>
  /** Names of the tables that have rows. Settings don't count. */
  readonly filled: Effect.Effect<ReadonlyArray<string>, DatabaseUnusable>
  readonly numbers: Effect.Effect<Numbers, DatabaseUnusable>
  /** Numbers all new rows from a number on. No process may use the database. */
  readonly startAt: (first: number) => Effect.Effect<void, DatabaseUnusable>
  /** Prepares a target for many rows. */
  readonly begin: () => Effect.Effect<void, DatabaseUnusable>
  /** Completes a target: its numbers, and everything that follows from the copied rows. */
  readonly finish: (numbers: Numbers) => Effect.Effect<void, DatabaseUnusable>
  /** Runs the last step on a source that no process can change, and marks the source as moved if it succeeds. */
  readonly whileStopped: <A>(
    work: Effect.Effect<A, DatabaseUnusable>,
    movedTo: string
  ) => Effect.Effect<A, DatabaseUnusable>
}

/** The rows of a table in both databases. */
export interface MovedCount {
  readonly table: string
  readonly rows: number
  /** SHA-256 of the rows in the source, and of those in the target. */
  readonly source: string
  readonly target: string
}

/** What a move reports while it runs. */
export interface Progress {
  readonly step: "copying" | "stopped"
  readonly table: string
  readonly rows: number
}

/** A copied range, with the hash of its rows in the target. */
interface Copied {
  readonly range: KeyRange
  readonly digest: string
}

export const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex")

export const refuse = (database: string, explanation: string) =>
  Effect.fail(new DatabaseUnusable({ database, why: "moved", explanation }))

/** The value of a mark. */
const MarkValue = Schema.fromJsonString(Schema.Struct({ id: Schema.String, other: Schema.String }))
type MarkValue = typeof MarkValue.Type
const decodeMark = Schema.decodeUnknownEffect(MarkValue)
const encodeMark = Schema.encodeSync(MarkValue)

/** Reads the moves of buildings of a database. */
export const movesOf = (side: MoveSide): Effect.Effect<ReadonlyArray<BuildingMoves.BuildingMove>, DatabaseUnusable> =>
  Effect.flatMap(side.mark(BuildingMoves.movesName), (text) => {
    const moves = BuildingMoves.decodeMoves(text)
    return moves === null
      ? Effect.fail(
          new DatabaseUnusable({
            database: side.name,
            why: "failed",
            explanation: `the setting ${BuildingMoves.movesName} can't be read.`
          })
        )
      : Effect.succeed(moves)
  })

/** Hash of a part without rows. */
const nothing = digestOf("[]")

/** Number of parts that are copied at the same time. */
const atOnce = 4

/** Makes tables of a target equal to those of a source. */
export class TableCopy {
  readonly #source: MoveSide
  readonly #target: MoveSide
  readonly #report: (progress: Progress) => Effect.Effect<void>
  /** The copied ranges of each table. */
  readonly #copied = new Map<string, Array<Copied>>()

  constructor(source: MoveSide, target: MoveSide, report: (progress: Progress) => Effect.Effect<void>) {
    this.#source = source
    this.#target = target
    this.#report = report
  }

  /**
   * Copies what differs of a table, and returns its rows. Rows beyond the known ranges form new ranges. `concurrency`:
   * number of parts that are copied at the same time.
   */
  copy(table: MovedTable, step: Progress["step"], concurrency = atOnce): Effect.Effect<MovedCount, DatabaseUnusable> {
    return Effect.gen({ self: this }, function* () {
      const known = this.#copied.get(table.name) ?? []
      let rows = 0
      const sync = (range: KeyRange, digest: string | null) =>
        Effect.tap(this.#sync(table, range, digest, step), ({ count }) => {
          rows += count
          return this.#report({ step, table: table.name, rows })
        })
      const again = yield* Effect.forEach(known, ({ digest, range }) => sync(range, digest), { concurrency })
      const added = yield* this.#copyBeyond(table, known.at(-1)?.range.last ?? null, concurrency, sync)
      // Ranges have an end, so that rows which are added later belong to none of them.
      const ranges = [...again, ...added.closed]
      this.#copied.set(
        table.name,
        ranges.map(({ digest, range }) => ({ range, digest }))
      )
      const all = [...ranges, added.open]
      return {
        table: table.name,
        rows,
        source: digestOf(all.map(({ source }) => source).join()),
        target: digestOf(all.map(({ digest }) => digest).join())
      }
    })
  }

  /** Copies the rows after a key, several parts at a time, and removes what the target has beyond them. */
  #copyBeyond<A>(
    table: MovedTable,
    from: Key | null,
    concurrency: number,
    sync: (range: KeyRange, digest: null) => Effect.Effect<A, DatabaseUnusable>
  ) {
    return Effect.gen({ self: this }, function* () {
      const closed: Array<A> = []
      let after = from
      for (let isOver = false; !isOver;) {
        const ranges: Array<KeyRange> = []
        while (ranges.length < concurrency && !isOver) {
          const last: Key | null = yield* this.#source.end(table, after)
          if (last === null) isOver = true
          else ranges.push({ after, last })
          after = last ?? after
        }
        closed.push(...(yield* Effect.forEach(ranges, (range) => sync(range, null), { concurrency })))
      }
      return { closed, open: yield* sync({ after, last: null }, null) }
    })
  }

  /** Makes a range of the target equal to the source's. `digest`: hash of the target's rows, if known. */
  #sync(table: MovedTable, range: KeyRange, digest: string | null, step: Progress["step"]) {
    return Effect.gen({ self: this }, function* () {
      const { count, rows } = yield* this.#source.read(table, range)
      const source = digestOf(rows)
      const before = digest ?? digestOf((yield* this.#target.read(table, range)).rows)
      if (before === source) return { range, count, source, digest: before }
      yield* this.#target.replace(table, range, rows, before === nothing)
      const copy = digestOf((yield* this.#target.read(table, range)).rows)
      // While the source is in use, a delivery may be copied before its event.
      if (copy === source || step === "copying") return { range, count, source, digest: copy }
      return yield* refuse(
        this.#target.name,
        `the rows of ${table.name} from ${String(range.after ?? "the first")} to ${String(range.last ?? "the last")} differ from those of ${this.#source.name} after they were copied. Nothing was changed in ${this.#source.name}.`
      )
    })
  }
}

export class Move {
  readonly #source: MoveSide
  readonly #target: MoveSide
  readonly #tables: TableCopy

  constructor(source: MoveSide, target: MoveSide, report: (progress: Progress) => Effect.Effect<void>) {
    this.#source = source
    this.#target = target
    this.#tables = new TableCopy(source, target, report)
  }

  /** Moves everything, or continues a move between the same databases. Returns the rows of all tables. */
  run(): Effect.Effect<ReadonlyArray<MovedCount>, DatabaseUnusable> {
    const [source, target] = [this.#source, this.#target]
    return Effect.gen({ self: this }, function* () {
      yield* source.hold
      yield* target.hold
      const { id, isStopped } = yield* this.#begin()
      yield* target.begin()
      if (!isStopped)
        yield* Effect.forEach(movedTables, (table) => this.#tables.copy(table, "copying"), { discard: true })
      const last = Effect.gen({ self: this }, function* () {
        // While this move waited for a file, another one may have moved it.
        yield* this.#begin()
        const counts = yield* Effect.forEach(movedTables, (table) => this.#tables.copy(table, "stopped"))
        yield* target.finish(yield* source.numbers)
        // Everything is on disk before the source is marked.
        yield* target.setMark(marks.target, encodeMark({ id, other: source.name }))
        return counts
      })
      const counts = yield* source.whileStopped(last, encodeMark({ id, other: target.name }))
      yield* target.setMark(marks.target, null)
      return counts
    }).pipe(Effect.scoped)
  }

  /** Marks an empty target, or finds the marks of an earlier run. */
  #begin() {
    const [source, target] = [this.#source, this.#target]
    return Effect.gen({ self: this }, function* () {
      const moved = yield* this.#markOf(source, marks.source)
      const moving = yield* this.#markOf(target, marks.target)
      if ((yield* movesOf(source)).some(({ isDone }) => !isDone))
        return yield* refuse(
          source.name,
          "a move of buildings from it or to it is not complete. Repeat that command first."
        )
      if (moved !== null && moved.id !== moving?.id)
        return yield* refuse(source.name, `it was moved to ${moved.other}.`)
      if (moving !== null) {
        if (moving.other === source.name) return { id: moving.id, isStopped: moved !== null }
        return yield* refuse(
          target.name,
          `a move from ${moving.other} to it has begun. Repeat that move, or use another target.`
        )
      }
      const filled = yield* target.filled
      if (filled.length > 0)
        return yield* refuse(target.name, `it is not empty (${filled.join(", ")}). Name a new database as the target.`)
      const id = crypto.randomUUID()
      yield* target.setMark(marks.target, encodeMark({ id, other: source.name }))
      return { id, isStopped: false }
    })
  }

  #markOf(side: MoveSide, name: Mark): Effect.Effect<MarkValue | null, DatabaseUnusable> {
    return Effect.flatMap(side.mark(name), (value) =>
      value === null
        ? Effect.succeed(null)
        : Effect.mapError(
            decodeMark(value),
            (cause) =>
              new DatabaseUnusable({
                database: side.name,
                why: "failed",
                explanation: `the setting ${name} can't be read: ${cause.message}`,
                cause
              })
          )
    )
  }
}
