/**
 * What the operator sets of single integrations holds for them, from when it is known, and for no others.
 */
import { acknowledges } from "../rules/Acknowledging.ts"
import type { Check } from "./Check.ts"
import { schedulesAt, versionsAt } from "./Knowledge.ts"
import type { Request, Trace } from "./Trace.ts"

/** What may be said of a request, given what its integration may have been. */
const outcomesOf = (trace: Trace, request: Request): ReadonlySet<boolean> => {
  const result = request.response?.result
  const { ackTimeout } = trace.settings
  if (!acknowledges(result, ackTimeout, true)) return new Set([false])
  return new Set(
    versionsAt(trace, request).map(({ overrides }) => acknowledges(result, ackTimeout, overrides.acknowledge === "2xx"))
  )
}

export const overrides: Check = {
  name: "overrides",
  rule: "An integration's own rule of acknowledgement and its own schedule are respected, and the service's where it has none.",
  violations: (trace) =>
    [...trace.deliveries.values()].flatMap(({ event, id, requests, settlements }) =>
      settlements.flatMap(({ early, entry, grant, settlement: { attempt, state } }) => {
        const request = requests.findLast(
          ({ entry: sent, response }) =>
            sent.engine === entry.engine &&
            sent.attempt === attempt?.number &&
            response !== null &&
            sent.index < entry.index
        )
        if (attempt === null || request === undefined) return []
        const acknowledged = attempt.outcome === "acknowledged"
        const place = attempt.number - early
        const isUsedUp = schedulesAt(trace, request).map((delays) => delays.length < place)
        const problem = !outcomesOf(trace, request).has(acknowledged)
          ? `is recorded as ${acknowledged ? "" : "not "}acknowledged`
          : state === "retrying" && grant.early_due_at === null && !isUsedUp.includes(false)
            ? "is retried beyond its schedule"
            : // A call can end because its lifetime does.
              state === "exhausted" && (event.resource_type === "call" || !isUsedUp.includes(true))
              ? "is given up within its schedule"
              : null
        if (problem === null) return []
        return [
          {
            what: `attempt ${attempt.number} of delivery ${id} ${problem}`,
            entries: [request.entry.index, entry.index]
          }
        ]
      })
    )
}
