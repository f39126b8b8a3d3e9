/**
 * A receiver sees only what it may see and asked for.
 */
import { maySee } from "../rules/MaySee.ts"
import type { Check } from "./Check.ts"

export const isolation: Check = {
  name: "isolation",
  rule: "A receiver sees only events of its scope and of its bindings.",
  violations: ({ integrations, publishes, requests, strays }) => [
    ...strays.map(({ index, url, webhook_id }) => ({
      what: `${webhook_id} was sent to ${url}, where nobody asked for it`,
      entries: [index]
    })),
    ...requests.flatMap(({ delivery, entry }) => {
      const { enqueued, event, integration_id } = delivery
      const from = publishes.get(event.data)?.index ?? enqueued.index
      const history = (integrations.get(integration_id) ?? []).filter(({ index }) => index < enqueued.index)
      // What was in effect at some time while the event was accepted.
      const versions = history.filter((_, nth) => (history[nth + 1]?.index ?? Infinity) > from)
      if (versions.some(({ integration }) => maySee(integration, event))) return []
      return [
        { what: `integration ${integration_id} must not see ${event.id}`, entries: [enqueued.index, entry.index] }
      ]
    })
  ]
}
