/**
 * What an engine must know of an integration when it sends: all that was changed before it was given its lease; all that
 * it was told of, by its own doing or by a signal; and what was changed so long ago that a signal must have come.
 *
 * So what an engine may not know yet is what other engines changed within the time that signals take at most, and no more.
 */
import { DeliveryPolicy } from "@doorhook/core"
import type { Integration } from "@doorhook/core"
import type { IntegrationEntry, Request, Trace } from "./Trace.ts"

/** The longest that a change takes to be heard of, in milliseconds; or, by who made it, to be answered. */
const longestHearing = ({ outcome: { scenario } }: Trace): number => {
  const { delay, lost, reconnect } = scenario.hearing
  return Math.max(lost > 0 ? reconnect : 0, delay) + 2 * scenario.storeLatency
}

/** The index in the history before which an engine knew all changes of the integration when it sent a request. */
const knownBefore = (trace: Trace, { delivery, entry, grant }: Request): number => {
  const { integration_id } = delivery
  const told = trace.told.get(entry.engine)?.findLast(
    (other) =>
      // In the same millisecond the request came first.
      other.at < entry.at && (other.integration_id === null || other.integration_id === integration_id)
  )
  const aged = trace.integrations.get(integration_id)?.findLast(({ at }) => at + longestHearing(trace) < entry.at)
  return Math.max(grant?.index ?? 0, told?.index ?? 0, (aged?.index ?? -1) + 1)
}

/** The changes that an engine knew of when it sent a request, and those that it may have known of. */
export const changesKnown = (trace: Trace, request: Request) => {
  const known = knownBefore(trace, request)
  const history = (trace.integrations.get(request.delivery.integration_id) ?? []).filter(
    ({ index }) => index < request.entry.index
  )
  return {
    known: history.filter(({ index }) => index < known),
    perhaps: history.filter(({ index }) => index >= known)
  }
}

const isThere = ({ what }: IntegrationEntry): boolean => what !== "deleted"

/** What the integration may have been to the engine when it sent a request. */
export const versionsAt = (trace: Trace, request: Request): ReadonlyArray<Integration> => {
  const { known, perhaps } = changesKnown(trace, request)
  return [...known.slice(-1), ...perhaps].filter(isThere).map(({ integration }) => integration)
}

/** The schedules by which a request may be retried. */
export const schedulesAt = (trace: Trace, request: Request): ReadonlyArray<ReadonlyArray<number>> => {
  const { resource_type } = request.delivery.event
  return versionsAt(trace, request).map(
    (integration) => DeliveryPolicy.retryOf(trace.settings.retry, integration, resource_type).delays
  )
}
