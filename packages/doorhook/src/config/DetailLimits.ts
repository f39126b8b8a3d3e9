/**
 * The setting that limits what clients get of an event's data.
 */
import { Detail, details, leastOf } from "@doorhook/core"
import type { MaxDetail } from "@doorhook/core"
import { Schema } from "effect"

const accepted = Detail.annotate({ message: `must be ${details.join(" or ")}` })
const Details = Schema.Record(Schema.String, accepted)

/** Limits by client and by resource type. A client gets the least of both. */
const DetailLimits = Schema.Struct({
  /** For clients without a limit of their own, and for integrations without a client. Default: `full`. */
  default: Schema.optional(accepted),
  /** By client id. */
  clients: Schema.optional(Details),
  /** By resource type, for all clients. */
  types: Schema.optional(Details)
})
export type DetailLimits = typeof DetailLimits.Type

/** A limit for all, or limits by client and type. */
export const DetailSetting = Schema.Union([accepted, DetailLimits])
export type DetailSetting = typeof DetailSetting.Type

const limitsOf = (setting: DetailSetting): DetailLimits =>
  typeof setting === "string" ? { default: setting } : setting

const ownOf = <Value>(of: Readonly<Record<string, Value>>, name: string | null): Value | undefined =>
  name !== null && Object.hasOwn(of, name) ? of[name] : undefined

/** Returns the limit of each client and type. */
export const maxDetailOf = (setting: DetailSetting): MaxDetail => {
  const { clients = {}, default: usual = "full", types = {} } = limitsOf(setting)
  return (client, type) => leastOf(ownOf(clients, client) ?? usual, ownOf(types, type) ?? "full")
}

/** Returns the limits as text. Equal limits have the same text, and none has the empty one. */
export const limitsText = (setting: DetailSetting = {}): string => {
  const { clients = {}, default: usual = "full", types = {} } = limitsOf(setting)
  const each = (kind: string, of: Readonly<Record<string, Detail>>, isNone: Detail) =>
    Object.entries(of).flatMap(([name, detail]) => (detail === isNone ? [] : [`${kind} ${name}=${detail}`]))
  return [...(usual === "full" ? [] : [usual]), ...each("client", clients, usual), ...each("type", types, "full")]
    .toSorted()
    .join(",")
}
