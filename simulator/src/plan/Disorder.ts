/**
 * Events that are sent twice.
 */
import { Stream } from "effect"
import { between, chance } from "../random/Distribution.ts"
import type { Rng } from "../random/Substream.ts"
import { Heap } from "../clock/Heap.ts"
import { fromIso } from "./IsoTime.ts"
import type { PlannedEvent } from "./PlannedEvent.ts"

/** An event and when it is sent, in milliseconds since the epoch, in the time of the plan. */
export interface Sending {
  readonly event: PlannedEvent
  readonly at: number
  readonly kind: "planned" | "repeated"
}

/** The second time comes this much later, in milliseconds. */
const repeatedAfter = [100, 30_000] as const

/** The plan with its times, in order of time; a share of its events is sent again. */
export const disturbed = <E, R>(
  events: Stream.Stream<PlannedEvent, E, R>,
  { repeated }: { readonly repeated: number },
  rng: Rng
): Stream.Stream<Sending, E, R> =>
  Stream.suspend(() => {
    const waiting = new Heap<Sending>((a, b) => a.at < b.at)
    const takeUntil = (time: number): ReadonlyArray<Sending> => {
      const taken: Array<Sending> = []
      for (let next = waiting.top; next !== undefined && next.at <= time; next = waiting.top) {
        waiting.pop()
        taken.push(next)
      }
      return taken
    }
    const next = (event: PlannedEvent): ReadonlyArray<Sending> => {
      const at = fromIso(event.at)
      const ready = takeUntil(at)
      if (repeated > 0 && chance(rng, repeated))
        waiting.push({ event, at: at + Math.round(between(rng, ...repeatedAfter)), kind: "repeated" })
      return [...ready, { event, at, kind: "planned" }]
    }
    const rest = Stream.suspend(() => Stream.fromIterable(takeUntil(Infinity)))
    return events.pipe(
      Stream.chunks,
      Stream.map((chunk) => chunk.flatMap(next)),
      Stream.flatMap(Stream.fromArray),
      Stream.concat(rest)
    )
  })
