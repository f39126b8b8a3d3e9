/**
 * How much of an event's data an integration or a client gets: all of it, without personal members, or only an id and a
 * link. A host can limit it by client and resource type.
 */
import { Context, Schema } from "effect"
import type { ClientId } from "./Ids.ts"
import type { ResourceType } from "./ResourceType.ts"

/** From the most to the least data. */
export const details = ["full", "redacted", "thin"] as const
export const Detail = Schema.Literals(details)
export type Detail = typeof Detail.Type

/** Returns the one with the least data. */
export const leastOf = (first: Detail, ...others: ReadonlyArray<Detail>): Detail =>
  others.reduce((least, one) => (details.indexOf(one) > details.indexOf(least) ? one : least), first)

/** The most that a client may get of events of a type; null for integrations that no client created. */
export type MaxDetail = (client: ClientId | null, type: ResourceType) => Detail

export const MaxDetail = Context.Reference<MaxDetail>("@doorhook/core/model/MaxDetail", {
  defaultValue: () => () => "full"
})

/** Returns the most that clients may get of everything that some bindings select. */
export const mostFor = (
  max: MaxDetail,
  clients: ReadonlyArray<ClientId | null>,
  bindings: ReadonlyArray<{ readonly resource_type: ResourceType }>
): Detail =>
  leastOf("full", ...clients.flatMap((client) => bindings.map(({ resource_type }) => max(client, resource_type))))
