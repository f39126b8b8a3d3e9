/**
 * A plan as bytes of NDJSON, in chunks of a size that files like.
 */
import type { Scenario } from "../scenario/Scenario.ts"
import type { PlanOptions } from "./Plan.ts"
import { records } from "./Plan.ts"
import { lineOf } from "./PlannedEvent.ts"
import type { Recorded } from "./Recording.ts"

/** A chunk of lines. */
export interface LineChunk {
  readonly bytes: Uint8Array
  /** How many events it holds. */
  readonly events: number
}

/** Characters of a chunk. */
const chunkLength = 0x1_0000

/** The lines of a plan; `see` is shown each record first. */
export function* lineChunks(
  scenario: Scenario,
  options: PlanOptions,
  see?: (record: Recorded) => void
): IterableIterator<LineChunk> {
  const encoder = new TextEncoder()
  let text = ""
  let events = 0
  for (const record of records(scenario, options)) {
    see?.(record)
    text += lineOf(record)
    events++
    if (text.length < chunkLength) continue
    yield { bytes: encoder.encode(text), events }
    text = ""
    events = 0
  }
  if (events > 0) yield { bytes: encoder.encode(text), events }
}
