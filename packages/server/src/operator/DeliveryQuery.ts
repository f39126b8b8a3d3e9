/**
 * Which deliveries an operator asks for.
 */
import { deliveryStates, EventId, parseDeliveryId } from "@doorhook/core"
import type { DeliveryFilter } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { QueryParameters } from "../http/QueryParameters.ts"
import { readAfter, readChoices, readIntegrationId, readLimit, readOrder, readParameter } from "../http/ListQuery.ts"

/** The accepted query parameters. */
export const deliveryParameters = ["state", "integration_id", "event_id", "order", "after", "limit"] as const
type Parameter = (typeof deliveryParameters)[number]

/** Reads the filter that a query describes. An empty parameter counts as not given. */
export const readFilter = Effect.fnUntraced(function* (query: QueryParameters<Parameter>) {
  const states = yield* readChoices(query, "state", deliveryStates)
  const integration_id = yield* readIntegrationId(query)
  const event_id = yield* readParameter(
    query,
    "event_id",
    Schema.decodeUnknownOption(EventId),
    "the id of an event, like evt_..."
  )
  const order = yield* readOrder(query)
  const after = yield* readAfter(query, parseDeliveryId)
  const limit = yield* readLimit(query)
  const filter: DeliveryFilter = {
    ...(states !== null && { states }),
    ...(integration_id !== null && { integration_id }),
    ...(event_id !== null && { event_id }),
    ...(after !== null && { after }),
    order,
    limit
  }
  return filter
})
