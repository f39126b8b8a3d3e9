/**
 * Which integrations fail again and again, as this process sees them: since when, and how often in a row.
 */
import type { Attempt } from "../../domain/Delivery.ts"
import type { IntegrationId } from "../../domain/Ids.ts"

/** Failed attempts of one integration, with no success between them. */
export interface FailureStreak {
  readonly integration_id: IntegrationId
  readonly failures: number
  /** When the first of them started, in milliseconds since the epoch. */
  readonly since: number
}

/** More integrations than these are not followed at once: memory stays small whatever happens. */
const maxStreaks = 10_000

export class FailureStreaks {
  private readonly streaks = new Map<IntegrationId, FailureStreak>()

  /** How many integrations have a streak. */
  get count(): number {
    return this.streaks.size
  }

  note(integration_id: IntegrationId, attempt: Attempt): void {
    if (attempt.outcome === "acknowledged") {
      this.streaks.delete(integration_id)
      return
    }
    const { failures, since } = this.streaks.get(integration_id) ?? { failures: 0, since: attempt.started_at }
    if (failures > 0 || this.count < maxStreaks) {
      this.streaks.set(integration_id, { integration_id, failures: failures + 1, since })
    }
  }

  /** Nothing is known of an integration any more: it was changed, or is gone. */
  forget(integration: IntegrationId): void {
    this.streaks.delete(integration)
  }

  /** The longest streaks, the longest first. */
  longest(limit: number): ReadonlyArray<FailureStreak> {
    return [...this.streaks.values()].toSorted((a, b) => b.failures - a.failures || a.since - b.since).slice(0, limit)
  }
}
