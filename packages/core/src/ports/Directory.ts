/**
 * The host's users, clients and buildings. doorhook does not store them. It queries the directory at each request and
 * before each delivery attempt, so that a revoked right takes effect immediately.
 */
import { Context, Effect, Exit, Layer, Schema } from "effect"
import type { Redacted } from "effect"
import type { Client } from "../model/Client.ts"
import * as DurationText from "../model/DurationText.ts"
import type { BuildingId, ClientId, TenantId, UserId } from "../model/Ids.ts"
import type { Scope } from "../model/Integration.ts"

/** The directory failed. Requests get status 503. Deliveries wait, and the failure does not count as an attempt. */
export class DirectoryError extends Schema.TaggedError<DirectoryError>()("DirectoryError", {
  /** The failed method, like `administers`. */
  operation: Schema.String,
  /** What is wrong with an invalid answer, like `must return true or false, not a list`. */
  flaw: Schema.optionalKey(Schema.String),
  /** The time limit that passed without an answer, in milliseconds. */
  waited: Schema.optionalKey(Schema.Int),
  cause: Schema.Defect()
}) {
  override get message(): string {
    if (this.waited !== undefined) {
      return `The directory did not answer \`${this.operation}\` within ${DurationText.format(this.waited)}. Check why the host's own code takes so long.`
    }
    if (this.flaw !== undefined) return `The directory's \`${this.operation}\` ${this.flaw}.`
    return `The directory did not answer \`${this.operation}\`. Check the host's own user database.`
  }
}

/** Building data that the building's administrators may see. */
export interface DirectoryBuilding {
  readonly id: BuildingId
  readonly name: string
  /** IANA name, like `Europe/Berlin`. */
  readonly time_zone: string
  readonly access_points: ReadonlyArray<{ readonly id: number; readonly name: string }>
}

/** Tenant data that the tenant's users may see. */
export interface DirectoryTenant {
  readonly id: TenantId
  readonly building_id: BuildingId
  readonly unit: { readonly id: number; readonly label: string } | null
}

/** A browser's request for the login page of the authorize step. */
export interface SessionRequest {
  /** The page's external URL, with the parameters needed to open it again and without secrets. */
  readonly url: string
  /** The headers of the browser's request, including the host's own cookies. Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

/** The client that asks for a token without a user. */
export interface ServiceClient {
  readonly id: ClientId
  readonly name: string
}

/** The host's answer about a visitor to the page. */
export type SessionAnswer =
  /** The visitor is logged in, so the page shows `name` and asks only for consent. */
  | { readonly id: UserId; readonly name?: string | undefined }
  /**
   * The visitor must first log in at this http or https URL. doorhook adds the page's own URL as the parameter
   * `return_to`.
   */
  | { readonly login_url: string }
  /** doorhook asks for login and password. */
  | null

export class Directory extends Context.Service<
  Directory,
  {
    /**
     * Where the answers come from: a directory file, nowhere because there is no directory (`none`), or nowhere because
     * every right is granted (`all`). Default: the functions of an application. Deliveries of one database are sent
     * only with one kind of directory.
     */
    readonly kind?: "file" | "none" | "all"
    /** Returns the client with this id, or null. Tokens of a removed client are no longer valid. */
    readonly client: (id: string) => Effect.Effect<Client | null, DirectoryError>
    /**
     * Returns the user with this login and password, or null. An unknown login must take as long as a wrong password.
     */
    readonly authenticate: (
      login: string,
      password: Redacted.Redacted<string>
    ) => Effect.Effect<{ readonly id: UserId } | null, DirectoryError>
    /**
     * Returns the user who is logged in at the host, so that doorhook skips its own login. Without this method,
     * doorhook asks for login and password.
     */
    readonly session?: (request: SessionRequest) => Effect.Effect<SessionAnswer, DirectoryError>
    /**
     * Returns the user as whom a confidential client may act without a login (RFC 6749 section 4.4), or null. Without
     * this method, no client may.
     */
    readonly serviceUser?: (client: ServiceClient) => Effect.Effect<UserId | null, DirectoryError>
    /** Whether the user still exists and may use the service. */
    readonly isActive: (user: UserId) => Effect.Effect<boolean, DirectoryError>
    /** Whether the user administers the building. */
    readonly administers: (user: UserId, building: BuildingId) => Effect.Effect<boolean, DirectoryError>
    /** Whether the user belongs to the tenant. */
    readonly isTenant: (user: UserId, tenant: TenantId) => Effect.Effect<boolean, DirectoryError>
    /** Returns the buildings that the user administers. */
    readonly buildings: (user: UserId) => Effect.Effect<ReadonlyArray<DirectoryBuilding>, DirectoryError>
    /** Returns the tenants that the user belongs to. */
    readonly tenants: (user: UserId) => Effect.Effect<ReadonlyArray<DirectoryTenant>, DirectoryError>
    /**
     * Whether the building exists. Publishing for a nonexistent building causes a warning. Implement this only if the
     * answer is available in memory.
     */
    readonly hasBuilding?: (building: BuildingId) => Effect.Effect<boolean, DirectoryError>
  }
>()("@doorhook/core/ports/Directory") {}

/**
 * Time limit for an answer, in milliseconds. A password check on a busy machine can take seconds. Before an attempt the
 * limit is shorter, because the delivery's lease is limited (`directoryPatience`).
 */
const deadline = 10_000

/** Fails with a `DirectoryError` after the deadline. A synchronous answer needs no timer. */
const withinDeadline = <A>(
  operation: string,
  answer: Effect.Effect<A, DirectoryError>
): Effect.Effect<A, DirectoryError> =>
  Exit.isExit(answer)
    ? answer
    : Effect.timeoutOrElse(answer, {
        duration: deadline,
        orElse: () => {
          const cause = new Error(`no answer within ${deadline} ms`)
          return Effect.fail(new DirectoryError({ operation, waited: deadline, cause }))
        }
      })

const bounded = (directory: Directory["Service"]): Directory["Service"] => {
  const { hasBuilding, kind, serviceUser, session } = directory
  return {
    ...(kind !== undefined && { kind }),
    client: (id) => withinDeadline("client", directory.client(id)),
    authenticate: (login, password) => withinDeadline("authenticate", directory.authenticate(login, password)),
    isActive: (user) => withinDeadline("isActive", directory.isActive(user)),
    administers: (user, building) => withinDeadline("administers", directory.administers(user, building)),
    isTenant: (user, tenant) => withinDeadline("isTenant", directory.isTenant(user, tenant)),
    buildings: (user) => withinDeadline("buildings", directory.buildings(user)),
    tenants: (user) => withinDeadline("tenants", directory.tenants(user)),
    ...(session !== undefined && {
      session: (request: SessionRequest) => withinDeadline("session", session.call(directory, request))
    }),
    ...(serviceUser !== undefined && {
      serviceUser: (client: ServiceClient) => withinDeadline("serviceUser", serviceUser.call(directory, client))
    }),
    ...(hasBuilding !== undefined && {
      hasBuilding: (building: BuildingId) => withinDeadline("hasBuilding", hasBuilding.call(directory, building))
    })
  }
}

/** Adds a time limit to each answer of a directory. */
export const withDeadlines = <E, R>(directory: Layer.Layer<Directory, E, R>): Layer.Layer<Directory, E, R> =>
  Layer.effect(Directory, Effect.map(Directory, bounded)).pipe(Layer.provide(directory))

/** Whether an existing user may manage the integrations of a scope. */
export const hasRight = (
  directory: Directory["Service"],
  user: UserId,
  scope: Scope
): Effect.Effect<boolean, DirectoryError> => {
  switch (scope.type) {
    case "building":
      return directory.administers(user, scope.id)
    case "tenant":
      return directory.isTenant(user, scope.id)
    case "service":
      return Effect.succeed(false)
  }
}

/**
 * Whether a user still exists and may receive the events of a scope. The result is synchronous if the directory answers
 * synchronously.
 */
export const mayAccess = (
  directory: Directory["Service"],
  user: UserId,
  scope: Scope
): Effect.Effect<boolean, DirectoryError> =>
  Effect.flatMapEager(directory.isActive(user), (isActive) =>
    isActive ? hasRight(directory, user, scope) : Effect.succeed(false)
  )
