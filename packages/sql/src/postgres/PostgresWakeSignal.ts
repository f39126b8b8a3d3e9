/**
 * Wake signals between processes: PostgreSQL's LISTEN and NOTIFY.
 *
 * A signal given inside a transaction is heard when it commits, and never when it does not. One connection of the pool
 * listens. Until it does, and when it breaks, signals may be missed: once it hears, the first time too, whoever waits is
 * woken to look for itself, and any integration may have changed.
 */
import { PgClient } from "@effect/sql-pg/PgClient"
import { IntegrationId, runForever, parsePositiveInt, rootMessage, WakeSignal } from "@doorhook/core"
import { Effect, Layer, Option, Queue, Schedule } from "effect"
import { channel } from "./PostgresDialect.ts"

/** How a broken connection is tried again: for as long as it takes. */
const reconnect = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

const make = Effect.gen(function* () {
  const sql = yield* PgClient
  const signals = yield* Queue.sliding<void>(1)
  const wakeHere = Queue.offer(signals, undefined)
  const told = yield* Queue.sliding<void>(1)
  /** What was told of while nobody asked; null: it can't be known. */
  let changed: Set<IntegrationId> | null = new Set()

  const deaf = (error: unknown) => Effect.logWarning(`Not hearing wake signals, polling instead: ${rootMessage(error)}`)

  const hear = (payload: string) =>
    Effect.suspend(() => {
      const id = parsePositiveInt(IntegrationId, payload)
      if (Option.isNone(id)) return wakeHere
      changed?.add(id.value)
      return Queue.offer(told, undefined)
    })

  /** Whether it has heard since it began to try. */
  let hears = false

  /** Each try gives back its connection, that of a server which refuses to listen too. */
  const listen = Effect.scoped(
    Effect.gen(function* () {
      const notifications = yield* sql.listen(channel)
      hears = true
      yield* wakeHere
      changed = null
      yield* Queue.offer(told, undefined)
      return yield* Effect.forever(Effect.flatMap(Queue.take(notifications), ({ payload }) => hear(payload)))
    })
  )

  const untilItBreaks = Effect.suspend(() => {
    hears = false
    return listen.pipe(
      Effect.tapError(deaf),
      Effect.retry({ schedule: reconnect, while: () => !hears }),
      Effect.catch(() => Effect.sleep("100 millis"))
    )
  })
  yield* Effect.forkScoped(runForever("Listening for wake signals", untilItBreaks))

  return WakeSignal.of({
    // Not `sql.notify`: that takes another connection, and would be heard before the transaction commits.
    signal: sql.unsafe(`SELECT pg_notify('${channel}', '')`).pipe(
      Effect.asVoid,
      Effect.catchTag("SqlError", (error) =>
        // The others find what there is by polling.
        Effect.andThen(Effect.logWarning(`Can't signal: ${rootMessage(error)}`), wakeHere)
      )
    ),
    wait: Queue.take(signals),
    changes: Effect.map(Queue.take(told), () => {
      const heard = changed
      changed = new Set()
      return heard === null ? null : [...heard]
    })
  })
})

/** For any number of dispatchers over the same database. */
export const layer: Layer.Layer<WakeSignal, never, PgClient> = Layer.effect(WakeSignal, make)
