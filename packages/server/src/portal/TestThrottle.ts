/**
 * How many tests an integration's page may send in a minute, counted in this process: enough to find out what is wrong
 * with a receiver, too few to trouble one.
 */
import type { IntegrationId } from "@doorhook/core"
import { Clock, Effect } from "effect"

export const testsPerMinute = 5
const window = 60_000

/** Counts a test: null when it may be sent, or the seconds to wait. */
export const makeTestThrottle = () => {
  const counts = new Map<IntegrationId, number>()
  let start = Number.NEGATIVE_INFINITY
  return Effect.fnUntraced(function* (id: IntegrationId) {
    const now = yield* Clock.currentTimeMillis
    if (now - start >= window) {
      counts.clear()
      start = now
    }
    const count = (counts.get(id) ?? 0) + 1
    counts.set(id, count)
    return count <= testsPerMinute ? null : Math.ceil((start + window - now) / 1_000)
  })
}
