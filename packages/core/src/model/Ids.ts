/**
 * Identifiers. Branded, so that a tenant's number can't be passed where a building's is asked for.
 *
 * Numbers identify what the host or a store counts (buildings, tenants, integrations, deliveries); strings identify
 * what must be unique beyond one database (events) or is chosen by somebody else (users, clients).
 */
import { Brand, Option, Predicate, Schema, SchemaGetter } from "effect"
import { nameOf } from "./InvalidInput.ts"

const PositiveInt = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, { message: "must be a positive whole number" })
)

/** A building, as the host numbers it. */
export const BuildingId = PositiveInt.pipe(Schema.brand("BuildingId"))
export type BuildingId = typeof BuildingId.Type

/** A tenant (a resident or a company in a building), as the host numbers it. */
export const TenantId = PositiveInt.pipe(Schema.brand("TenantId"))
export type TenantId = typeof TenantId.Type

/**
 * Reads an id of a building or tenant as hosts give it: a number, or the same as decimal text or BigInt, which is how database
 * clients return a `bigint`. No sign, no leading zero, at most 2^53 - 1. Null for anything else.
 */
export const readHostId = (given: unknown): number | null => {
  const isDigits = Predicate.isString(given) && /^[1-9][0-9]{0,15}$/.test(given)
  const id = isDigits || Predicate.isBigInt(given) ? Number(given) : given
  return Predicate.isNumber(id) && Number.isSafeInteger(id) && id > 0 ? id : null
}

/** Why a value is not an id of a building or tenant: the rule, and the value. */
export const hostIdFlaw = (given: unknown): string => {
  // The text of a list is that of all in it, however deep.
  const text = Predicate.isString(given) || Predicate.isNumber(given) ? String(given) : ""
  const isTooLarge = Predicate.isBigInt(given) || /^[0-9]{16,}$/.test(text)
  const limit = isTooLarge ? ` up to ${Number.MAX_SAFE_INTEGER}` : ""
  return `must be a positive whole number${limit}, not ${nameOf(given)}`
}

const HostId = Schema.Unknown.check(Schema.makeFilter((given) => readHostId(given) !== null || hostIdFlaw(given)))

const fromHost = <S extends Schema.Codec<number, number>>(id: S) =>
  HostId.pipe(
    Schema.decodeTo(id, {
      decode: SchemaGetter.transform((given) => readHostId(given) ?? 0),
      encode: SchemaGetter.transform((known) => known)
    })
  )

/** A `BuildingId` as hosts give it; see `readHostId`. */
export const HostBuildingId = fromHost(BuildingId)

/** A `TenantId` as hosts give it; see `readHostId`. */
export const HostTenantId = fromHost(TenantId)

/** An integration; assigned by the store, never reused. On the wire it is a decimal string (JSON:API). */
export const IntegrationId = PositiveInt.pipe(Schema.brand("IntegrationId"))
export type IntegrationId = typeof IntegrationId.Type

/** A delivery; assigned by the store, growing with time. On the wire it is `dlv_` and the number. */
export const DeliveryId = PositiveInt.pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

/** A notification; assigned by the store, growing with time. */
export const NotificationId = PositiveInt.pipe(Schema.brand("NotificationId"))
export type NotificationId = typeof NotificationId.Type

/** How an event id begins; letters and digits follow. */
export const eventIdPrefix = "evt_"

const eventIdForm = `${eventIdPrefix}[0-9A-Za-z]{16,64}`

/** An event, and the `webhook-id` of every request that carries it. Unique across databases. */
export const EventId = Schema.String.check(
  Schema.isPattern(new RegExp(`^${eventIdForm}$`), { message: "must be an event id (evt_...)" })
).pipe(Schema.brand("EventId"))
export type EventId = typeof EventId.Type

const eventIdWords = new RegExp(`\\b${eventIdForm}\\b`, "g")

/** The words of a text that have the form of an event id, in order. */
export const eventIdsIn = (text: string): ReadonlyArray<string> => text.match(eventIdWords) ?? []

/** A user of the host. PostgreSQL keeps no text with a NUL in it. */
export const UserId = Schema.NonEmptyString.check(
  Schema.isPattern(/^[^\0]*$/, { message: "must have no NUL character" })
).pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type

/** An OAuth client (RFC 6749 section 2.2). Control characters are in none (appendix A.1). */
export const ClientId = Schema.NonEmptyString.check(
  Schema.isPattern(/^\P{Cc}*$/u, { message: "must have no control characters" })
).pipe(Schema.brand("ClientId"))
export type ClientId = typeof ClientId.Type

const brandedClientId = Brand.nominal<ClientId>()

/** Reads a client id; none when the text can be the id of no client. By hand: each request reads one. */
export const parseClientId = (text: string): Option.Option<ClientId> =>
  text === "" || /\p{Cc}/u.test(text) ? Option.none() : Option.some(brandedClientId(text))

/** One authorization given by one user to one client: the family that its code and all its tokens belong to. */
export const GrantId = Schema.NonEmptyString.pipe(Schema.brand("GrantId"))
export type GrantId = typeof GrantId.Type

/** The wire form of a delivery id: `dlv_42`. */
export const formatDeliveryId = (id: DeliveryId): string => `dlv_${id}`

/** Reads `dlv_42`; none when the text is no delivery id. */
export const parseDeliveryId = (text: string): Option.Option<DeliveryId> =>
  /^dlv_[1-9][0-9]{0,15}$/.test(text) ? parsePositiveInt(DeliveryId, text.slice(4)) : Option.none()

/** Reads a positive decimal number as one of the numeric ids; none when it is anything else. */
export const parsePositiveInt = <A>(schema: Schema.Codec<A, number>, text: string): Option.Option<A> =>
  /^[1-9][0-9]{0,15}$/.test(text) ? Schema.decodeOption(schema)(Number(text)) : Option.none()
