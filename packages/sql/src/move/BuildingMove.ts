/**
 * Moves buildings to another database that is in use: a cell of its own.
 *
 * What can't be sent any more is copied while both databases are in use. Then the source stops serving the buildings,
 * the target gets what changed and, in one transaction, what makes the buildings alive there. Then the source deletes
 * its rows. Each database records the move before and after its part of it, so that a killed move continues where it
 * was, and no database serves a building that the other one may serve.
 *
 * The rows keep their ids. The target therefore numbers its own rows from a number that the source has not reached, so
 * that no number is used twice, and so that a reader's cursor is before all rows that follow.
 */
import { AgreedSettings, BuildingMoves } from "@doorhook/core"
import { Effect } from "effect"
import type { DatabaseUnusable } from "../DatabaseUnusable.ts"
import type { MovedCount, MoveSide, Progress } from "./Move.ts"
import { digestOf, movesOf, refuse, TableCopy } from "./Move.ts"
import type { FoundTenant, Key, MovedTable, Share } from "./MovedTables.ts"
import { arrivingTables, firstIdName, historyTables, keysOnly, sharedTables } from "./MovedTables.ts"

type Done<A = void> = Effect.Effect<A, DatabaseUnusable>

/** A database as the source or the target of a move of buildings. */
export interface BuildingSide extends MoveSide {
  /** Chooses the rows that the other methods read and change. */
  readonly choose: (share: Share) => Done
  /** The tenants of all events and integrations. */
  readonly tenants: Done<ReadonlyArray<FoundTenant>>
  /** Ids of the share's integrations, also of deleted ones with deliveries that are not over. */
  readonly integrations: Done<ReadonlyArray<number>>
  /** Waits until all processes that use the database have noticed a change of its moves. */
  readonly noticed: Effect.Effect<void>
  /** Runs the last step on a source. Its processes may go on if they can leave the buildings alone. */
  readonly whileLeaving: <A>(work: Done<A>) => Done<A>
  /** Keeps processes from changing or sending anything of the share. */
  readonly fence: Done
  /** Ends the fence, so that processes can use the share again. The database's moves no longer name it. */
  readonly release: Done
  /** Runs work in one transaction, which is durable. The work may be repeated. */
  readonly atomically: <A>(work: Done<A>) => Done<A>
  /** Adds the rows that are missing. Fails if another row has the key of one. */
  readonly merge: (table: MovedTable, rows: string) => Done
  /** Adjusts a target to its moves, and wakes its processes. */
  readonly follow: (moves: ReadonlyArray<BuildingMoves.BuildingMove>) => Done
}

/** Names the first tenants of a list. */
const names = (tenants: ReadonlyArray<FoundTenant>): string => {
  const shown = tenants.slice(0, 5).map(({ tenant }) => tenant)
  return `${shown.join(", ")}${tenants.length > shown.length ? ` and ${tenants.length - shown.length} more` : ""}`
}

export class BuildingMove {
  readonly #source: BuildingSide
  readonly #target: BuildingSide
  readonly #buildings: ReadonlyArray<BuildingMoves.Range>
  readonly #tenants: ReadonlyArray<BuildingMoves.Range> | null
  readonly #report: (progress: Progress) => Effect.Effect<void>
  readonly #tables: TableCopy

  constructor(
    source: BuildingSide,
    target: BuildingSide,
    given: {
      readonly buildings: ReadonlyArray<BuildingMoves.Range>
      /** Tenants without events that live in the buildings; null if none is named. */
      readonly tenants: ReadonlyArray<BuildingMoves.Range> | null
    },
    report: (progress: Progress) => Effect.Effect<void>
  ) {
    this.#source = source
    this.#target = target
    this.#buildings = given.buildings
    this.#tenants = given.tenants
    this.#report = report
    this.#tables = new TableCopy(source, target, report)
  }

  /** Moves the buildings, or continues their move. Returns the rows of the tables, none if the target had them all. */
  run(): Done<ReadonlyArray<MovedCount>> {
    const [source, target] = [this.#source, this.#target]
    return Effect.gen({ self: this }, function* () {
      yield* source.hold
      yield* target.hold
      // Waits for the transaction of a killed run, whose effect would otherwise come later.
      yield* target.atomically(Effect.void)
      const move = yield* this.#begin()
      if (move === null) return []
      yield* this.#choose(move)
      if (!move.isDone && !(yield* this.#isLeaving(move.id)))
        yield* Effect.forEach(historyTables, (table) => this.#tables.copy(table, "copying"), { discard: true })
      return yield* source.whileLeaving(this.#lastStep)
    }).pipe(Effect.scoped)
  }

  /** Makes the buildings alive in the target, and then deletes the source's rows. */
  get #lastStep(): Done<ReadonlyArray<MovedCount>> {
    const target = this.#target
    return Effect.gen({ self: this }, function* () {
      // While this move waited for a file, another one may have moved the buildings.
      const move = yield* this.#begin()
      if (move === null) return []
      const counts = yield* move.isDone
        ? Effect.as(this.#stop(move), [])
        : Effect.onError(this.#bring(move), () => this.#takeBack(move))
      yield* target.noticed
      yield* this.#leave()
      yield* this.#noteLeaving(move, true)
      return counts
    })
  }

  /** Stops the source from serving the buildings, and makes them alive in the target. */
  #bring(begun: BuildingMoves.BuildingMove): Done<ReadonlyArray<MovedCount>> {
    const [source, target] = [this.#source, this.#target]
    return Effect.gen({ self: this }, function* () {
      yield* this.#noteLeaving(begun, false)
      yield* source.noticed
      // Tenants who have got an integration or their first event since the move began.
      const tenants = BuildingMoves.joinRanges([...begun.tenants, ...(yield* this.#findTenants())])
      const move = { ...begun, tenants }
      if (BuildingMoves.rangesText(tenants) !== BuildingMoves.rangesText(begun.tenants)) {
        yield* this.#note(target, move.id, move)
        yield* this.#noteLeaving(move, false)
        yield* source.noticed
      }
      yield* this.#stop(move)
      return yield* this.#arrive(move)
    })
  }

  /** Keeps the source's processes from the rows of a move. */
  #stop(move: BuildingMoves.BuildingMove): Done {
    return Effect.gen({ self: this }, function* () {
      yield* this.#choose(move)
      yield* this.#source.fence
      yield* this.#choose(move, yield* this.#source.integrations)
    })
  }

  /** Lets the source serve the buildings again after a failure, unless the target serves them already. */
  #takeBack({ id }: BuildingMoves.BuildingMove): Effect.Effect<void> {
    const [source, target] = [this.#source, this.#target]
    return Effect.gen({ self: this }, function* () {
      yield* target.atomically(Effect.void)
      if ((yield* movesOf(target)).some((move) => move.id === id && move.isDone)) return
      yield* this.#note(source, id, null)
      yield* source.release
      yield* source.follow(yield* movesOf(source))
    }).pipe(
      Effect.catchTag("DatabaseUnusable", (error) =>
        Effect.logError(
          `${source.name} refuses the buildings until the command is repeated, because the move could not be taken back: ${error.message}`
        )
      )
    )
  }

  #noteLeaving(move: BuildingMoves.BuildingMove, isDone: boolean): Done {
    return this.#note(this.#source, move.id, { ...move, way: "out", isDone, other: this.#target.name })
  }

  /** Chooses the rows of a move in both databases, once known with the integrations that it takes. */
  #choose({ buildings, tenants }: BuildingMoves.Selection, integrations: ReadonlyArray<number> = []): Done {
    const share = { buildings, tenants, integrations }
    return Effect.gen({ self: this }, function* () {
      yield* this.#source.choose({ ...share, copyBelow: null })
      yield* this.#target.choose({ ...share, copyBelow: yield* this.#firstId })
    })
  }

  /** The number from which the target numbers its own rows. */
  get #firstId(): Done<number> {
    return Effect.map(this.#target.mark(firstIdName), (first) => Number(first ?? 1))
  }

  /** Records a new move in the target, or finds the move of an earlier run. Returns null if that was complete. */
  #begin(): Done<BuildingMoves.BuildingMove | null> {
    const [source, target] = [this.#source, this.#target]
    const buildings = BuildingMoves.rangesText(this.#buildings)
    const isSame = (move: BuildingMoves.BuildingMove): boolean => BuildingMoves.rangesText(move.buildings) === buildings
    return Effect.gen({ self: this }, function* () {
      const [leaving, arriving] = [yield* movesOf(source), yield* movesOf(target)]
      const open = leaving.find(({ isDone }) => !isDone)
      const coming = arriving.find(({ id, isDone }) => !isDone || id === open?.id)
      for (const [side, found] of [
        [source, open],
        [target, coming]
      ] as const)
        if (found !== undefined && !(isSame(found) && found.other === (side === source ? target : source).name))
          return yield* refuse(
            side.name,
            `the move of buildings ${BuildingMoves.rangesText(found.buildings)} ${found.way === "out" ? "to" : "from"} ${found.other} is not complete. Repeat that command first.`
          )
      const elsewhere = leaving.filter(({ id }) => id !== coming?.id)
      const absent = BuildingMoves.someAbsent(elsewhere, this.#buildings)
      if (coming !== undefined) {
        if (absent === null || coming.isDone) return coming
        yield* this.#forget(coming)
      }
      const last = leaving.at(-1)
      const isOver = last?.way === "out" && isSame(last) && last.other === target.name
      if (isOver && arriving.at(-1)?.id === last.id) return null
      if (absent !== null)
        return yield* refuse(source.name, `it does not serve building ${absent}, which was moved to another database.`)
      yield* this.#checkNumbers()
      yield* this.#checkKey()
      yield* this.#sharesAuthorization()
      const move: BuildingMoves.BuildingMove = {
        id: crypto.randomUUID(),
        buildings: this.#buildings,
        tenants: yield* this.#findTenants(),
        way: "in",
        isDone: false,
        other: source.name
      }
      yield* this.#note(target, move.id, move)
      return move
    })
  }

  /** The settings on which a database's processes have agreed. */
  #agreed(side: BuildingSide): Done<AgreedSettings.AgreedSettings> {
    return Effect.map(side.mark(AgreedSettings.agreedName), (text) => AgreedSettings.decodeAgreed(text ?? ""))
  }

  /** Checks that the target's processes can read the secrets, if processes have used both databases. */
  #checkKey(): Done {
    return Effect.gen({ self: this }, function* () {
      const [own, other] = [yield* this.#agreed(this.#source), yield* this.#agreed(this.#target)]
      if (
        own["directory"] !== undefined &&
        other["directory"] !== undefined &&
        own["encryptionKey"] !== other["encryptionKey"]
      )
        return yield* refuse(
          this.#target.name,
          `its processes have another encryption key than those of ${this.#source.name}, and could not read the signing secrets. Give all cells the same key.`
        )
    })
  }

  /**
   * Whether both databases have their clients, grants and tokens in the same one. The rows of these in a database that
   * uses another one's are not valid, so they must not be copied. Fails if they have them in different ones.
   */
  #sharesAuthorization(): Done<boolean> {
    return Effect.gen({ self: this }, function* () {
      const own = (yield* this.#agreed(this.#source))["authorizationDatabase"]
      const other = (yield* this.#agreed(this.#target))["authorizationDatabase"]
      if (own === undefined && other === undefined) return false
      const [from, to] = [own ?? this.#source.name, other ?? this.#target.name]
      if (from === to) return true
      return yield* refuse(
        this.#target.name,
        `it has its clients and tokens in ${to}, and ${this.#source.name} in ${from}. Cells must share one authorization database, with the same host, port and name in the settings and in the command.`
      )
    })
  }

  /** Checks that the target numbers its rows from a number that the source has not reached. */
  #checkNumbers(): Done {
    const [source, target] = [this.#source, this.#target]
    return Effect.gen({ self: this }, function* () {
      const first = yield* this.#firstId
      const reached = Math.max(...Object.values(yield* source.numbers))
      if (first <= reached)
        return yield* refuse(
          target.name,
          `it numbers its rows from ${first}, and ${source.name} has reached ${reached}, so numbers would be used twice. Stop its processes, run doorhook migrate --first-id with a much higher number, like ${10 ** Math.max(12, String(reached).length)}, and repeat the move.`
        )
    })
  }

  /** Finds the tenants that live in the buildings. Fails if it is uncertain where the integrations of one belong. */
  #findTenants(): Done<ReadonlyArray<BuildingMoves.Range>> {
    const source = this.#source
    return Effect.gen({ self: this }, function* () {
      yield* source.choose({ copyBelow: null, buildings: this.#buildings, tenants: [], integrations: [] })
      const found = yield* source.tenants
      const given = this.#tenants ?? []
      const bound = found.filter(({ isBound }) => isBound)
      const torn = bound.filter(({ inside, outside }) => inside > 0 && outside > 0)
      if (torn.length > 0)
        return yield* refuse(
          source.name,
          `tenants with integrations have events both in these buildings and in others: ${names(torn)}. Move all these buildings together.`
        )
      const unknown = bound.filter(({ inside, outside }) => inside + outside === 0)
      if (this.#tenants === null && unknown.length > 0)
        return yield* refuse(
          source.name,
          `no event says in which building these tenants with integrations live: ${names(unknown)}. Name those who live in the buildings with --tenants, or --tenants none.`
        )
      const wrong = bound.filter(({ outside, tenant }) => outside > 0 && BuildingMoves.isIn(given, tenant))
      if (wrong.length > 0)
        return yield* refuse(source.name, `--tenants names tenants with events in other buildings: ${names(wrong)}.`)
      const living = found.filter(({ inside, outside }) => inside > 0 && outside === 0).map(({ tenant }) => tenant)
      return BuildingMoves.joinRanges([...given, ...BuildingMoves.rangesOf(living)])
    })
  }

  /** Removes from the target what it has of a move that can't be completed, because the source has moved the buildings. */
  #forget(move: BuildingMoves.BuildingMove): Done {
    const target = this.#target
    return Effect.gen({ self: this }, function* () {
      yield* this.#choose(move)
      yield* Effect.forEach(
        historyTables.toReversed(),
        (table) => target.replace(table, { after: null, last: null }, "[]", false),
        { discard: true }
      )
      yield* this.#note(target, move.id, null)
    })
  }

  #isLeaving(id: string): Done<boolean> {
    return Effect.map(movesOf(this.#source), (moves) => moves.some((move) => move.id === id))
  }

  /** Records a move in a database, in place of its earlier state; null removes it. */
  #note(side: BuildingSide, id: string, move: BuildingMoves.BuildingMove | null): Done {
    return Effect.flatMap(movesOf(side), (moves) => {
      const others = moves.filter((other) => other.id !== id)
      return side.setMark(
        BuildingMoves.movesName,
        BuildingMoves.encodeMoves(move === null ? others : [...others, move])
      )
    })
  }

  /** Copies what has changed, and then, in one transaction, what makes the buildings alive in the target. */
  #arrive(move: BuildingMoves.BuildingMove): Done<ReadonlyArray<MovedCount>> {
    const target = this.#target
    return Effect.gen({ self: this }, function* () {
      const history = yield* Effect.forEach(historyTables, (table) => this.#tables.copy(table, "stopped"))
      return yield* target.atomically(
        Effect.gen({ self: this }, function* () {
          yield* this.#checkNumbers()
          // The transaction has one connection, and may be repeated.
          const tables = new TableCopy(this.#source, target, this.#report)
          const arrived = yield* Effect.forEach(arrivingTables, (table) => tables.copy(table, "stopped", 1))
          const isShared = yield* this.#sharesAuthorization()
          const shared = yield* Effect.forEach(isShared ? keysOnly : sharedTables, (table) => this.#merge(table))
          yield* this.#note(target, move.id, { ...move, isDone: true })
          yield* target.follow(yield* movesOf(target))
          return [...history, ...arrived, ...shared]
        })
      )
    })
  }

  /** Adds the rows of a table to the target, and counts them. */
  #merge(table: MovedTable): Done<MovedCount> {
    return Effect.gen({ self: this }, function* () {
      let rows = 0
      const digests: Array<string> = []
      for (let after: Key | null = null; ;) {
        const last: Key | null = yield* this.#source.end(table, after)
        if (last === null) break
        const part = yield* this.#source.read(table, { after, last })
        yield* this.#target.merge(table, part.rows)
        rows += part.count
        digests.push(digestOf(part.rows))
        after = last
      }
      const digest = digestOf(digests.join())
      return { table: table.name, rows, source: digest, target: digest }
    })
  }

  /** Deletes the share's rows from the source. */
  #leave(): Done {
    const source = this.#source
    const deleteAll = Effect.fnUntraced(function* (table: MovedTable) {
      for (let last = yield* source.end(table, null); last !== null; last = yield* source.end(table, null))
        yield* source.replace(table, { after: null, last }, "[]", false)
    })
    const alive = Effect.forEach(arrivingTables.toReversed(), (table) =>
      source.replace(table, { after: null, last: null }, "[]", false)
    )
    const [events, deliveries, attempts] = historyTables
    // Each table's rows are found by rows of the next ones.
    return Effect.gen(function* () {
      yield* deleteAll(attempts)
      yield* source.atomically(alive)
      yield* deleteAll(deliveries)
      yield* deleteAll(events)
    })
  }
}
