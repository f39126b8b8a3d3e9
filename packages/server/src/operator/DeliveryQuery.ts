/**
 * Which deliveries an operator asks for.
 */
import {
  DeliveryState,
  deliveryStates,
  EventId,
  IntegrationId,
  parseDeliveryId,
  parsePositiveInt
} from "@doorhook/core"
import type { DeliveryFilter } from "@doorhook/core"
import { Effect, Option, Schema } from "effect"
import type { QueryParameters } from "../http/QueryParameters.ts"
import { parameterFailure } from "../http/RequestFailure.ts"

/** The accepted query parameters. */
export const deliveryParameters = ["state", "integration_id", "event_id", "after", "limit"] as const
type Parameter = (typeof deliveryParameters)[number]

export const defaultLimit = 100
export const maxLimit = 1_000

/** Reads a number of at most `maxLimit`. */
const parseLimit = (text: string): Option.Option<number> =>
  Option.filter(Option.some(/^\d{1,4}$/.test(text) ? Number(text) : 0), (limit) => limit >= 1 && limit <= maxLimit)

/** Reads the filter that a query describes. An empty parameter counts as not given. */
export const readFilter = Effect.fnUntraced(function* (query: QueryParameters<Parameter>) {
  const read = <A>(name: Parameter, parse: (text: string) => Option.Option<A>, expected: string) => {
    const text = query[name]
    if (text === undefined || text === "") return Effect.succeed(null)
    return Option.match(parse(text), {
      onNone: () => parameterFailure(name, `\`${name}\` must be ${expected}.`),
      onSome: Effect.succeed
    })
  }
  const state = yield* read("state", Schema.decodeUnknownOption(DeliveryState), deliveryStates.join(", "))
  const integration_id = yield* read(
    "integration_id",
    (text) => parsePositiveInt(IntegrationId, text),
    "the id of an integration, like 12"
  )
  const event_id = yield* read("event_id", Schema.decodeUnknownOption(EventId), "the id of an event, like evt_...")
  const after = yield* read("after", parseDeliveryId, "the `next` of an earlier answer")
  const limit = yield* read("limit", parseLimit, `a whole number from 1 to ${maxLimit}`)
  const filter: DeliveryFilter = {
    ...(state !== null && { state }),
    ...(integration_id !== null && { integration_id }),
    ...(event_id !== null && { event_id }),
    ...(after !== null && { after }),
    limit: limit ?? defaultLimit
  }
  return filter
})
