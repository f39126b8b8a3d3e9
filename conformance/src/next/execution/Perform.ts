/**
 * How each operation is carried out: one row for each kind.
 */
import type { Crypto } from "@doorhook/core"
import type { Effect } from "effect"
import type { Minting } from "../history/Minting.ts"
import type { Operation, OperationKind, OperationOf } from "../history/Operations.ts"
import type { Execution } from "./Execution.ts"
import type { Slots } from "./Slots.ts"
import type { TargetUnusable } from "./TargetUnusable.ts"

export type Done = Effect.Effect<void, TargetUnusable, Crypto | Minting | Slots>

/** Every kind has a row; the compiler sees that none is missing. */
export type Performers = {
  readonly [K in OperationKind]: (execution: Execution, operation: OperationOf<K>, place: number) => Done
}

/** Carries an operation out, at its place in the history. */
export declare const perform: (execution: Execution, operation: Operation, place: number) => Done
