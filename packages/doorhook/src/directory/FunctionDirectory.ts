/**
 * The directory of an embedding backend: an object of functions that look up its users and buildings.
 */
import type { DirectoryBuilding, DirectoryTenant, ServiceClient, SessionRequest } from "@doorhook/core"
import {
  Client,
  didYouMean,
  Directory,
  HostBuildingId,
  HostTenantId,
  nameOf,
  readHostId,
  rootMessage,
  UserId
} from "@doorhook/core"
import { Effect, Layer, Predicate, Redacted, Schema, SchemaGetter } from "effect"
import type { Answer } from "./HostAnswers.ts"
import { askWhether, found, foundId, foundList, foundUser, questionFor } from "./HostAnswers.ts"

/** A client as the host stores it. Without `secret` and `jwks`, the client is public and must use PKCE. */
export interface HostClient {
  /** The `client_id`, exactly as requested. */
  readonly id: string
  /** The name that users see when they log in. */
  readonly name: string
  /** The `client_secret`, in clear. */
  readonly secret?: string | null | undefined
  /** The public keys of a client that authenticates with `private_key_jwt` (RFC 7523): RSA, P-256 or Ed25519. */
  readonly jwks?: HostKeySet | null | undefined
  /** Allowed redirect URIs: https, http on this machine, a scheme with a dot, or `urn:ietf:wg:oauth:2.0:oob`. */
  readonly redirect_uris: ReadonlyArray<string>
}

/** Public keys as JSON Web Keys (RFC 7517 section 5). */
export interface HostKeySet {
  /** The keys: the public members only. */
  readonly keys: ReadonlyArray<object>
}

/**
 * The id of a building or tenant: a positive whole number up to 2^53 - 1. A BigInt or decimal text is accepted, because
 * database clients return a `bigint` in these forms. UUIDs and other texts are refused.
 */
export type HostId = number | bigint | string

/** A building as the host describes it. */
export interface HostBuilding {
  /** A positive whole number. */
  readonly id: HostId
  /** The name that users and third parties see. */
  readonly name: string
  /** IANA name, like `Europe/Berlin`. */
  readonly time_zone: string
  /** The doors of the building. Default none. */
  readonly access_points?: ReadonlyArray<HostAccessPoint> | undefined
}

/** A door of a building. */
export interface HostAccessPoint {
  /** A whole number. */
  readonly id: HostId
  /** The name that third parties see. */
  readonly name: string
}

/** A tenant as the host describes it. */
export interface HostTenant {
  /** A positive whole number. */
  readonly id: HostId
  /** The building that the tenant is in. */
  readonly building_id: HostId
  /** The flat or office. Null or left out if there is none. */
  readonly unit?: HostUnit | null | undefined
}

/** A flat or an office. */
export interface HostUnit {
  /** A whole number. */
  readonly id: HostId
  /** The label on its door, like `4B`. */
  readonly label: string
}

/** A browser's request for the authorization page. */
export interface HostSessionRequest {
  /** The page's full URL as the browser sees it. Opening this URL shows the page again. */
  readonly url: string
  /** The headers of the browser's request, including the host's cookies. Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** A user's id. A whole number is converted to text, and later calls about the user get this text. */
export type HostUserId = string | number | bigint

/** The user who opened the page, or the host's login page. For null or undefined, doorhook shows its own login form. */
export type HostSession = HostVisitor | HostLogin | null | undefined

/** A user who is logged in at the host. The page asks only for consent. */
export interface HostVisitor {
  /** The user's id. */
  readonly id: HostUserId
  /** How the page addresses the user. Default: the id. */
  readonly name?: string | undefined
}

/** The host's login page, to which the user is sent first. */
export interface HostLogin {
  /** An http or https URL, or a path. doorhook adds the page's own URL as the parameter `return_to`. */
  readonly login_url: string
}

/** A client that asks for a token without a user. */
export interface HostServiceClient {
  /** The `client_id`. */
  readonly id: string
  /** The name that users see when they log in. */
  readonly name: string
}

/** A user of the host. */
export interface HostUser {
  /** The user's id. */
  readonly id: HostUserId
}

/**
 * Functions that doorhook calls to look up the host's users, clients and buildings. Rights are checked at each request
 * and before each attempt. Each function may return a promise.
 */
export interface HostDirectory {
  /** Returns the client with this id, or null or undefined. Tokens of a client that no longer exists stop working. */
  readonly client: (id: string) => Answer<HostClient | null | undefined>
  /**
   * Returns the user with this login and password, or null or undefined. Not called for an empty login or password,
   * which doorhook refuses.
   */
  readonly authenticate: (login: string, password: string) => Answer<HostUser | null | undefined>
  /**
   * Returns the user who is logged in at the host. With this function, the host's login replaces doorhook's form.
   * Default: doorhook asks for login and password.
   */
  readonly session?: (request: HostSessionRequest) => Answer<HostSession>
  /**
   * Returns the id of the user as whom a client with a secret or a key may act without a login (RFC 6749 section 4.4), or
   * null or undefined. The client has the rights of that user. Default: no client may.
   */
  readonly serviceUser?: (client: HostServiceClient) => Answer<HostUserId | null | undefined>
  /**
   * Whether the user administers the building. Must return `true` or `false`. If it returns undefined, deliveries wait,
   * because a delivery cancelled by mistake is not sent again automatically.
   */
  readonly administers: (userId: string, buildingId: number) => Answer<boolean>
  /** Whether the user is the tenant. Must return `true` or `false`, like `administers`. */
  readonly isTenant: (userId: string, tenantId: number) => Answer<boolean>
  /** Whether the user still exists. Must return `true` or `false`, like `administers`. Default: always true. */
  readonly isActive?: (userId: string) => Answer<boolean>
  /** Returns the buildings that the user administers. Default: none are listed. */
  readonly buildings?: (userId: string) => Answer<ReadonlyArray<HostBuilding> | null | undefined>
  /** Returns the tenants for which `isTenant` is true for the user. Default: none are listed. */
  readonly tenants?: (userId: string) => Answer<ReadonlyArray<HostTenant> | null | undefined>
  /**
   * Checks whether the other functions can work, for example whether a database responds. Called once when doorhook
   * starts; the start does not wait for the result. `warn` logs a line, even after the check. A rejection is logged.
   */
  readonly check?: (warn: (line: string) => void) => Answer<unknown>
}

const required = ["client", "authenticate", "administers", "isTenant"] as const
const optional = ["session", "serviceUser", "isActive", "buildings", "tenants", "check"] as const

const known: ReadonlyArray<string> = [...required, ...optional]

/** Finds problems of a host's directory object, because a host in plain JavaScript has no type checks. */
export const problemsOf = (host: unknown): ReadonlyArray<string> => {
  if (!Predicate.isObject(host)) {
    return [`directory: must be an object of functions (${required.join(", ")}), not ${nameOf(host)}`]
  }
  const isWrong = (value: unknown): boolean => value !== undefined && !Predicate.isFunction(value)
  return [
    ...required.flatMap((name) =>
      Predicate.isFunction(host[name]) ? [] : [`directory.${name}: must be a function, not ${nameOf(host[name])}`]
    ),
    ...optional.flatMap((name) =>
      isWrong(host[name]) ? [`directory.${name}: must be a function or left out, not ${nameOf(host[name])}`] : []
    ),
    ...mistyped(host)
  ]
}

/** Finds members whose name is close to the name of a missing function. Ignores other unknown members. */
const mistyped = (host: object): ReadonlyArray<string> => {
  const unanswered = known.filter((name) => !Predicate.hasProperty(host, name))
  return Object.keys(host).flatMap((name) => {
    const meant = known.includes(name) ? "" : didYouMean(name, unanswered)
    return meant === "" ? [] : [`directory.${name}: no such function${meant}`]
  })
}

/**
 * Reads the id of an access point or a unit from a number, decimal text or BigInt. The id may be 0. Returns null for
 * anything else.
 */
const readNumber = (given: unknown): number | null => {
  if (given === "0" || given === 0n) return 0
  return Predicate.isNumber(given) && Number.isSafeInteger(given) ? given : readHostId(given)
}

const HostNumber = Schema.Unknown.check(
  Schema.makeFilter((given) => readNumber(given) !== null || `must be a whole number, not ${nameOf(given)}`)
).pipe(
  Schema.decodeTo(Schema.Int, {
    decode: SchemaGetter.transform((given) => readNumber(given) ?? 0),
    encode: SchemaGetter.transform((known) => known)
  })
)

const Building = Schema.Struct({
  id: HostBuildingId,
  name: Schema.String,
  time_zone: Schema.String,
  access_points: Schema.optional(Schema.Array(Schema.Struct({ id: HostNumber, name: Schema.String })))
})

const Tenant = Schema.Struct({
  id: HostTenantId,
  building_id: HostBuildingId,
  unit: Schema.optional(Schema.NullOr(Schema.Struct({ id: HostNumber, label: Schema.String })))
})

const User = Schema.NullOr(Schema.Struct({ id: UserId }))

const Session = Schema.NullOr(
  Schema.Union([
    Schema.Struct({ id: UserId, name: Schema.optional(Schema.NonEmptyString) }),
    Schema.Struct({ login_url: Schema.NonEmptyString })
  ])
)

const askClient = questionFor("client", Schema.NullOr(Client))
const askLogin = questionFor("authenticate", User)
const askServiceUser = questionFor("serviceUser", Schema.NullOr(UserId))
const askSession = questionFor("session", Session)
const askBuildings = questionFor("buildings", Schema.Array(Building))
const askTenants = questionFor("tenants", Schema.Array(Tenant))

/**
 * Makes a directory from a host's functions. The directory calls a function when it makes the effect, not when the
 * effect runs, so a repeated effect returns the same answer.
 */
export const layer = (host: HostDirectory): Layer.Layer<Directory> =>
  Layer.merge(questionsOf(host), Layer.effectDiscard(checked(host)))

const logCheck = (line: string) => Effect.logWarning(`directory: ${line}`)

/** Runs the host's check in the background, so that doorhook can start while the host's database is down. */
const checked = Effect.fnUntraced(function* (host: HostDirectory) {
  if (host.check === undefined) return
  const run = Effect.runForkWith(yield* Effect.context())
  const warn = (line: string) => void run(logCheck(line))
  yield* Effect.tryPromise(async () => host.check?.(warn)).pipe(
    Effect.catch(({ cause }) => logCheck(`check failed: ${rootMessage(cause)}`)),
    Effect.forkScoped({ startImmediately: true })
  )
})

const questionsOf = (host: HostDirectory): Layer.Layer<Directory> =>
  Layer.succeed(Directory, {
    client: (id) => askClient(found(() => host.client(id))),
    authenticate: (login, password) => askLogin(foundUser(() => host.authenticate(login, Redacted.value(password)))),
    ...(host.session !== undefined && {
      session: (request: SessionRequest) => askSession(foundUser(() => host.session?.(request)))
    }),
    ...(host.serviceUser !== undefined && {
      serviceUser: (client: ServiceClient) => askServiceUser(foundId(() => host.serviceUser?.(client)))
    }),
    isActive: (user) => askWhether("isActive", () => (host.isActive === undefined ? true : host.isActive(user))),
    administers: (user, building) => askWhether("administers", () => host.administers(user, building)),
    isTenant: (user, tenant) => askWhether("isTenant", () => host.isTenant(user, tenant)),
    buildings: (user) =>
      Effect.mapEager(askBuildings(foundList(() => host.buildings?.(user))), (found) =>
        found.map((building): DirectoryBuilding => ({ ...building, access_points: building.access_points ?? [] }))
      ),
    tenants: (user) =>
      Effect.mapEager(askTenants(foundList(() => host.tenants?.(user))), (found) =>
        found.map((tenant): DirectoryTenant => ({ ...tenant, unit: tenant.unit ?? null }))
      )
  })
