/**
 * A call to the store from one process: it takes time, can fail before or after its effect, and can be the last thing
 * that the process does.
 */
import { StoreError } from "@doorhook/core"
import { Effect } from "effect"
import type { Process } from "../time/Process.ts"
import type { VirtualTime } from "../time/VirtualTime.ts"
import type { Faults, Point } from "./Faults.ts"

/** What a process calls the store through. */
export type StoreCall = <A, E>(operation: string, effect: Effect.Effect<A, E>) => Effect.Effect<A, E | StoreError>

export const storeCalls =
  (process: Process, time: VirtualTime, faults: Faults, kill: (process: Process) => void): StoreCall =>
  (operation, effect) =>
    Effect.suspend(() => {
      if (!process.alive) return Effect.never
      const { crash, error, latency } = faults.storeCall()
      const wait = (point: Point) => (latency[point] === 0 ? Effect.void : process.wait(time, latency[point]))
      // Most calls take effect and nothing else; there are hundreds of thousands in a simulated week.
      if (crash === null && error === null) {
        const answered = latency.after === 0 ? effect : Effect.tap(effect, () => wait("after"))
        return latency.before === 0 ? answered : Effect.andThen(wait("before"), answered)
      }
      const reach = (point: Point): Effect.Effect<void, StoreError> =>
        Effect.suspend(() => {
          if (crash === point) {
            kill(process)
            return Effect.never
          }
          if (error !== point) return Effect.void
          const cause = new Error(`simulated, ${point} the effect`)
          return new StoreError({ operation, cause, ...(point === "after" && { outcome: "unknown" }) })
        })
      return wait("before").pipe(
        Effect.andThen(reach("before")),
        Effect.andThen(effect),
        Effect.tap(() => Effect.andThen(wait("after"), reach("after")))
      )
    })
