/**
 * Identifiers, branded so that they can't be confused.
 *
 * Buildings, tenants, integrations and deliveries have numbers, assigned by the host or a store. Events have strings,
 * because their ids must be globally unique. Users and clients have strings, because their ids are chosen outside
 * doorhook.
 */
import { Brand, Option, Predicate, Schema, SchemaGetter } from "effect"
import { nameOf } from "./InvalidInput.ts"

const PositiveInt = Schema.Int.check(
  Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, { message: "must be a positive whole number" })
)

/** Id of a building, assigned by the host. */
export const BuildingId = PositiveInt.pipe(Schema.brand("BuildingId"))
export type BuildingId = typeof BuildingId.Type

/** Id of a tenant (a resident or a company in a building), assigned by the host. */
export const TenantId = PositiveInt.pipe(Schema.brand("TenantId"))
export type TenantId = typeof TenantId.Type

/**
 * Reads a building or tenant id from a host. Accepts numbers. Also accepts decimal text and BigInt values, which
 * database clients return for a `bigint` column. Returns null for anything else, including a sign, a leading zero, and
 * numbers above 2^53 - 1.
 */
export const readHostId = (given: unknown): number | null => {
  const isDigits = Predicate.isString(given) && /^[1-9][0-9]{0,15}$/.test(given)
  const id = isDigits || Predicate.isBigInt(given) ? Number(given) : given
  return Predicate.isNumber(id) && Number.isSafeInteger(id) && id > 0 ? id : null
}

/** Returns the message for a value that is not a building or tenant id. */
export const hostIdFlaw = (given: unknown): string => {
  // Only texts and numbers are shown, because the text of a list would include all nested values.
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

/** A `BuildingId` as sent by hosts; see `readHostId`. */
export const HostBuildingId = fromHost(BuildingId)

/** A `TenantId` as sent by hosts; see `readHostId`. */
export const HostTenantId = fromHost(TenantId)

/** Id of an integration, assigned by the store and never reused. On the wire it is a decimal string (JSON:API). */
export const IntegrationId = PositiveInt.pipe(Schema.brand("IntegrationId"))
export type IntegrationId = typeof IntegrationId.Type

/** Id of a delivery. The store assigns ids in ascending order. On the wire it is `dlv_` and the number. */
export const DeliveryId = PositiveInt.pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

/** Id of a notification. The store assigns ids in ascending order. */
export const NotificationId = PositiveInt.pipe(Schema.brand("NotificationId"))
export type NotificationId = typeof NotificationId.Type

/** The prefix of event ids. Letters and digits follow. */
export const eventIdPrefix = "evt_"

const eventIdForm = `${eventIdPrefix}[0-9A-Za-z]{16,64}`

/** Id of an event, sent as `webhook-id` in every request that carries the event. Unique across databases. */
export const EventId = Schema.String.check(
  Schema.isPattern(new RegExp(`^${eventIdForm}$`), { message: "must be an event id (evt_...)" })
).pipe(Schema.brand("EventId"))
export type EventId = typeof EventId.Type

const eventIdWords = new RegExp(`\\b${eventIdForm}\\b`, "g")

/** Returns all event ids in a text, in order. */
export const eventIdsIn = (text: string): ReadonlyArray<string> => text.match(eventIdWords) ?? []

/** Id of a user of the host. NUL is excluded because PostgreSQL can't store it in text. */
export const UserId = Schema.NonEmptyString.check(
  Schema.isPattern(/^[^\0]*$/, { message: "must have no NUL character" })
).pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type

/** Id of an OAuth client (RFC 6749 section 2.2). Control characters are not allowed (appendix A.1). */
export const ClientId = Schema.NonEmptyString.check(
  Schema.isPattern(/^\P{Cc}*$/u, { message: "must have no control characters" })
).pipe(Schema.brand("ClientId"))
export type ClientId = typeof ClientId.Type

const brandedClientId = Brand.nominal<ClientId>()

/**
 * Reads a client id; none if it is invalid. Written without a schema for speed, because every request reads a client
 * id.
 */
export const parseClientId = (text: string): Option.Option<ClientId> =>
  text === "" || /\p{Cc}/u.test(text) ? Option.none() : Option.some(brandedClientId(text))

/**
 * Id of a grant, which is one authorization of a client by a user. A grant has one code and all tokens derived from it.
 */
export const GrantId = Schema.NonEmptyString.pipe(Schema.brand("GrantId"))
export type GrantId = typeof GrantId.Type

/** Formats a delivery id as sent to clients: `dlv_42`. */
export const formatDeliveryId = (id: DeliveryId): string => `dlv_${id}`

/** Parses `dlv_42`; none if the text is not a delivery id. */
export const parseDeliveryId = (text: string): Option.Option<DeliveryId> =>
  /^dlv_[1-9][0-9]{0,15}$/.test(text) ? parsePositiveInt(DeliveryId, text.slice(4)) : Option.none()

/** Parses a positive decimal number as one of the numeric ids; none for other text. */
export const parsePositiveInt = <A>(schema: Schema.Codec<A, number>, text: string): Option.Option<A> =>
  /^[1-9][0-9]{0,15}$/.test(text) ? Schema.decodeOption(schema)(Number(text)) : Option.none()
