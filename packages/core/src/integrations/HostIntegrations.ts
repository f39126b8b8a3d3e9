/**
 * Creates integrations for users from the host's side, without a login or a token: existing partners that move to
 * doorhook, and integrations for tests. The user's rights and the rules for URLs apply as in `/v4`.
 */
import { Array, Context, Effect, Layer, Predicate, Redacted, Result, Schema } from "effect"
import * as Signature from "../delivery/Signature.ts"
import type { DeliverySettings } from "../delivery/DeliverySettings.ts"
import type { Detail } from "../model/Detail.ts"
import { ClientId, HostBuildingId, HostTenantId, UserId } from "../model/Ids.ts"
import type { Integration, Scope } from "../model/Integration.ts"
import { ownPages, scopeText } from "../model/Integration.ts"
import type { Problem, Problems } from "../model/InvalidInput.ts"
import { InvalidInput, missingMember, schemaProblems } from "../model/InvalidInput.ts"
import { ClientStore } from "../ports/ClientStore.ts"
import type { DirectoryError } from "../ports/Directory.ts"
import { Directory, mayAccess } from "../ports/Directory.ts"
import { IntegrationStore } from "../ports/IntegrationStore.ts"
import { makeFindClient } from "../ports/KnownClients.ts"
import type { NameResolver } from "../ports/NameResolver.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { integrationType, readAttributes } from "./IntegrationDocument.ts"
import type { Actor } from "./Integrations.ts"
import { Integrations, makeInputReader } from "./Integrations.ts"

const Secret = Schema.String.check(
  Schema.makeFilter(
    (text) =>
      Signature.isSecret(text) || `must be whsec_ and base64 of ${Signature.minSecretBytes} bytes or more, or left out`
  )
)

/** Whose integration it is. The other members are read like the attributes of a document in `/v4`. */
const Wanted = Schema.Struct({
  user: UserId,
  /** Default: no client. */
  client: Schema.optional(Schema.NullOr(ClientId)),
  building: Schema.optional(HostBuildingId),
  tenant: Schema.optional(HostTenantId),
  url: Schema.optional(Schema.Unknown),
  bindings: Schema.optional(Schema.Unknown),
  name: Schema.optional(Schema.Unknown),
  description: Schema.optional(Schema.Unknown),
  detail: Schema.optional(Schema.Unknown),
  status: Schema.optional(Schema.Unknown),
  /** Default: generated. */
  secret: Schema.optional(Secret)
})

/** An integration to create. Either `building` or `tenant` is given. */
export interface WantedIntegration {
  /** The user whose right is checked now and before each delivery. */
  readonly user: string
  readonly client?: string | null | undefined
  readonly building?: number | string | undefined
  readonly tenant?: number | string | undefined
  readonly url: string
  readonly bindings: Integration["bindings"]
  readonly name?: string | null | undefined
  readonly description?: string | null | undefined
  /** Default: the most that the client may get. */
  readonly detail?: Detail | undefined
  readonly status?: Integration["status"] | undefined
  readonly secret?: string | undefined
}

/** An integration that an import created or found. */
export interface Imported {
  /** Its place in the list, counted from 0. */
  readonly at: number
  readonly integration: Integration
  readonly created: boolean
}

/** A problem with one element of an imported list. */
export interface ImportProblem extends Problem {
  readonly at: number
}

/** The result of an import. If an element is invalid, nothing is created. */
export interface ImportResult {
  readonly problems: ReadonlyArray<ImportProblem>
  readonly integrations: ReadonlyArray<Imported>
}

/** What to create, after all checks. */
interface Checked {
  readonly actor: Actor
  readonly scope: Scope
  readonly document: unknown
  readonly url: string
  readonly secret: Redacted.Redacted | undefined
}

type CreateError = Effect.Error<ReturnType<Integrations["Service"]["create"]>>
type PortError = StoreError | DirectoryError

const title = "Invalid integration"
const invalid = (problems: Problems): InvalidInput => new InvalidInput({ title, problems })

const decode = Schema.decodeUnknownResult(Wanted, { errors: "all", onExcessProperty: "error" })

/** Returns the building or tenant, or the problem if not exactly one is given. */
const scopeOf = ({ building, tenant }: typeof Wanted.Type): Result.Result<Scope, Problems> => {
  if (building !== undefined && tenant === undefined) return Result.succeed({ type: "building", id: building })
  if (tenant !== undefined && building === undefined) return Result.succeed({ type: "tenant", id: tenant })
  return Result.fail([{ pointer: "", detail: "must have either `building` or `tenant`" }])
}

/** Returns the members of a wanted integration as a document of `/v4`. */
const documentOf = (wanted: Readonly<Record<PropertyKey, unknown>>) => {
  const { bindings, description, detail, name, status, url } = wanted
  const configuration = { url, method: "post" }
  const attributes = { integrator: "webhook", configuration, bindings, name, description, detail, status }
  return { data: { type: integrationType, attributes } }
}

/** Lets the problem of a missing member point to its parent, because a pointer leads to a value that was given. */
const ofMissing = (problem: Problem): Problem =>
  problem.detail === missingMember ? { pointer: "", detail: `\`${problem.pointer.slice(1)}\` is missing` } : problem

/** Returns a problem of such a document in terms of the wanted integration. */
const ofWanted = ({ pointer, ...problem }: Problem): Problem => ({
  ...problem,
  pointer: pointer.replace(/^\/data\/attributes(?:\/configuration)?/, "")
})

/** Number of elements that are checked at once, because a check may look up a name. */
const checksAtOnce = 8

const pageSize = 100

export class HostIntegrations extends Context.Service<
  HostIntegrations,
  {
    /** Creates an integration. All problems are reported together. */
    readonly create: (wanted: WantedIntegration) => Effect.Effect<Integration, CreateError>
    /** Like `create`, for a value of unknown type. */
    readonly createValue: (wanted: unknown) => Effect.Effect<Integration, CreateError>
    /**
     * Creates the integrations of a list, or none if one of them is invalid. An integration of the same building or
     * tenant with the same client and URL counts as created earlier and stays as it is, so an import can be repeated.
     * With `checkOnly`, nothing is created. An integration that can't be stored is a problem too; the others are
     * created, unless the database or the directory fails.
     */
    readonly importAll: (
      wanted: ReadonlyArray<unknown>,
      options: { readonly checkOnly: boolean }
    ) => Effect.Effect<ImportResult, PortError>
  }
>()("@doorhook/core/integrations/HostIntegrations") {
  static readonly layer: Layer.Layer<
    HostIntegrations,
    never,
    Integrations | IntegrationStore | ClientStore | Directory | NameResolver | DeliverySettings
  > = Layer.effect(
    HostIntegrations,
    Effect.gen(function* () {
      const integrations = yield* Integrations
      const store = yield* IntegrationStore
      const directory = yield* Directory
      const findClient = makeFindClient(directory, yield* ClientStore)
      const readInput = yield* makeInputReader

      /** Returns the problems of the user, the client and the scope. */
      const ownerProblems = Effect.fnUntraced(function* (
        { client, user }: typeof Wanted.Type,
        scope: Scope
      ): Effect.fn.Return<ReadonlyArray<Problem>, PortError> {
        const known = client === undefined || client === null ? null : yield* findClient(client)
        const mayManage = yield* mayAccess(directory, user, scope)
        return [
          ...(known === null && client !== undefined && client !== null
            ? [{ pointer: "/client", detail: "must be a client that the directory or doorhook knows" }]
            : []),
          ...(mayManage
            ? []
            : [{ pointer: "/user", detail: `must have a right to ${scopeText(scope)}, and the directory denies it` }])
        ]
      })

      /** Checks one wanted integration. Fails with all its problems. */
      const check = Effect.fnUntraced(function* (value: unknown) {
        if (!Predicate.isReadonlyObject(value)) return yield* invalid([{ pointer: "", detail: "must be an object" }])
        const wanted = Result.mapError(decode(value), (error) => Array.map(schemaProblems(error), ofMissing))
        const owned = Result.all({ wanted, scope: Result.flatMap(wanted, scopeOf) })
        const document = documentOf(value)
        const client = Result.isSuccess(wanted) ? (wanted.success.client ?? null) : null
        const flaws = yield* readInput(importer, document, null, readAttributes, client).pipe(
          Effect.as([]),
          Effect.catchTag("InvalidInput", ({ problems }) => Effect.succeed(problems.map(ofWanted))),
          Effect.catchTag("DocumentMismatch", Effect.die)
        )
        if (Result.isFailure(owned)) return yield* invalid([...owned.failure, ...flaws])
        const { scope, wanted: given } = owned.success
        const refusal = InvalidInput.of(title, [...(yield* ownerProblems(given, scope)), ...flaws])
        if (refusal !== null) return yield* refusal
        const { secret, url, user } = given
        return {
          actor: { user_id: user, client_id: client },
          scope,
          document,
          url: String(url),
          secret: secret === undefined ? undefined : Redacted.make(secret)
        } satisfies Checked
      })

      const createChecked = ({ actor, document, scope, secret }: Checked) =>
        Effect.map(
          integrations.create(actor, scope, document, null, secret && { signing_secret: secret }),
          ({ integration }) => integration
        )

      /** Returns the integration that an earlier import of the same element created; null if there is none. */
      const findEarlier = Effect.fnUntraced(function* ({ actor, scope, url }: Checked) {
        for (let offset = 0; ; offset += pageSize) {
          const page = { offset, limit: pageSize, client_id: actor.client_id ?? ownPages }
          const { items, total } = yield* store.list(scope, page)
          const found = items.find(({ configuration }) => configuration.url === url)
          if (found !== undefined) return found
          if (offset + pageSize >= total) return null
        }
      })

      const importOne = Effect.fnUntraced(function* (checked: Checked, checkOnly: boolean) {
        const earlier = yield* findEarlier(checked)
        if (earlier !== null || checkOnly) return earlier === null ? null : { integration: earlier, created: false }
        return { integration: yield* createChecked(checked), created: true }
      })

      const importAll: HostIntegrations["Service"]["importAll"] = Effect.fnUntraced(function* (wanted, { checkOnly }) {
        const checks = yield* Effect.forEach(
          wanted,
          (value) =>
            Effect.map(check(value), (checked) => ({ checked, problems: [] })).pipe(
              Effect.catchTag("InvalidInput", ({ problems }) => Effect.succeed({ checked: null, problems }))
            ),
          { concurrency: checksAtOnce }
        )
        const problems: Array<ImportProblem> = checks.flatMap((each, at) =>
          each.problems.map((problem) => ({ at, ...problem }))
        )
        const imported: Array<Imported> = []
        if (problems.length > 0) return { problems, integrations: imported }
        for (const [at, { checked }] of checks.entries()) {
          if (checked === null) continue
          const result = yield* Effect.result(importOne(checked, checkOnly))
          if (Result.isSuccess(result)) {
            if (result.success !== null) imported.push({ at, ...result.success })
            continue
          }
          const { _tag, message } = result.failure
          problems.push({ at, pointer: "", code: "not_created", detail: message })
          // The secrets of the integrations that were created must reach the caller, so this is no failure.
          if (_tag === "StoreError" || _tag === "DirectoryError") break
        }
        return { problems, integrations: imported }
      })

      const createValue = (wanted: unknown) => Effect.flatMap(check(wanted), createChecked)
      return HostIntegrations.of({ create: createValue, createValue, importAll })
    })
  )
}

/** Name lookups of wanted integrations count as the host's. */
const importer: Actor = { user_id: UserId.make("host"), client_id: null }
