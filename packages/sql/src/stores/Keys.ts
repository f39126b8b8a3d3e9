/**
 * Idempotency keys, stored by the call that they belong to, in its transaction.
 */
import type { RememberedRequest } from "@doorhook/core"
import { KeyTaken } from "@doorhook/core"
import { Effect } from "effect"
import type { DeliveryTables } from "../DeliveryTables.ts"

/** Stores keys; fails if one is taken, which ends the transaction. */
export const takeKeys = Effect.fnUntraced(function* (
  tables: DeliveryTables["Service"],
  keys: ReadonlyArray<RememberedRequest>
) {
  if (keys.length === 0) return
  // In one order, so that calls that take the same ones wait for one another at the first of them.
  const unique = new Map(keys.map((key) => [key.key, key]))
  const sorted = [...unique.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const stored = new Set(yield* tables.insertKeys(sorted))
  const taken = keys.find(({ key }) => !stored.has(key))
  if (taken !== undefined) return yield* new KeyTaken({ key: taken.key })
})
