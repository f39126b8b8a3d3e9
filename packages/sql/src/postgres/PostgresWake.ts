/**
 * Wake signals between processes: PostgreSQL's LISTEN and NOTIFY.
 *
 * A signal given inside a transaction is heard when it commits, and never when it does not. One connection of the pool
 * listens. When it breaks, signals may be missed: once there is another, whoever waits is woken to look for itself.
 */
import { PgClient } from "@effect/sql-pg/PgClient"
import { rootMessage, Wake } from "@doorhook/core"
import { Effect, Layer, Queue, Schedule } from "effect"

/** NOTIFY reaches all of one database: the name says whose signal it is. */
const channel = "doorhook_wake"

/** How a broken connection is tried again: for as long as it takes. */
const reconnect = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

const make = Effect.gen(function* () {
  const sql = yield* PgClient
  const signals = yield* Queue.sliding<void>(1)
  const wakeHere = Queue.offer(signals, undefined)

  const deaf = (error: unknown) => Effect.logWarning(`Not hearing wake signals, polling instead: ${rootMessage(error)}`)

  const listen = Effect.scoped(
    Effect.gen(function* () {
      const notifications = yield* sql.listen(channel).pipe(Effect.tapError(deaf), Effect.retry(reconnect))
      yield* wakeHere
      return yield* Effect.forever(Effect.andThen(Queue.take(notifications), wakeHere))
    })
  )

  yield* listen.pipe(
    Effect.catch((error) => Effect.andThen(deaf(error), Effect.sleep("100 millis"))),
    Effect.forever,
    Effect.forkScoped
  )

  return Wake.of({
    // Not `sql.notify`: that takes another connection, and would be heard before the transaction commits.
    signal: sql.unsafe(`SELECT pg_notify('${channel}', '')`).pipe(
      Effect.asVoid,
      Effect.catchTag("SqlError", (error) =>
        // The others find what there is by polling.
        Effect.andThen(Effect.logWarning(`Can't signal: ${rootMessage(error)}`), wakeHere)
      )
    ),
    wait: Queue.take(signals)
  })
})

/** For any number of dispatchers over the same database. */
export const layer: Layer.Layer<Wake, never, PgClient> = Layer.effect(Wake, make)
