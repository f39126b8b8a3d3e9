/**
 * Plans as NDJSON: one event a line, in UTF-8.
 */
import { Stream } from "effect"
import type { PlannedEvent } from "./PlannedEvent.ts"

/** The lines of a plan, a chunk of the plan at a time. */
export const toNdjson = <E, R>(events: Stream.Stream<PlannedEvent, E, R>): Stream.Stream<Uint8Array, E, R> => {
  const encoder = new TextEncoder()
  return Stream.mapArray(events, (chunk) => {
    let text = ""
    for (const event of chunk) text += `${JSON.stringify(event)}\n`
    return [encoder.encode(text)]
  })
}
