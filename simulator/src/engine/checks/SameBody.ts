/**
 * One event, one body.
 */
import { bodyOf } from "@doorhook/core"
import type { Check } from "./Check.ts"

export const sameBody: Check = {
  name: "same-body",
  rule: "Every request of an event has the same body, with its data as published.",
  violations: ({ publishes, requests }) =>
    requests.flatMap(({ delivery, entry }) =>
      entry.body === bodyOf(delivery.event) && publishes.has(delivery.event.data)
        ? []
        : [{ what: `another body: ${entry.body}`, entries: [entry.index] }]
    )
}
