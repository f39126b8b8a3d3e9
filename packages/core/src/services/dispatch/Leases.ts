/**
 * The leases of one dispatcher: numbered, so that what was leased before its integration changed is known as such.
 */
import type { Lease, LeasedDelivery } from "../../domain/Delivery.ts"
import type { IntegrationId } from "../../domain/Ids.ts"

export class Leases {
  private readonly worker: string
  private readonly duration: number
  private count = 0
  /** All leases up to this one are void, whatever their integration. */
  private voidUntil = 0
  /** Of integrations that were changed or deleted, the last lease from before, and its end. */
  private readonly changed = new Map<IntegrationId, { readonly lease: number; readonly until: number }>()

  /** `worker` names this dispatcher among all others; `duration` is in milliseconds. */
  constructor(worker: string, duration: number) {
    this.worker = worker
    this.duration = duration
  }

  /** A new lease, for all that is claimed or published together. */
  next(now: number): Lease {
    return { token: `${this.worker}.${++this.count}`, until: now + this.duration }
  }

  /** What is leased of an integration until now is void. */
  forget(integration: IntegrationId, now: number): void {
    for (const [id, { until }] of this.changed) if (until < now) this.changed.delete(id)
    this.changed.set(integration, { lease: this.count, until: now + this.duration })
  }

  /** All that is leased until now is void. */
  forgetAll(): void {
    this.voidUntil = this.count
  }

  /** A claim or a publication can be under way while its integration is forgotten, and come in afterwards. */
  isVoid({ integration, lease }: LeasedDelivery): boolean {
    const last = Math.max(this.voidUntil, this.changed.get(integration.id)?.lease ?? 0)
    return last > 0 && Number(lease.token.slice(this.worker.length + 1)) <= last
  }
}
