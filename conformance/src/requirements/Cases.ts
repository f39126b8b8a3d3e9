/**
 * How requirements write their cases: one line each.
 */
import { accessLog, call } from "../history/Events.ts"
import type { Malformation } from "../history/Forgeries.ts"
import { again, makeCase, newEvent } from "../history/History.ts"
import type { Case, Lane } from "../history/History.ts"
import type { Operation } from "../history/Operations.ts"
import type { EventTemplate } from "../history/Events.ts"
import { retry } from "../history/Variations.ts"
import type { Variation } from "../history/Variations.ts"

type CaseMaker = (title: string, ...ops: ReadonlyArray<Operation>) => Case

const inLane =
  (lane: Lane): CaseMaker =>
  (title, ...ops) =>
    makeCase(lane, title, ...ops)

/** Cases by the lanes that most of them run in. */
export const state = inLane("state")
export const disturbed = inLane("disturbed")
export const operated = inLane("operated")

export const newLog = newEvent(accessLog)
export const newCall = newEvent(call)
/** An event again as doorhook tries it again, and in these ways besides. */
export const retryOf = (ref: number, ...how: ReadonlyArray<Variation>): Operation => again(ref, [...retry, ...how])
export const retryAll: Operation = { k: "again_all", how: retry }
export const retryOpen: Operation = { k: "retry_open" }
export const restart: Operation = { k: "restart" }

export const malformed = (event: EventTemplate, kind: Malformation): Operation => ({ k: "malformed", event, kind })
export const filler = (count: number): Operation => ({ k: "filler", count })
/** The same operation this many times. */
export const times = (count: number, operation: Operation): ReadonlyArray<Operation> =>
  Array.from({ length: count }, () => operation)
