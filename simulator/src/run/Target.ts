/**
 * Where the events of a run go.
 */
import type { Effect } from "effect"
import type { PlannedEvent } from "../plan/PlannedEvent.ts"
import type { Answer } from "./OperatorApi.ts"

export interface Target<R> {
  /** What it is called where something is wrong with it. */
  readonly name: string
  /** Where its key was given. */
  readonly keyFrom?: string
  /** Asks whether it is there, without publishing anything. */
  readonly greet: Effect.Effect<Answer, never, R>
  /** Publishes a batch. The same batch under the same key is taken only once. */
  readonly publish: (events: ReadonlyArray<PlannedEvent>, key: string) => Effect.Effect<Answer, never, R>
}
