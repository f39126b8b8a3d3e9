/**
 * The integrations of a virtual world and their receivers.
 */
import type { Event, Integration, IntegrationId } from "@doorhook/core"
import { child, Rng } from "../random/Substream.ts"
import type { Substream } from "../random/Substream.ts"
import { LocalClock } from "../receivers/LocalClock.ts"
import { Receiver } from "../receivers/Receiver.ts"
import { describedFor, modelFor } from "../receivers/ReceiverText.ts"
import type { ReceiverRule } from "../receivers/ReceiverText.ts"
import type { IntegrationTotals, Measurements } from "../results/Measurements.ts"
import type { PlannedIntegration } from "../run/World.ts"
import { Matcher } from "../run/World.ts"
import type { StoredIntegration } from "./VirtualOptions.ts"

/** An integration and its receiver. */
export interface Target {
  readonly planned: PlannedIntegration
  readonly integration: Integration
  readonly receiver: Receiver
  readonly clock: LocalClock
  readonly totals: IntegrationTotals
  /** Requests open to it, by all processes. */
  open: number
  /** By each process. */
  readonly openBy: Map<number, number>
}

export class Targets {
  readonly #receivers: ReadonlyArray<ReceiverRule>
  readonly #measurements: Measurements
  readonly #seed: Substream
  readonly #matcher = new Matcher()
  readonly #byUrl = new Map<string, Target>()
  readonly #byId = new Map<IntegrationId, Target>()
  readonly #clocks = new Map<string, LocalClock>()

  constructor(receivers: ReadonlyArray<ReceiverRule>, measurements: Measurements, seed: Substream) {
    this.#receivers = receivers
    this.#measurements = measurements
    this.#seed = seed
  }

  /** Those that are not deleted. */
  get all(): ReadonlyArray<Target> {
    return [...this.#byId.values()]
  }

  /** Whoever has a URL, deleted or not. */
  at(url: string): Target | undefined {
    return this.#byUrl.get(url)
  }

  clockOf(zone: string): LocalClock {
    const known = this.#clocks.get(zone)
    if (known !== undefined) return known
    const clock = new LocalClock(zone)
    this.#clocks.set(zone, clock)
    return clock
  }

  totalsOf(id: IntegrationId): IntegrationTotals {
    return this.#byId.get(id)?.totals ?? this.#measurements.integration(id, `integration ${id}`)
  }

  matching(event: Event): ReadonlySet<IntegrationId> {
    return this.#matcher.matching(event)
  }

  add({ planned, stored }: StoredIntegration): void {
    const { url } = stored.configuration
    const target: Target = {
      planned,
      integration: stored,
      receiver: new Receiver(
        modelFor(this.#receivers, planned.place),
        new Rng(child(child(this.#seed, "receiver"), url))
      ),
      clock: this.clockOf(planned.zone),
      totals: this.#measurements.integration(stored.id, planned.name, describedFor(this.#receivers, planned.place)),
      open: 0,
      openBy: new Map()
    }
    this.#byUrl.set(url, target)
    this.#byId.set(stored.id, target)
    this.#matcher.add(planned.scope, stored.id)
  }

  remove({ integration, planned }: Target): void {
    this.#byId.delete(integration.id)
    this.#matcher.remove(planned.scope, integration.id)
  }

  /** A process died: what it had open is cut off. */
  cutOff(process: number): void {
    for (const target of this.#byUrl.values()) {
      target.open -= target.openBy.get(process) ?? 0
      target.openBy.delete(process)
    }
  }
}
