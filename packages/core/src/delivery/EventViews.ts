/**
 * Events as receivers and clients get them: reduced to the detail of the integration and to what the host lets the client
 * get. Deliveries, feeds and lists all reduce events here.
 */
import { Effect } from "effect"
import { leastOf, MaxDetail } from "../model/Detail.ts"
import type { Detail } from "../model/Detail.ts"
import type { Event } from "../model/Event.ts"
import type { ClientId } from "../model/Ids.ts"
import type { Integration, Scope } from "../model/Integration.ts"
import { creatingClient } from "../model/Integration.ts"
import { JsonText, membersNamed, withNulls } from "../model/JsonText.ts"
import { ResourceTypes } from "../model/ResourceType.ts"
import { defaultPublicUrl, ServiceUrl } from "../ports/ServiceUrl.ts"

/** An event as a receiver or client gets it. */
export interface SeenEvent extends Event {
  /** The URL of the event, if the data has only an id. */
  readonly self?: string
}

/** Returns the id in an event's data as JSON, else the event's own id. */
const idTextOf = ({ data, id }: Pick<Event, "data" | "id">): string => {
  const own = membersNamed(data, "id").at(-1) ?? ""
  return own.startsWith('"') || /^-?\d/.test(own) ? own : JSON.stringify(id)
}

/** Makes functions that reduce events to what may be seen of them. */
export const makeViews = Effect.gen(function* () {
  const max = yield* MaxDetail
  const types = yield* ResourceTypes
  const service = yield* ServiceUrl

  const reduced = (event: Event, detail: Detail, scope: Scope): SeenEvent => {
    if (detail === "full") return event
    const definition = types.get(event.resource_type)
    // The personal members of a type that is no longer declared are unknown.
    if (detail === "redacted" && definition !== undefined) {
      return { ...event, data: withNulls(event.data, definition.personal ?? []) }
    }
    const self = `${service?.url ?? defaultPublicUrl}/v4/${scope.type}s/${scope.id}/events/${event.id}`
    return { ...event, data: JsonText.make(`{"id":${idTextOf(event)}}`), self }
  }

  return {
    /** Returns an event as an integration gets it, or as a client reads it in the integration's feed. */
    ofIntegration: (
      integration: Pick<Integration, "created_by" | "detail" | "scope">,
      event: Event,
      client = creatingClient(integration)
    ): SeenEvent => {
      const { detail, scope } = integration
      if (scope.type === "service") return event
      const most = max(creatingClient(integration), event.resource_type)
      return reduced(event, leastOf(detail, most, max(client, event.resource_type)), scope)
    },
    /** Returns an event as a client may read it below a building or tenant. */
    ofClient: (client: ClientId | null, scope: Scope, event: Event): SeenEvent =>
      reduced(event, max(client, event.resource_type), scope)
  }
})
export type Views = Effect.Success<typeof makeViews>
