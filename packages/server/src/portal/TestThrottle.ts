/**
 * How many tests an integration's page may send in a minute, counted in this process: enough to find out what is wrong
 * with a receiver, too few to trouble one.
 */
import type { IntegrationId } from "@doorhook/core"
import { makeMinuteCounter } from "@doorhook/core"
import { Clock, Effect } from "effect"

const testsPerMinute = 5

/** Counts a test: null when it may be sent, or the seconds to wait. */
export const makeTestThrottle = () => {
  const countOf = makeMinuteCounter()
  return (id: IntegrationId) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const { count, seconds } = countOf(id, now)
      return count <= testsPerMinute ? null : seconds
    })
}
