/**
 * The host's own users, clients and buildings. doorhook keeps none of them: it asks, at each request and before each
 * attempt, so that a right that ends takes effect at once.
 */
import { Context, Effect, Exit, Layer, Schema } from "effect"
import type { Redacted } from "effect"
import type { Client } from "../model/Client.ts"
import * as DurationText from "../model/DurationText.ts"
import type { BuildingId, TenantId, UserId } from "../model/Ids.ts"
import type { OwnedScope } from "../model/Integration.ts"

/** The host could not answer. Requests are answered with 503; deliveries wait and are not counted as attempts. */
export class DirectoryError extends Schema.TaggedError<DirectoryError>()("DirectoryError", {
  /** The question that failed, like `administers`. */
  operation: Schema.String,
  /** What is wrong with the answer, like `must return true or false, not a list`, where there was one. */
  flaw: Schema.optionalKey(Schema.String),
  /** How long the answer was waited for, in milliseconds, where none came. */
  waited: Schema.optionalKey(Schema.Int),
  cause: Schema.Defect()
}) {
  override get message(): string {
    if (this.waited !== undefined) {
      return `The directory did not answer \`${this.operation}\` within ${DurationText.format(this.waited)}. It must answer: see what the host's own code waits for.`
    }
    if (this.flaw !== undefined) return `The directory's \`${this.operation}\` ${this.flaw}.`
    return `The directory did not answer \`${this.operation}\`. Check the host's own user database.`
  }
}

/** A building, as far as a user may see it. */
export interface DirectoryBuilding {
  readonly id: BuildingId
  readonly name: string
  /** IANA name, like `Europe/Berlin`. */
  readonly time_zone: string
  readonly access_points: ReadonlyArray<{ readonly id: number; readonly name: string }>
}

/** A tenant, as far as a user may see it. */
export interface DirectoryTenant {
  readonly id: TenantId
  readonly building_id: BuildingId
  readonly unit: { readonly id: number; readonly label: string } | null
}

/** The page of the authorize step that somebody has opened. */
export interface SessionRequest {
  /** Where the page is, seen from outside, with what it needs to be opened again; never with a secret. */
  readonly url: string
  /** The headers of the browser's request, names in lower case: the host's own cookies are among them. */
  readonly headers: Readonly<Record<string, string>>
}

/** What the host knows of whoever opened the page. */
export type SessionAnswer =
  /** Is logged in as a user: is asked for consent only. `name` is how the page calls them. */
  | { readonly id: UserId; readonly name?: string | undefined }
  /** Logs in there first; an http or https URL. The page's own URL is added as `return_to`. */
  | { readonly login_url: string }
  /** doorhook is to ask for login and password. */
  | null

export class Directory extends Context.Service<
  Directory,
  {
    /** The client of that id, or null: tokens of a client that is not there any more do not work. */
    readonly client: (id: string) => Effect.Effect<Client | null, DirectoryError>
    /** The user of that login and password, or null. Takes as long for an unknown login as for a wrong password. */
    readonly authenticate: (
      login: string,
      password: Redacted.Redacted<string>
    ) => Effect.Effect<{ readonly id: UserId } | null, DirectoryError>
    /**
     * Who is logged in at the host, whose login then takes the place of doorhook's. Without this question doorhook asks
     * for login and password.
     */
    readonly session?: (request: SessionRequest) => Effect.Effect<SessionAnswer, DirectoryError>
    /** Whether the user exists still and may use what was granted. */
    readonly isActive: (user: UserId) => Effect.Effect<boolean, DirectoryError>
    /** Whether the user administers the building. */
    readonly administers: (user: UserId, building: BuildingId) => Effect.Effect<boolean, DirectoryError>
    /** Whether the user is the tenant. */
    readonly isTenant: (user: UserId, tenant: TenantId) => Effect.Effect<boolean, DirectoryError>
    /** The buildings the user administers. */
    readonly buildings: (user: UserId) => Effect.Effect<ReadonlyArray<DirectoryBuilding>, DirectoryError>
    /** The tenants the user is. */
    readonly tenants: (user: UserId) => Effect.Effect<ReadonlyArray<DirectoryTenant>, DirectoryError>
    /**
     * Whether there is such a building at all: whoever publishes for one that there is not gets a hint. A directory that
     * can't say so at once, from memory, leaves this question out.
     */
    readonly hasBuilding?: (building: BuildingId) => Effect.Effect<boolean, DirectoryError>
  }
>()("@doorhook/core/ports/Directory") {}

/**
 * How long an answer is waited for, in milliseconds: a password check on a busy machine takes seconds. Before an attempt
 * there is less time, which the lease of the delivery leaves (`directoryPatience`).
 */
const deadline = 10_000

/** Fails with a `DirectoryError` after the deadline. An answer that is there already needs no timer. */
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
  const { hasBuilding, session } = directory
  return {
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
    ...(hasBuilding !== undefined && {
      hasBuilding: (building: BuildingId) => withinDeadline("hasBuilding", hasBuilding.call(directory, building))
    })
  }
}

/** The same directory, with a deadline for each answer. */
export const withDeadlines = <E, R>(directory: Layer.Layer<Directory, E, R>): Layer.Layer<Directory, E, R> =>
  Layer.effect(Directory, Effect.map(Directory, bounded)).pipe(Layer.provide(directory))

/** Whether a user who is known to exist may manage the integrations of a scope. */
export const hasRight = (
  directory: Directory["Service"],
  user: UserId,
  scope: OwnedScope
): Effect.Effect<boolean, DirectoryError> =>
  scope.type === "building" ? directory.administers(user, scope.id) : directory.isTenant(user, scope.id)

/** Whether a user still exists and may receive the events of a scope. Asks at once where the directory does. */
export const mayAccess = (
  directory: Directory["Service"],
  user: UserId,
  scope: OwnedScope
): Effect.Effect<boolean, DirectoryError> =>
  Effect.flatMapEager(directory.isActive(user), (isActive) =>
    isActive ? hasRight(directory, user, scope) : Effect.succeed(false)
  )
