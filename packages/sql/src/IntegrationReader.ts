/**
 * Decodes integrations from their rows. Returns the same object as long as the row is unchanged.
 */
import type { DeliveryOverrides, PreviousSecret, SigningSecret } from "@doorhook/core"
import { Integration, RecentMap, rootMessage } from "@doorhook/core"
import { Effect, Predicate, Redacted, Schema, Struct } from "effect"
import type { IntegrationRow } from "./IntegrationRows.ts"
import {
  bindings,
  bindingsOf,
  decodePrevious,
  integrationColumns,
  isClientId,
  isDetail,
  isDisabledReason,
  isId,
  isStatus,
  isUserId,
  overrides,
  overridesOf,
  scopeOf,
  subscription,
  subscriptionOf
} from "./IntegrationRows.ts"
import type { SecretBox, SecretUnreadable } from "./SecretBox.ts"

/** Maximum number of cached integrations. */
const maxRemembered = 10_000

/** Error for an integration whose row is damaged or was changed by another program. */
export class IntegrationUnreadable extends Schema.TaggedError<IntegrationUnreadable>()("IntegrationUnreadable", {
  id: Schema.Int,
  /** The scope in the row, like `building 1`. Not validated. */
  scope: Schema.String,
  why: Schema.String
}) {
  override get message(): string {
    return `integration ${this.id} of ${this.scope} can't be read: ${this.why}`
  }
}

const whyUnreadable = (cause: Schema.SchemaError | SecretUnreadable): string => {
  if (cause._tag === "SchemaError") return rootMessage(cause)
  return cause.why === "no_key"
    ? "its signing secret is encrypted, and this service has no encryption key"
    : "its signing secret can't be decrypted with this service's encryption key"
}

export interface IntegrationReader {
  readonly read: (row: IntegrationRow) => Effect.Effect<Integration, IntegrationUnreadable>
  readonly readAll: (
    rows: ReadonlyArray<IntegrationRow>
  ) => Effect.Effect<ReadonlyArray<Integration>, IntegrationUnreadable>
}

interface Secrets {
  readonly signing_secret: SigningSecret
  readonly previous_secrets: ReadonlyArray<PreviousSecret>
  /** Undefined if the integration overrides no headers or the overrides can't be read. */
  readonly headers: DeliveryOverrides["headers"]
}

type Read<A> = Effect.Effect<A, Schema.SchemaError | SecretUnreadable>

const openPrevious = (sealed: string, secrets: SecretBox): Read<ReadonlyArray<PreviousSecret>> =>
  sealed === "[]"
    ? Effect.succeed([])
    : Effect.flatMap(decodePrevious(sealed), (previous) =>
        Effect.forEach(previous, ({ secret, until }) =>
          Effect.map(secrets.open(secret), (opened) => ({ secret: opened, until }))
        )
      )

const openHeaders = (row: IntegrationRow, secrets: SecretBox): Read<DeliveryOverrides["headers"]> => {
  const headers = overridesOf(row)?.headers
  return headers === undefined
    ? Effect.succeed(headers)
    : Effect.map(
        Effect.forEach(Object.entries(headers), ([name, value]) =>
          Effect.map(secrets.open(Redacted.value(value)), (opened) => [name, opened] as const)
        ),
        Object.fromEntries<Redacted.Redacted>
      )
}

const secret = Schema.Redacted(Schema.String)

/** Decodes an unreadable row with a schema, to get an error message. */
const explain = Schema.decodeUnknownEffect(
  Schema.Struct({
    ...Integration.fields,
    bindings,
    overrides,
    subscription: Schema.optionalKey(subscription),
    signing_secret: secret,
    previous_secrets: Schema.Array(Schema.Struct({ secret, until: Schema.Int }))
  })
)

/** Checks the columns by hand, which is several times faster than the schema. */
const readColumns = (row: IntegrationRow, { headers, ...secrets }: Secrets): Read<Integration> => {
  const { created_at, created_by_client, created_by_user, description, detail, disabled_reason, id } = row
  const { integrator, method, name, status, updated_at, url, version } = row
  const scope = scopeOf(row)
  const bound = bindingsOf(row)
  const overridden = overridesOf(row)
  const subscribed = subscriptionOf(row)
  return scope !== null &&
    bound !== null &&
    overridden !== null &&
    subscribed !== null &&
    isId(id) &&
    integrator === "webhook" &&
    Predicate.isString(url) &&
    method === "post" &&
    isDetail(detail) &&
    isStatus(status) &&
    isDisabledReason(disabled_reason) &&
    isUserId(created_by_user) &&
    isClientId(created_by_client) &&
    Number.isSafeInteger(version) &&
    Number.isSafeInteger(created_at) &&
    Number.isSafeInteger(updated_at)
    ? Effect.succeed({
        id,
        scope,
        integrator,
        configuration: { url, method },
        bindings: bound,
        name,
        description,
        detail,
        status,
        disabled_reason,
        created_by: { user_id: created_by_user, client_id: created_by_client },
        ...secrets,
        overrides: headers === undefined ? overridden : { ...overridden, headers },
        ...(subscribed !== undefined && { subscription: subscribed }),
        version,
        created_at,
        updated_at
      })
    : explain({
        ...Struct.omit(row, ["subscription"]),
        ...(row.subscription !== null && { subscription: row.subscription }),
        scope: { type: row.scope_type, id: row.scope_id },
        configuration: { url, method },
        created_by: { user_id: created_by_user, client_id: created_by_client },
        ...secrets
      })
}

const fromRow = (row: IntegrationRow, secrets: SecretBox): Read<Integration> =>
  Effect.flatMapEager(secrets.open(row.signing_secret), (signing_secret) =>
    Effect.flatMapEager(openPrevious(row.previous_secrets, secrets), (previous_secrets) =>
      Effect.flatMapEager(openHeaders(row, secrets), (headers) =>
        readColumns(row, { signing_secret, previous_secrets, headers })
      )
    )
  )

/** Excludes the failure state, which changes with every failed attempt and is not part of `Integration`. */
const ownColumns = integrationColumns.filter((column) => !column.startsWith("failing_"))

const isSame = (one: IntegrationRow, other: IntegrationRow): boolean =>
  ownColumns.every((column) => one[column] === other[column])

/** Makes a reader that decrypts secrets with `secrets`. */
export const make = (secrets: SecretBox): IntegrationReader => {
  const remembered = new RecentMap<number, { readonly row: IntegrationRow; readonly integration: Integration }>(
    maxRemembered
  )

  const recall = (row: IntegrationRow): Integration | undefined => {
    const known = remembered.get(row.id)
    return known !== undefined && isSame(known.row, row) ? known.integration : undefined
  }

  const readNew = (row: IntegrationRow): Effect.Effect<Integration, IntegrationUnreadable> => {
    const { id, scope_id, scope_type } = row
    const read = Effect.mapErrorEager(
      fromRow(row, secrets),
      (cause) => new IntegrationUnreadable({ id, scope: `${scope_type} ${scope_id}`, why: whyUnreadable(cause) })
    )
    return Effect.mapEager(read, (integration) => {
      remembered.set(id, { row, integration })
      return integration
    })
  }

  const read: IntegrationReader["read"] = (row) => {
    const known = recall(row)
    return known === undefined ? readNew(row) : Effect.succeed(known)
  }

  return {
    read,
    readAll: (rows) => {
      const known = rows.flatMap((row) => recall(row) ?? [])
      return known.length === rows.length ? Effect.succeed(known) : Effect.forEach(rows, read)
    }
  }
}
