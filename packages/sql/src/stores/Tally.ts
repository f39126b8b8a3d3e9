/**
 * Counts of events, and of deliveries by state: kept by each transaction that moves any, because counting a hundred
 * million rows takes too long.
 */
import type { DeliveryState } from "@doorhook/core"
import { noDeliveries } from "@doorhook/core"
import { Effect } from "effect"
import type { Answer, DeliveryTables, TallyName } from "../DeliveryTables.ts"

/** What one transaction changes, written once at its end. */
export class Tally {
  private readonly changes = new Map<TallyName, number>()

  add(name: TallyName, count: number): void {
    this.changes.set(name, (this.changes.get(name) ?? 0) + count)
  }

  move(from: DeliveryState, to: DeliveryState, count: number): void {
    this.add(from, -count)
    this.add(to, count)
  }

  get all(): ReadonlyMap<TallyName, number> {
    return new Map([...this.changes].filter(([, count]) => count !== 0))
  }

  write(tables: DeliveryTables["Service"]): Answer<void> {
    const { all } = this
    return all.size === 0 ? Effect.void : tables.addToTallies(all)
  }
}

/** All counts. */
export const readTallies = Effect.fnUntraced(function* (tables: DeliveryTables["Service"]) {
  const counts: Record<TallyName, number> = { events: 0, ...noDeliveries }
  for (const { count, name } of yield* tables.tallies) counts[name] = count
  return counts
})
