/**
 * A receiver gets nothing after it was told off: integration deleted, disabled or given another URL, or the right of
 * its owner lost.
 *
 * What an engine could know, exactly: (1) a change of an integration that took effect in the store before the engine was
 * given its lease; (2) a change that the engine itself made or caused, once it was told that it is made; (3) the right,
 * which it asks for before each attempt, at the moment of the attempt. A lease that another engine holds is let run. So is a first attempt to the former URL of
 * an event that was being accepted while the URL changed: a store looks again whether an integration is there and
 * enabled, and not where it is.
 */
import type { Integration } from "@doorhook/core"
import type { Check, Violation } from "./Check.ts"
import type { IntegrationEntry, Request, Trace } from "./Trace.ts"
import { entriesOf } from "./Trace.ts"

const isEnded = ({ integration, what }: IntegrationEntry, url: string): boolean =>
  what === "deleted" || integration.status === "disabled" || integration.configuration.url !== url

/** The last change that an engine knew of when it sent a request. */
const lastKnown = (trace: Trace, { delivery, entry, grant }: Request): IntegrationEntry | undefined => {
  const history = trace.integrations.get(delivery.integration_id) ?? []
  const told = trace.told.findLast(
    (other) =>
      other.index < entry.index && other.engine === entry.engine && other.integration_id === delivery.integration_id
  )
  const known = Math.max(grant?.index ?? 0, told?.index ?? 0)
  return history.findLast(({ index }) => index < known)
}

/** Whether an integration moved after an event was published, and before it was stored. */
const wasBeingAccepted = (
  { publishes }: Trace,
  { delivery, grant }: Request,
  { index, integration, what }: IntegrationEntry
): boolean =>
  what === "saved" &&
  integration.status === "enabled" &&
  grant?.index === delivery.enqueued.index &&
  (publishes.get(delivery.event.data)?.index ?? Infinity) < index

const afterChange = (trace: Trace): ReadonlyArray<Violation> =>
  trace.requests.flatMap((request) => {
    const { delivery, entry } = request
    const known = lastKnown(trace, request)
    if (known === undefined || !isEnded(known, entry.url) || wasBeingAccepted(trace, request, known)) return []
    const how = known.what === "deleted" ? "deleted" : known.integration.status === "disabled" ? "disabled" : "moved"
    return [
      {
        what: `integration ${delivery.integration_id} was ${how}, and delivery ${delivery.id} was sent`,
        entries: [known.index, ...(request.grant === null ? [] : [request.grant.index]), entry.index]
      }
    ]
  })

const afterRight = (trace: Trace): ReadonlyArray<Violation> => {
  const rights = entriesOf(trace.entries, "right")
  const last = (integration: Integration, before: number) =>
    rights.findLast(
      ({ index, scope, user }) =>
        index < before &&
        user === integration.created_by.user_id &&
        scope.type === integration.scope.type &&
        scope.id === integration.scope.id
    )
  return trace.requests.flatMap(({ delivery, entry }) => {
    const integration = trace.integrations.get(delivery.integration_id)?.[0]?.integration
    const right = integration === undefined ? undefined : last(integration, entry.index)
    // In the same millisecond the question came first.
    if (right === undefined || right.granted || right.at === entry.at) return []
    return [{ what: `delivery ${delivery.id} was sent when the right was lost`, entries: [right.index, entry.index] }]
  })
}

export const nothingAfterEnd: Check = {
  name: "nothing-after-end",
  rule: "Nothing is sent for an integration that an engine knows to be deleted, disabled or moved, or without the right.",
  violations: (trace) => [...afterChange(trace), ...afterRight(trace)]
}
