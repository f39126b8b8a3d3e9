/**
 * Wake signals between processes, by PostgreSQL's LISTEN and NOTIFY, or by polling where LISTEN is impossible.
 *
 * A signal sent inside a transaction arrives when the transaction commits, and never if it rolls back. One connection
 * of the pool listens. While the connection is down, this process misses signals. Each new connection therefore wakes
 * all waiting callers and counts all integrations as changed.
 */
import { PgClient } from "@effect/sql-pg/PgClient"
import { IntegrationId, runForever, parsePositiveInt, rootMessage, WakeSignal } from "@doorhook/core"
import { Duration, Effect, Layer, Option, Queue, Schedule } from "effect"
import { WakeSource } from "./PostgresDatabase.ts"
import { Switches } from "./Switches.ts"
import { channel } from "./Primitives.ts"

/** Shortest time between two looks for changes where LISTEN is impossible. */
export const pollEvery = "1 second"

/** Returns the pause after a look at all integrations. With a million of them, such a scan takes seconds. */
export const pauseAfterLook = (took: Duration.Duration): Duration.Duration =>
  Duration.max(Duration.fromInputUnsafe(pollEvery), Duration.times(took, 10))

/** Advice for a pooler that forwards no wake signals. */
export const listenAdvice =
  "For signals at once, add listen= to the database URL, with the percent-encoded URL of the server itself."

/**
 * Changes with every change to an integration, and when a call ends whose deliveries a worker holds. Cost: a scan of the
 * integrations in order of id, and the few deliveries that were cancelled under a lease.
 */
const integrationsSeen = `SELECT concat(bit_xor(hashint8extended(id, version)), ' ', (
    SELECT bit_xor(hashint8extended(d.id, 0)) FROM deliveries AS d WHERE d.worker IS NOT NULL AND d.reason = 'call_ended'
  )) AS seen FROM integrations WHERE id > 0`

/** Retries a broken connection indefinitely. */
const reconnect = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

const make = Effect.gen(function* () {
  const sql = yield* PgClient
  const signals = yield* Queue.sliding<void>(1)
  const wakeHere = Queue.offer(signals, undefined)
  const changeSignals = yield* Queue.sliding<void>(1)
  /** Integrations that changed since the last read of `changes`; null if signals may have been missed. */
  let changed: Set<IntegrationId> | null = new Set()

  const logBroken = (error: unknown) =>
    Effect.logWarning(`Not receiving wake signals, polling instead: ${rootMessage(error)}`)

  const receive = (payload: string) =>
    Effect.suspend(() => {
      const id = parsePositiveInt(IntegrationId, payload)
      if (Option.isNone(id)) return wakeHere
      changed?.add(id.value)
      return Queue.offer(changeSignals, undefined)
    })

  /** Whether LISTEN has succeeded since the current series of attempts began. */
  let isListening = false

  /** Returns its connection to the pool even if the server refuses LISTEN. */
  const listen = Effect.scoped(
    Effect.gen(function* () {
      const notifications = yield* sql.listen(channel)
      isListening = true
      yield* wakeHere
      changed = null
      yield* Queue.offer(changeSignals, undefined)
      return yield* Effect.forever(Effect.flatMap(Queue.take(notifications), ({ payload }) => receive(payload)))
    })
  )

  let lastSeen: string | undefined

  const poll = Effect.andThen(wakeHere, Effect.sleep(pollEvery))

  const look = sql.unsafe<{ readonly seen: string }>(integrationsSeen).pipe(
    Effect.flatMap(([found]) => {
      if (found?.seen === lastSeen) return Effect.void
      lastSeen = found?.seen
      changed = null
      return Queue.offer(changeSignals, undefined)
    }),
    Effect.catchTag("SqlError", (error) => Effect.logDebug(`Can't look for changes: ${rootMessage(error)}`)),
    Effect.timed,
    Effect.flatMap(([took]) => Effect.sleep(pauseAfterLook(took)))
  )

  const untilItBreaks = Effect.suspend(() => {
    isListening = false
    return listen.pipe(
      Effect.tapError(logBroken),
      Effect.retry({ schedule: reconnect, while: () => !isListening }),
      Effect.catch(() => Effect.sleep("100 millis"))
    )
  })
  const isPolling = (yield* WakeSource) === "polling"
  const { notify } = yield* Switches
  if (isPolling)
    yield* Effect.logInfo(
      notify === "off"
        ? `No wake signals with notify=off: polling every ${pollEvery}.`
        : `No wake signals through this pooler: polling every ${pollEvery}. ${listenAdvice}`
    )
  yield* Effect.forkScoped(runForever("Listening for wake signals", isPolling ? poll : untilItBreaks))
  if (isPolling) yield* Effect.forkScoped(runForever("Looking for changed integrations", look))

  return WakeSignal.of({
    // `sql.notify` uses another connection, so its signal would arrive before the transaction commits.
    signal: sql.unsafe(`SELECT wake('')`).pipe(
      Effect.andThen(isPolling ? sql.afterCommit(Effect.asVoid(wakeHere)) : Effect.void),
      Effect.catchTag("SqlError", (error) =>
        // Other processes find the deliveries by polling.
        Effect.andThen(Effect.logWarning(`Can't signal: ${rootMessage(error)}`), wakeHere)
      )
    ),
    wait: Queue.take(signals),
    changes: Effect.map(Queue.take(changeSignals), () => {
      const ids = changed
      changed = new Set()
      return ids === null ? null : [...ids]
    })
  })
})

/** Provides wake signals for any number of dispatchers on one database. */
export const layer: Layer.Layer<WakeSignal, never, PgClient> = Layer.effect(WakeSignal, make)
