/**
 * Numbered changes to integrations. A change invalidates the integration's deliveries that were held, claimed or
 * published before it.
 *
 * Plain data: nothing here waits or fails.
 */
import type { IntegrationId } from "../model/Ids.ts"

export class Changes {
  #latest = 0
  #latestOfAll = 0
  readonly #byIntegration = new Map<IntegrationId, { readonly change: number; readonly until: number }>()

  /** The number of the latest change. */
  get latest(): number {
    return this.#latest
  }

  /**
   * Records a change to integrations and remembers it for `lease` milliseconds, because a claim or publication that
   * read the old state can last that long.
   */
  note(ids: Iterable<IntegrationId>, now: number, lease: number): void {
    this.#latest++
    for (const [id, { until }] of this.#byIntegration) if (until < now) this.#byIntegration.delete(id)
    for (const id of ids) this.#byIntegration.set(id, { change: this.#latest, until: now + lease })
  }

  /** Records that any integration may have changed. */
  noteAll(): void {
    this.#latestOfAll = ++this.#latest
  }

  /** Whether an integration has changed after change number `since`. */
  isVoid(id: IntegrationId, since: number): boolean {
    return (
      this.#latestOfAll > since || (this.#byIntegration.size > 0 && (this.#byIntegration.get(id)?.change ?? 0) > since)
    )
  }
}
