/**
 * The setting that limits what clients get of an event's data.
 */
import { Detail, details, leastOf } from "@doorhook/core"
import type { MaxDetail } from "@doorhook/core"
import { Schema } from "effect"

const accepted = Detail.annotate({ message: `must be ${details.join(" or ")}` })
const Details = Schema.Record(Schema.String, accepted)

/** Limits by client and by resource type. A client gets the least of both. */
export interface DetailLimits {
  /** For clients without a limit of their own, and for integrations without a client. Default: `full`. */
  readonly default?: Detail | undefined
  /** By client id. */
  readonly clients?: Readonly<Record<string, Detail>> | undefined
  /** By resource type, for all clients. */
  readonly types?: Readonly<Record<string, Detail>> | undefined
}

/** A limit for all, or limits by client and type. */
export type DetailSetting = Detail | DetailLimits

export const DetailSetting: Schema.Codec<DetailSetting> = Schema.Union([
  accepted,
  Schema.Struct({
    default: Schema.optional(accepted),
    clients: Schema.optional(Details),
    types: Schema.optional(Details)
  })
])

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
