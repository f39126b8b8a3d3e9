/**
 * How an integration stands in a row, in every dialect: columns for what is asked for by column, JSON text for the rest.
 */
import type { NewIntegration, Scope } from "@doorhook/core"
import { Binding, Integration } from "@doorhook/core"
import { Effect, Schema } from "effect"
import type { SecretBox, SecretUnreadable } from "./SecretBox.ts"

export interface IntegrationRow {
  readonly id: number
  readonly scope_type: Scope["type"]
  readonly scope_id: number
  readonly integrator: string
  readonly url: string
  readonly method: string
  readonly bindings: string
  readonly status: string
  readonly disabled_reason: string | null
  readonly created_by_user: string
  readonly created_by_client: string
  readonly signing_secret: string
  readonly version: number
  readonly created_at: number
  readonly updated_at: number
}

const bindings = Schema.fromJsonString(Schema.Array(Binding))
const encodeBindings = Schema.encodeSync(bindings)

/** All columns but the id. */
export const integrationColumns = [
  "scope_type",
  "scope_id",
  "integrator",
  "url",
  "method",
  "bindings",
  "status",
  "disabled_reason",
  "created_by_user",
  "created_by_client",
  "signing_secret",
  "version",
  "created_at",
  "updated_at"
] as const satisfies ReadonlyArray<keyof IntegrationRow>

/** The values of `integrationColumns`. */
export const toValues = (integration: NewIntegration, secrets: SecretBox): ReadonlyArray<string | number | null> => {
  const row: Omit<IntegrationRow, "id"> = {
    scope_type: integration.scope.type,
    scope_id: integration.scope.id,
    integrator: integration.integrator,
    url: integration.configuration.url,
    method: integration.configuration.method,
    bindings: encodeBindings(integration.bindings),
    status: integration.status,
    disabled_reason: integration.disabled_reason,
    created_by_user: integration.created_by.user_id,
    created_by_client: integration.created_by.client_id,
    signing_secret: secrets.seal(integration.signing_secret),
    version: integration.version,
    created_at: integration.created_at,
    updated_at: integration.updated_at
  }
  return integrationColumns.map((column) => row[column])
}

/** An integration but for its secret, which is opened separately. */
const decode = Schema.decodeUnknownEffect(
  Schema.Struct({ ...Integration.fields, bindings, signing_secret: Schema.Redacted(Schema.String) })
)

export const fromRow = (
  row: IntegrationRow,
  secrets: SecretBox
): Effect.Effect<Integration, Schema.SchemaError | SecretUnreadable> =>
  Effect.flatMap(secrets.open(row.signing_secret), (signing_secret) =>
    decode({
      ...row,
      scope: { type: row.scope_type, id: row.scope_id },
      configuration: { url: row.url, method: row.method },
      created_by: { user_id: row.created_by_user, client_id: row.created_by_client },
      signing_secret
    })
  )
