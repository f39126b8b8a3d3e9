/**
 * What an integration should have received, for a receiver that catches up or proves that nothing is missing.
 */
import { bodyOf, formatDeliveryId, IntegrationFeed, isoOf } from "@doorhook/core"
import type { FeedItem, FeedPage, IntegrationId } from "@doorhook/core"
import { Effect, Option } from "effect"
import { HttpRouter } from "effect/http"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { QueryParameters } from "../http/QueryParameters.ts"
import { both, parameterFailure } from "../http/RequestFailure.ts"
import { resource } from "../http/Resource.ts"
import { ApiEndpoint } from "./ApiEndpoint.ts"
import { formatCursor, parseCursor } from "./FeedCursor.ts"
import { collectionPath, collectionUrl, owners, targetOf } from "./Owners.ts"
import type { Owner } from "./Owners.ts"
import { readSize, sizeParameters } from "./Pagination.ts"
import type { PageSize } from "./Pagination.ts"

const parameters = ["after", ...sizeParameters] as const

/** Reads where to begin; without a cursor, at the beginning. */
const readAfter = (id: IntegrationId, { after }: QueryParameters<"after">) =>
  after === undefined
    ? Effect.succeed<0>(0)
    : Option.match(parseCursor(id, after), {
        onNone: () =>
          parameterFailure(
            "after",
            "`after` must be a cursor of this integration: the `meta.cursor` of an earlier answer."
          ),
        onSome: Effect.succeed
      })

/** A delivery as JSON text, because the event's data must be the text that was published. */
const textOf = ({ delivery, event }: FeedItem): string => {
  const id = formatDeliveryId(delivery.id)
  const attributes = JSON.stringify({
    event_id: event.id,
    state: delivery.state,
    created_at: isoOf(delivery.created_at)
  })
  // The members of the body that the receiver gets, `event` alone, come after the others.
  return `{"type":"deliveries","id":"${id}","attributes":${attributes.slice(0, -1)},${bodyOf(event).slice(1)}}`
}

/** A part of a feed whose own URL is `url`. */
const documentText = (url: string, id: IntegrationId, { cursor, items, more }: FeedPage, { name, size }: PageSize) => {
  const after = formatCursor(id, cursor)
  const query = new URLSearchParams([
    ["after", after],
    [name, String(size)]
  ])
  const meta = JSON.stringify({ cursor: after })
  const links = JSON.stringify({ next: more ? `${url}?${query.toString()}` : null })
  return `{"data":[${items.map(textOf).join(",")}],"meta":${meta},"links":${links}}`
}

const makeRoutes = Effect.gen(function* () {
  const feed = yield* IntegrationFeed
  const { operation, refuse } = yield* ApiEndpoint
  const publicUrl = yield* PublicUrl

  const routeOf = (owner: Owner) => {
    const read = operation(parameters, (caller, query) =>
      Effect.gen(function* () {
        const { id, scope } = yield* targetOf(owner)
        const [size, after] = yield* both(readSize(query), readAfter(id, query))
        const page = yield* feed.read(caller, scope, id, { after, limit: size.size })
        const own = `${collectionUrl(publicUrl.url, scope)}/${id}/deliveries`
        return { status: 200, document: documentText(own, id, page, size) }
      })
    )
    return resource(`${collectionPath(owner)}/:id/deliveries`, { GET: read }, refuse)
  }

  return owners.map(routeOf)
})

export const FeedRoutes = HttpRouter.addAll(makeRoutes)
