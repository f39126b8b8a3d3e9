/**
 * Compares this machine's clock with the store's, and reports a difference to operators. Deliveries follow the store's
 * clock, so they are correct anyway. But one of the two clocks is wrong, and the times in logs are, too.
 */
import { Effect, Layer, Random } from "effect"
import { aheadText } from "../model/Notification.ts"
import { DeliveryStore } from "../ports/DeliveryStore.ts"
import { certainOffset, clockFault, StoreClock, storeTime } from "../ports/StoreClock.ts"
import { runForever } from "./Loops.ts"
import { Notifications } from "./Notifications.ts"

/** Interval between comparisons, in milliseconds. */
const every = 5_000

/** Offset that is logged as a warning, and offset up to which the clocks agree again, in milliseconds. */
const warned = 2_000
const agreed = 1_000

/** How long a notification also counts for other processes of its machine, in milliseconds. */
const countsFor = 600_000

/** Number of notifications to search for one of another process. */
const searched = 100

type ClockLevel = "agrees" | "warning" | "fault"

/** Judges how far this machine's clock is ahead. A level lasts until the clocks agree again. */
export const clockLevel = (before: ClockLevel, ahead_ms: number): ClockLevel => {
  const size = Math.abs(ahead_ms)
  if (size <= agreed) return "agrees"
  if (size > clockFault || before === "fault") return "fault"
  return size > warned ? "warning" : before
}

const logOf = (level: ClockLevel, ahead_ms: number): Effect.Effect<void> =>
  level === "agrees"
    ? Effect.logInfo("The clocks of this machine and of the database server agree again")
    : Effect.logWarning(
        `The clock of this machine is ${aheadText(ahead_ms)} the database server's: synchronize both (NTP)`
      )

/** Reports as `machine` until the scope closes. Does nothing with a store without a clock of its own. */
export const layer = (machine: string): Layer.Layer<never, never, DeliveryStore | Notifications> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const clock = yield* StoreClock
      if (clock === null) return
      const store = yield* DeliveryStore
      const notifications = yield* Notifications
      const now = yield* storeTime
      let level: ClockLevel = "agrees"

      /** Stores a notification, unless another process of this machine has reported the same. */
      const report = Effect.fnUntraced(function* (ahead_ms: number) {
        const at = now()
        const latest = yield* store.notifications({ limit: searched, order: "newest" })
        const isReported = latest.some(
          (each) =>
            each.kind === "clock_offset" &&
            each.machine === machine &&
            Math.sign(each.ahead_ms) === Math.sign(ahead_ms) &&
            Math.abs(at - each.at) < countsFor
        )
        if (isReported) return yield* logOf("fault", ahead_ms)
        const about = { integration_id: null, scope: null, at, machine, ahead_ms }
        yield* notifications.notify([yield* store.addNotification({ kind: "clock_offset", ...about })])
      })

      const compare = Effect.gen(function* () {
        yield* clock.measure
        const offset = clock.offset()
        if (offset === null) return
        const ahead_ms = certainOffset(offset)
        const next = clockLevel(level, ahead_ms)
        if (next === level) return
        yield* next === "fault" ? report(ahead_ms) : logOf(next, ahead_ms)
        level = next
      })

      const step = Effect.andThen(
        Effect.catchTag(compare, "StoreError", (error) => Effect.logDebug(error.message)),
        Effect.sleep(every)
      )
      // Processes that started together compare at different times, so that only one of them reports.
      const first = yield* Random.nextBetween(0, every)
      yield* Effect.forkScoped(Effect.andThen(Effect.sleep(first), runForever("Comparing the clocks", step, every)))
    })
  )
