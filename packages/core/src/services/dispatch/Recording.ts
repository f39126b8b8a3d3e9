/**
 * The settler: records how attempts ended, as many in one transaction as have come in.
 */
import { Clock, Effect, Latch, Metric } from "effect"
import type { LeasedDelivery } from "../../domain/Delivery.ts"
import type { IntegrationId } from "../../domain/Ids.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import type { Seen } from "../../domain/Notice.ts"
import { shownHost } from "../../rules/UrlPolicy.ts"
import { makeCounter, staleSettlements } from "../DeliveryMetrics.ts"
import { DeliverySettings } from "../DeliverySettings.ts"
import { lasting, tellDefect } from "../Lasting.ts"
import { Notices } from "../Notices.ts"
import { FailureLog, loggedText } from "./FailureLog.ts"
import type { Refusals } from "./Refusals.ts"
import { untilAnswered } from "./Refusals.ts"
import type { Outcome } from "./Sending.ts"

/**
 * How long outcomes wait for others to be recorded with, in milliseconds. What a process that dies has not recorded is sent
 * again.
 */
const settleDelay = 25

/** The most outcomes recorded in one transaction: more would hold up the calls behind it. */
const settleBatch = 150

/** The most outcomes that wait to be recorded, as a multiple of the requests open at once. */
const maxUnsettled = 16

/** What the settler asks of the dispatcher around it. */
export interface RecordingOptions {
  readonly refusals: Refusals
  /** Runs a transaction in its turn. */
  readonly inTurn: <A, E, R>(transaction: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Whether an attempt shows how its integration does. */
  readonly isTelling: (delivery: LeasedDelivery) => boolean
  /** Integrations were enabled or disabled by what was recorded, or may have been. */
  readonly forget: (changed: Iterable<IntegrationId>) => Effect.Effect<void>
  /** A delivery will be due again. */
  readonly noteDue: (at: number) => void
  /** There is room for more. */
  readonly goOn: () => void
}

interface Recorder {
  readonly record: (outcome: Outcome) => void
  /** Outcomes that are not recorded yet. */
  readonly unsettled: () => number
  /**
   * Since when outcomes wait and nothing was recorded, in milliseconds since the epoch; null while nothing waits. It moves
   * with each batch.
   */
  readonly waitingSince: () => number | null
  /** Whether recording keeps up with sending: nothing more should be sent than can be recorded. */
  readonly keepsUp: () => boolean
  /** Waits until everything is recorded. Nothing waits for others any more: there will be none. */
  readonly finish: Effect.Effect<void>
  readonly run: Effect.Effect<never>
}

/** The last of what each integration was seen to do. */
const seenIn = (batch: ReadonlyArray<Outcome>): ReadonlyMap<IntegrationId, Seen> => {
  const seen = new Map<IntegrationId, Seen>()
  for (const { delivery, settlement } of batch) {
    const { configuration, id } = delivery.integration
    const { attempt } = settlement
    const last = attempt === null || attempt.outcome === "acknowledged" ? "" : loggedText(attempt)
    seen.set(id, { host: shownHost(configuration.url), last })
  }
  return seen
}

export const makeRecorder = Effect.fnUntraced(function* ({
  forget,
  goOn,
  inTurn,
  isTelling,
  noteDue,
  refusals
}: RecordingOptions) {
  const store = yield* DeliveryStore
  const settings = yield* DeliverySettings
  const told = yield* Notices
  const clock = yield* Clock.Clock
  const counter = yield* makeCounter
  const waiting: Array<Outcome> = []
  /** Open while outcomes wait. */
  const arrived = yield* Latch.make(false)
  const settledAll = yield* Latch.make(true)
  const failures = new FailureLog()
  let unsettled = 0
  let lastProgress = 0
  /** No more will come that could be waited for. */
  let isFinishing = false

  const settle = Effect.fnUntraced(function* (batch: ReadonlyArray<Outcome>) {
    const now = clock.currentTimeMillisUnsafe()
    const settlements = batch.map(({ settlement }) => settlement)
    counter.attempted(batch)
    const { applied, changed, dueAgain, notices } = yield* store.settle(settlements, now, settings.disableAfter).pipe(
      // In the same turn, so that they are told in the order of writing.
      Effect.tap((settled) => (settled.notices.length > 0 ? told.tell(settled.notices, seenIn(batch)) : Effect.void)),
      inTurn,
      Effect.tapError((error) =>
        Effect.andThen(
          refusals.note("settle")(error),
          // It may have disabled integrations all the same, and the retry will find nothing left to do.
          error.outcome === "unknown"
            ? Effect.andThen(
                forget(new Set(settlements.map(({ integration_id }) => integration_id))),
                // What was asked for again meanwhile is due, and the retry will not say so.
                Effect.sync(() => noteDue(now))
              )
            : Effect.void
        )
      ),
      untilAnswered
    )
    if (dueAgain) noteDue(now)
    for (const { next_attempt_at } of settlements) if (next_attempt_at !== null) noteDue(next_attempt_at)
    if (changed.length > 0) yield* forget(changed)
    const recorded = batch.filter(({ delivery }) => applied.has(delivery.id))
    counter.ended(recorded)
    const stale = batch.length - recorded.length
    if (stale > 0) yield* Metric.update(staleSettlements, stale)
    const lines = failures.note(
      recorded.flatMap(({ delivery, settlement: { attempt } }) =>
        isTelling(delivery) ? [{ integration: delivery.integration, attempt }] : []
      ),
      notices,
      now
    )
    for (const { level, text } of lines) yield* level === "warn" ? Effect.logWarning(text) : Effect.logInfo(text)
  })

  const recordBatch = (batch: ReadonlyArray<Outcome>): Effect.Effect<void> =>
    settle(batch).pipe(
      // What could not be recorded because of a defect is sent again when its lease ends.
      Effect.ensuring(
        Effect.sync(() => {
          // After a defect too: with nothing left to record, nothing else would say that the store can be asked again.
          refusals.clear("settle")
          unsettled -= batch.length
          lastProgress = clock.currentTimeMillisUnsafe()
          if (unsettled === 0) settledAll.openUnsafe()
          goOn()
        })
      )
    )

  const recordWaiting = Effect.gen(function* () {
    yield* arrived.await
    if (!isFinishing) yield* Effect.sleep(settleDelay)
    // What comes meanwhile waits for others again.
    for (let left = waiting.length; left > 0 && waiting.length > 0; left -= settleBatch)
      yield* recordBatch(waiting.splice(0, Math.min(left, settleBatch)))
    if (waiting.length === 0) arrived.closeUnsafe()
  })

  const finish = Effect.gen(function* () {
    isFinishing = true
    // Beside the loop, which may wait for others yet.
    while (waiting.length > 0)
      yield* Effect.catchDefect(recordBatch(waiting.splice(0, settleBatch)), (defect) =>
        tellDefect("Recording attempts failed; it goes on", defect)
      )
    yield* settledAll.await
  })

  return {
    record: (outcome) => {
      if (unsettled === 0) lastProgress = clock.currentTimeMillisUnsafe()
      unsettled++
      settledAll.closeUnsafe()
      waiting.push(outcome)
      arrived.openUnsafe()
    },
    unsettled: () => unsettled,
    waitingSince: () => (unsettled === 0 ? null : lastProgress),
    keepsUp: () => !refusals.has("settle") && unsettled < maxUnsettled * settings.concurrency,
    finish,
    run: lasting("Recording attempts", recordWaiting)
  } satisfies Recorder
})
