/**
 * What an acknowledgement means: without one nothing is delivered, and after one nothing is sent.
 */
import { acknowledges } from "../rules/Acknowledging.ts"
import type { Check } from "./Check.ts"
import { versionsAt } from "./Knowledge.ts"
import type { Request, Trace } from "./Trace.ts"

export const isAcknowledged = (trace: Trace, request: Request): boolean => {
  const result = request.response?.result
  const { ackTimeout } = trace.settings
  if (acknowledges(result, ackTimeout)) return true
  const takes2xx = () => versionsAt(trace, request).some(({ overrides }) => overrides.acknowledge === "2xx")
  return acknowledges(result, ackTimeout, true) && takes2xx()
}

export const deliveredIsReceived: Check = {
  name: "delivered-is-received",
  rule: "What ends as delivered was acknowledged, in time: by a 200, or by a 2xx where the integration takes that.",
  violations: (trace) =>
    [...trace.deliveries.values()].flatMap(({ final, id, requests }) =>
      final?.state !== "delivered" || requests.some((request) => isAcknowledged(trace, request))
        ? []
        : [{ what: `delivery ${id} was never acknowledged`, entries: requests.map(({ entry }) => entry.index) }]
    )
}

export const nothingAfterSuccess: Check = {
  name: "nothing-after-success",
  rule: "Once an acknowledged attempt is settled nothing is sent, unless somebody asks for it.",
  violations: (trace) =>
    trace.requests.flatMap(({ delivery, entry }) => {
      const success = delivery.settlements.findLast(
        (settled) => settled.entry.index < entry.index && settled.settlement.attempt?.outcome === "acknowledged"
      )
      if (success === undefined) return []
      // Asked for under the lease of the successful attempt, or later.
      if (delivery.resent.some((index) => index > success.grant.index)) return []
      return [
        {
          what: `delivery ${delivery.id} was sent again after it had succeeded`,
          entries: [success.entry.index, entry.index]
        }
      ]
    })
}
