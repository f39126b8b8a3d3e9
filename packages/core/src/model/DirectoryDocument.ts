/**
 * The directory file: clients, users, buildings and tenants for a service without a host backend.
 *
 * Reading the file returns a document with valid references, or all problems of the file. Problems say where the error
 * is and what is expected. They never quote values, because the file contains secrets.
 */
import { Array, DateTime, Effect, Option, Result, Schema } from "effect"
import * as RedirectUri from "./RedirectUri.ts"
import { Client, isConfidential } from "./Client.ts"
import { BuildingId, TenantId, UserId } from "./Ids.ts"
import type { Problem, Problems } from "./InvalidInput.ts"
import { InvalidInput, schemaProblems } from "./InvalidInput.ts"

/** Makes a member required. `what` describes it in messages. */
const required = <S extends Schema.Top>(schema: S, what: string): S["Rebuild"] =>
  schema.annotateKey({ messageMissingKey: `is missing; it must be ${what}` })

/** Makes a list that is empty by default. */
const listOf = <A, I>(item: Schema.Codec<A, I>) =>
  Schema.Array(item).pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))

const Text = Schema.String.check(Schema.isNonEmpty({ message: "must not be empty" }))

const ClientEntry = Schema.Struct({
  ...Client.fields,
  id: required(Client.fields.id, "the client_id"),
  name: required(Client.fields.name, "the name shown to users"),
  redirect_uris: required(
    Schema.Array(
      Schema.String.check(
        Schema.makeFilter((uri) => RedirectUri.isAcceptable(uri) || `must be ${RedirectUri.expected}`)
      )
    ),
    "a list of redirect URIs"
  ),
  /** The login of the user as whom the client may act without a login (RFC 6749 section 4.4). */
  service_user: Schema.optional(UserId)
})

const UserEntry = Schema.Struct({
  /** The login name. It is also the user's id. */
  login: required(UserId, "what the user logs in with"),
  password: required(Schema.RedactedFromValue(Text), "a text"),
  /** The buildings that the user administers. */
  buildings: listOf(BuildingId),
  /** The tenants that the user belongs to. */
  tenants: listOf(TenantId)
})

const isTimeZone = (name: string): boolean => Option.isSome(DateTime.zoneMakeNamed(name))

const AccessPointEntry = Schema.Struct({ id: required(Schema.Int, "a whole number"), name: required(Text, "a text") })

const BuildingEntry = Schema.Struct({
  id: required(BuildingId, "a positive whole number"),
  name: required(Text, "a text"),
  time_zone: Schema.String.check(
    Schema.makeFilter((name) => isTimeZone(name) || "must be the IANA name of a time zone, like Europe/Berlin")
  ).pipe(Schema.withDecodingDefaultKey(Effect.succeed("UTC"))),
  access_points: listOf(AccessPointEntry)
})

const UnitEntry = Schema.Struct({ id: required(Schema.Int, "a whole number"), label: required(Text, "a text") })

const TenantEntry = Schema.Struct({
  id: required(TenantId, "a positive whole number"),
  building_id: required(BuildingId, "the id of one of the buildings"),
  unit: Schema.NullOr(UnitEntry).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null)))
})

export const DirectoryDocument = Schema.Struct({
  clients: required(Schema.Array(ClientEntry), "a list of OAuth clients"),
  users: required(Schema.Array(UserEntry), "a list of users"),
  buildings: listOf(BuildingEntry),
  tenants: listOf(TenantEntry)
})
export type DirectoryDocument = typeof DirectoryDocument.Type

/** Known members by the name of the enclosing list or object. The empty name stands for the file itself. */
export const memberNames: ReadonlyMap<string, ReadonlyArray<string>> = new Map(
  Object.entries({
    "": DirectoryDocument,
    clients: ClientEntry,
    users: UserEntry,
    buildings: BuildingEntry,
    access_points: AccessPointEntry,
    tenants: TenantEntry,
    unit: UnitEntry
  }).map(([name, { fields }]) => [name, Object.keys(fields)])
)

type ListName = keyof DirectoryDocument

/** Returns problems for entries with the same key as an earlier entry. */
const duplicates = <A>(
  list: ReadonlyArray<A>,
  name: ListName,
  key: string,
  keyOf: (entry: A) => string | number
): ReadonlyArray<Problem> => {
  const first = new Map<string | number, number>()
  return list.flatMap((entry, index) => {
    const earlier = first.get(keyOf(entry))
    if (earlier === undefined) {
      first.set(keyOf(entry), index)
      return []
    }
    return [{ pointer: `/${name}/${index}/${key}`, detail: `is the same as /${name}/${earlier}/${key}` }]
  })
}

/** Returns problems for references to missing entries. */
const dangling = (document: DirectoryDocument): ReadonlyArray<Problem> => {
  const buildings = new Set(document.buildings.map(({ id }) => id))
  const tenants = new Set(document.tenants.map(({ id }) => id))
  const missing = <A>(known: ReadonlySet<A>, id: A, pointer: string, list: ListName): ReadonlyArray<Problem> =>
    known.has(id) ? [] : [{ pointer, detail: `must be the id of one of the ${list}` }]
  const logins = new Set(document.users.map(({ login }) => login))
  return [
    ...document.clients.flatMap((client, at) =>
      client.service_user === undefined
        ? []
        : [
            ...(logins.has(client.service_user)
              ? []
              : [{ pointer: `/clients/${at}/service_user`, detail: "must be the login of one of the users" }]),
            ...(isConfidential(client)
              ? []
              : [{ pointer: `/clients/${at}/service_user`, detail: "is only for a client with `secret` or `jwks`" }])
          ]
    ),
    ...document.users.flatMap((user, at) => [
      ...user.buildings.flatMap((id, n) => missing(buildings, id, `/users/${at}/buildings/${n}`, "buildings")),
      ...user.tenants.flatMap((id, n) => missing(tenants, id, `/users/${at}/tenants/${n}`, "tenants"))
    ]),
    ...document.tenants.flatMap(({ building_id }, at) =>
      missing(buildings, building_id, `/tenants/${at}/building_id`, "buildings")
    )
  ]
}

const problemsOf = (document: DirectoryDocument): ReadonlyArray<Problem> => [
  ...duplicates(document.clients, "clients", "id", ({ id }) => id),
  ...duplicates(document.users, "users", "login", ({ login }) => login),
  ...duplicates(document.buildings, "buildings", "id", ({ id }) => id),
  ...duplicates(document.tenants, "tenants", "id", ({ id }) => id),
  ...dangling(document)
]

const title = "Invalid directory"

/** Adds "the directory" to the text of a problem with the file as a whole. */
const named = ({ detail, pointer }: Problem): Problem => ({
  pointer,
  detail: pointer === "" ? `the directory ${detail}` : detail
})

const invalid = (problems: Problems): Result.Result<never, InvalidInput> =>
  Result.fail(new InvalidInput({ title, problems: Array.map(problems, named) }))

const decode = Schema.decodeUnknownResult(DirectoryDocument, { errors: "all" })

/** Reads a directory from a value. Unknown members are ignored; `UnknownMembers` reports them. */
export const fromValue = (value: unknown): Result.Result<DirectoryDocument, InvalidInput> => {
  const decoded = decode(value)
  if (Result.isFailure(decoded)) {
    return invalid(schemaProblems(decoded.failure))
  }
  const wrong = InvalidInput.of(title, problemsOf(decoded.success))
  return wrong === null ? Result.succeed(decoded.success) : Result.fail(wrong)
}

/**
 * Returns the place of a JSON syntax error, if the engine reports it. The engine's message is not used, because it may
 * quote a password.
 */
const placeOf = (cause: unknown): string => {
  const match = /\(line (\d+) column (\d+)\)/.exec(String(cause))
  return match === null ? "" : `: look at line ${match[1]}, column ${match[2]}`
}

/** Reads a directory file. */
export const fromText = (text: string): Result.Result<DirectoryDocument, InvalidInput> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    return invalid([{ pointer: "", detail: `is not JSON${placeOf(cause)}` }])
  }
  return fromValue(value)
}
