/**
 * A call that nobody waits for any more is not sent.
 */
import { builtInTypes } from "@doorhook/core"
import type { Check } from "./Check.ts"
import { clockOf } from "./Trace.ts"

const { lifetime } = builtInTypes.call.retry

export const callLifetime: Check = {
  name: "call-lifetime",
  rule: "No call is sent after its lifetime, unless somebody asks for it.",
  violations: (trace) =>
    trace.requests.flatMap(({ delivery, entry }) => {
      const { event, id, resent } = delivery
      const age = clockOf(trace, entry.engine, entry) - event.created_at
      if (event.resource_type !== "call" || age < lifetime || resent.some((index) => index < entry.index)) return []
      return [{ what: `the call of delivery ${id} was sent when it was ${age} ms old`, entries: [entry.index] }]
    })
}
