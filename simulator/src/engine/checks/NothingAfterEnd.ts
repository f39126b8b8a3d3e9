/**
 * A receiver gets nothing after it was told off: integration deleted, disabled or given another URL, or the right of
 * its owner lost. A disabled one gets nothing but probes.
 *
 * What an engine may not know yet is stated in `Knowledge`. The right it asks for before each attempt: that holds at the
 * moment of the attempt.
 */
import type { Integration } from "@doorhook/core"
import type { Check, Violation } from "./Check.ts"
import { changesKnown } from "./Knowledge.ts"
import type { IntegrationEntry, Request, Trace } from "./Trace.ts"
import { entriesOf } from "./Trace.ts"

const isEnded = ({ integration, what }: IntegrationEntry, url: string): boolean =>
  what === "deleted" || integration.status === "disabled" || integration.configuration.url !== url

/** Whether a request is the one attempt of a probe of an integration that was disabled. */
const isProbe = ({ delivery, entry, grant }: Request, { index, integration, what }: IntegrationEntry): boolean => {
  const probed = delivery.probed.findLast((at) => at < (grant?.index ?? 0))
  return (
    what !== "deleted" &&
    integration.configuration.url === entry.url &&
    probed !== undefined &&
    probed > index &&
    !delivery.settlements.some((settled) => settled.entry.index > probed && settled.entry.index < entry.index)
  )
}

/** The change because of which a request should not have been sent. */
const endBefore = (trace: Trace, request: Request): IntegrationEntry | undefined => {
  const { known } = changesKnown(trace, request)
  const leased = request.grant?.index ?? 0
  const before = known.findLast(({ index }) => index < leased)
  const since = known.find((change) => change.index > leased && isEnded(change, request.entry.url))
  if (since !== undefined) return since
  return before !== undefined && isEnded(before, request.entry.url) && !isProbe(request, before) ? before : undefined
}

const afterChange = (trace: Trace): ReadonlyArray<Violation> =>
  trace.requests.flatMap((request) => {
    const { delivery, entry } = request
    const end = endBefore(trace, request)
    if (end === undefined) return []
    const how = end.what === "deleted" ? "deleted" : end.integration.status === "disabled" ? "disabled" : "moved"
    const what = `integration ${delivery.integration_id} was ${how}, and delivery ${delivery.id} was sent`
    return [{ what, entries: [end.index, ...(request.grant === null ? [] : [request.grant.index]), entry.index] }]
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
  rule: "Nothing is sent for an integration that is deleted, disabled or moved, once the engine can have heard of it, or without the right; a disabled one gets probes alone.",
  violations: (trace) => [...afterChange(trace), ...afterRight(trace)]
}
