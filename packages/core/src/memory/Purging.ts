/**
 * What a purge deletes.
 */
import type { Event } from "../domain/Event.ts"
import type { IntegrationId } from "../domain/Ids.ts"
import type { Purged, PurgeRequest } from "../ports/DeliveryStore.ts"
import type { MemoryState } from "./MemoryState.ts"

/** Deletes what is old and settled, in the order of storing. A clock may have been wrong: an old one may be behind a younger. */
export const purgeOld = (state: MemoryState["Service"], { after, before, limit }: PurgeRequest): Purged => {
  const { deliveries } = state
  state.notices.splice(0, state.notices.findLastIndex(({ at }) => at < before) + 1)
  const touched = new Set<IntegrationId>()
  const deleted: Array<Event> = []
  let [purged, looked, old] = [0, 0, 0]
  let last = after
  let next: number | null = null
  for (const [id, stored] of deliveries.events) {
    if (stored.seq <= after) continue
    if (looked === limit) {
      next = old > 0 ? last : null
      break
    }
    looked++
    last = stored.seq
    if (stored.event.created_at >= before) continue
    old++
    if (stored.deliveries.some(({ standing }) => standing.due_at !== null)) continue
    deleted.push(stored.event)
    purged += stored.deliveries.length
    for (const { integration_id } of stored.deliveries) touched.add(integration_id)
    deliveries.removeEvent(id)
  }
  deliveries.forget(deleted, touched)
  return { events: deleted.length, deliveries: purged, next }
}
