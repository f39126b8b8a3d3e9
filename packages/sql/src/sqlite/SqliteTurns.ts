/**
 * Synchronous work on the connection of a `SqlClient`, taking turns with the client's transactions.
 *
 * Changes requested in one turn of the event loop, or while the log is being synced, share a transaction and a sync. If
 * one of these changes fails, each is repeated in a separate transaction. Urgent changes go first and alone, so that no
 * other work delays them.
 */
import { Context, Effect, Latch, Scheduler } from "effect"
import type { Scope, Semaphore } from "effect"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { makeCountChanges } from "./LogSync.ts"
import { isBusy } from "./SqliteResult.ts"

/** A change: statements that run in a transaction without interruption. */
export interface Change<A> {
  readonly run: () => A
  /** Whether the answer waits until the change is on disk, not only committed. */
  readonly isDurable: boolean | ((answer: A) => boolean)
  readonly isUrgent?: boolean
  /** Approximate number of rows that it changes. */
  readonly rows: number
  /**
   * Called if the change was committed but the caller did not get its answer, because the caller was interrupted or the
   * disk failed.
   */
  readonly onLost?: (answer: A) => void
}

/** Callbacks around each transaction of changes. */
export interface Frame {
  readonly begin: () => void
  /** Before the commit. */
  readonly end: () => void
  readonly rolledBack: () => void
}

export class SqliteTurns extends Context.Service<
  SqliteTurns,
  {
    readonly change: <A>(change: Change<A>) => Effect.Effect<A, SqlError>
    /** Runs statements that only read the data that is already committed. */
    readonly read: <A>(run: () => A, isRefusedWithChanges?: boolean) => Effect.Effect<A, SqlError>
    /** Adds callbacks around each transaction of changes. */
    readonly surround: (frame: Frame) => void
    /** Prepares a statement whose rows are arrays. */
    readonly prepare: (sql: string) => StatementSync
    /** Runs statements inside the caller's transaction of the SQL client. */
    readonly inTransaction: <A>(run: () => A) => Effect.Effect<A, SqlError>
    /** The path of the file, with symbolic links resolved; null for a database in memory. */
    readonly location: string | null
  }
>()("@doorhook/sql/SqliteTurns") {}

/** Maximum number of rows that one transaction changes, about 10 ms of work. */
const maxRows = 1_000

/** Maximum number of times that urgent changes pass over another change. */
const maxPassedOver = 2

/** A queued change. */
interface Waiting {
  readonly rows: number
  readonly isUrgent: boolean
  passedOver: number
  readonly run: () => void
  readonly isDurable: () => boolean
  readonly succeed: () => void
  readonly fail: (error: SqlError) => void
  /** Like `fail`, for a change that is already committed. */
  readonly lose: (error: SqlError) => void
}

/** Removes the changes for the next transaction from the queue. Changes of equal urgency keep their order. */
const takeFrom = (queue: Array<Waiting>): ReadonlyArray<Waiting> => {
  const waiting = queue.splice(0)
  const taken: Array<Waiting> = []
  // Beside urgent changes, the transaction has no room for others.
  let rows = waiting.some(({ isUrgent }) => isUrgent) ? maxRows : 0
  for (const next of waiting) {
    const fits = rows + next.rows <= maxRows || rows === 0 || next.passedOver >= maxPassedOver
    if (next.isUrgent) taken.push(next)
    else if (fits) {
      taken.push(next)
      rows += next.rows
    } else {
      next.passedOver++
      queue.push(next)
      rows = maxRows
    }
  }
  return taken
}

/** Makes the service of a connection, for the lifetime of the scope. */
export const makeTurns = Effect.fnUntraced(function* (connection: {
  readonly db: DatabaseSync
  readonly semaphore: Semaphore.Semaphore
  readonly guard: <A, E, R>(reads: boolean, operation: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError, R>
  readonly refusal: (reads: boolean) => SqlError | null
  readonly syncedTo: (before: number, changed: number) => Effect.Effect<void, SqlError>
  readonly attempt: <A>(run: () => A) => Effect.Effect<A, SqlError>
  /** Retries while another process is writing. */
  readonly patiently: <A>(statement: Effect.Effect<A, SqlError>) => Effect.Effect<A, SqlError>
}): Effect.fn.Return<SqliteTurns["Service"], SqlError, Scope.Scope> {
  const { attempt, db, guard, patiently, refusal, semaphore, syncedTo } = connection
  const countChanges = makeCountChanges(db)
  const [begin, commit, rollback] = ["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"].map((text) => db.prepare(text))
  const frames: Array<Frame> = []
  const queue: Array<Waiting> = []
  const wanted = Latch.makeUnsafe(false)
  let isWoken = false
  const nextTurn = (yield* Scheduler.Scheduler).makeDispatcher()

  const wake = (isUrgent: boolean) => {
    // A turn of the event loop may take milliseconds while many answers arrive.
    if (isUrgent) return void wanted.openUnsafe()
    if (isWoken) return
    isWoken = true
    nextTurn.scheduleTask(() => {
      isWoken = false
      wanted.openUnsafe()
    }, 0)
  }

  /** Runs changes in one transaction. */
  const together = (changes: ReadonlyArray<Waiting>): void => {
    begin?.run()
    try {
      for (const frame of frames) frame.begin()
      for (const change of changes) change.run()
      for (const frame of frames) frame.end()
      commit?.run()
    } catch (error) {
      // SQLite itself rolls back after some failures.
      if (db.isTransaction) rollback?.run()
      for (const frame of frames) frame.rolledBack()
      throw error
    }
  }

  const failAll = (changes: ReadonlyArray<Waiting>, error: SqlError) => {
    for (const change of changes) change.fail(error)
  }

  /** Commits changes, together or each in its own transaction. Returns the changes that succeeded. */
  const committed = (changes: ReadonlyArray<Waiting>): Effect.Effect<ReadonlyArray<Waiting>> => {
    const all = patiently(attempt(() => together(changes)))
    return guard(false, all).pipe(
      Effect.as(changes),
      Effect.catch((error) => {
        if (changes.length > 1 && refusal(false) === null && !isBusy(error.reason.cause))
          return Effect.map(
            Effect.forEach(changes, (change) => committed([change])),
            (each) => each.flat()
          )
        failAll(changes, error)
        return Effect.succeed([])
      })
    )
  }

  const turn = Effect.gen(function* () {
    const taken = takeFrom(queue)
    const before = countChanges()
    const [done, changed] = yield* semaphore.withPermit(
      Effect.map(committed(taken), (all) => [all, countChanges()] as const)
    )
    const durable: Array<Waiting> = []
    for (const change of done) {
      if (change.isDurable()) durable.push(change)
      else change.succeed()
    }
    if (durable.length === 0) return
    yield* Effect.match(syncedTo(before, changed), {
      onSuccess: () => durable.forEach((change) => change.succeed()),
      onFailure: (error) => durable.forEach((change) => change.lose(error))
    })
  })

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      const cause = new Error("the database was closed")
      for (const change of queue.splice(0)) change.fail(refusal(false) ?? closed(cause))
    })
  )
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        wanted.await,
        Effect.uninterruptible(
          Effect.suspend(() => {
            if (queue.length > 0) return turn
            wanted.closeUnsafe()
            return Effect.void
          })
        )
      )
    )
  )

  return SqliteTurns.of({
    change: <A>(change: Change<A>) =>
      Effect.callback<A, SqlError>((resume) => {
        let answer: { readonly value: A } | null = null
        let isAbandoned = false
        const lose = () => {
          if (answer !== null) change.onLost?.(answer.value)
        }
        const waiting: Waiting = {
          rows: change.rows,
          isUrgent: change.isUrgent ?? false,
          passedOver: 0,
          run: () => {
            answer = { value: change.run() }
          },
          isDurable: () =>
            typeof change.isDurable === "boolean"
              ? change.isDurable
              : answer !== null && change.isDurable(answer.value),
          succeed: () => {
            if (isAbandoned) lose()
            else if (answer !== null) resume(Effect.succeed(answer.value))
          },
          fail: (error) => resume(Effect.fail(error)),
          lose: (error) => {
            lose()
            resume(Effect.fail(error))
          }
        }
        queue.push(waiting)
        wake(waiting.isUrgent)
        return Effect.sync(() => {
          const at = queue.indexOf(waiting)
          if (at >= 0) queue.splice(at, 1)
          isAbandoned = true
        })
      }),
    read: (run, isRefusedWithChanges = false) =>
      Effect.suspend(() => {
        const error = refusal(!isRefusedWithChanges)
        if (error !== null) return Effect.fail(error)
        const reading = attempt(run)
        return db.isTransaction ? semaphore.withPermit(reading) : reading
      }),
    surround: (frame) => void frames.push(frame),
    prepare: (sql) => {
      const statement = db.prepare(sql)
      statement.setReturnArrays(true)
      return statement
    },
    inTransaction: attempt,
    location: db.location()
  })
})

const closed = (cause: Error): SqlError =>
  new SqlError({ reason: new UnknownError({ message: "The database is closed", cause, operation: "execute" }) })
