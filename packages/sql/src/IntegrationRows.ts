/**
 * How an integration stands in a row, in every dialect: columns for what is asked for by column, JSON text for the rest.
 */
import type { Consequences, Failing, IntegrationId, LocatedIntegration, NewIntegration } from "@doorhook/core"
import { Binding, DeliveryOverrides, Integration } from "@doorhook/core"
import type { Option } from "effect"
import { Effect, Schema } from "effect"
import type { SecretBox } from "./SecretBox.ts"

export interface IntegrationRow {
  readonly id: IntegrationId
  readonly scope_type: string
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
  readonly previous_secrets: string
  readonly overrides: string
  readonly failing_since: number | null
  readonly failing_noticed: number
  readonly failing_attempts: number
  readonly failing_retry_after: number | null
  readonly version: number
  readonly created_at: number
  readonly updated_at: number
}

type FailingColumn = "failing_since" | "failing_noticed" | "failing_attempts" | "failing_retry_after"

/** What settlements look at. */
export interface SubjectRow extends Pick<
  IntegrationRow,
  "scope_type" | "scope_id" | "status" | "disabled_reason" | FailingColumn
> {
  readonly id: IntegrationId
}

/** What deleting one looks at. */
export type LocatedRow = Pick<IntegrationRow, "id" | "scope_type" | "scope_id" | "version">

export const bindings = Schema.fromJsonString(Schema.Array(Binding))
const encodeBindings = Schema.encodeSync(bindings)
const decodeBindings = Schema.decodeUnknownOption(bindings)

/** None: they can't be read. */
export const bindingsOf = (row: Pick<IntegrationRow, "bindings">): Option.Option<Integration["bindings"]> =>
  decodeBindings(row.bindings)
export const overrides = Schema.fromJsonString(DeliveryOverrides)
const encodeOverrides = Schema.encodeSync(overrides)
/** The secrets in it are sealed. */
const previous = Schema.fromJsonString(Schema.Array(Schema.Struct({ secret: Schema.String, until: Schema.Int })))
const encodePrevious = Schema.encodeSync(previous)
export const decodePrevious = Schema.decodeUnknownEffect(previous)

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
  "previous_secrets",
  "overrides",
  "failing_since",
  "failing_noticed",
  "failing_attempts",
  "failing_retry_after",
  "version",
  "created_at",
  "updated_at"
] as const satisfies ReadonlyArray<keyof IntegrationRow>

/** The values of `integrationColumns`, of one that does not fail. */
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
    previous_secrets: encodePrevious(
      integration.previous_secrets.map(({ secret: each, until }) => ({ secret: secrets.seal(each), until }))
    ),
    overrides: encodeOverrides(integration.overrides),
    failing_since: null,
    failing_noticed: 0,
    failing_attempts: 0,
    failing_retry_after: null,
    version: integration.version,
    created_at: integration.created_at,
    updated_at: integration.updated_at
  }
  return integrationColumns.map((column) => row[column])
}

export const failingOf = (row: Pick<IntegrationRow, FailingColumn>): Failing.Failing | null =>
  row.failing_since === null
    ? null
    : {
        since: row.failing_since,
        noticed: row.failing_noticed,
        attempts: row.failing_attempts,
        retry_after: row.failing_retry_after
      }

/** The values of `setFailing`, before the id. */
export const failingValues = (failing: Failing.Failing | null): ReadonlyArray<number | null> => [
  failing?.since ?? null,
  failing?.noticed ?? 0,
  failing?.attempts ?? 0,
  failing?.retry_after ?? null
]

const decodeSubject = Schema.decodeUnknownEffect(
  Schema.Struct({
    id: Integration.fields.id,
    scope: Integration.fields.scope,
    status: Integration.fields.status,
    disabled_reason: Integration.fields.disabled_reason
  })
)

const decodeLocated = Schema.decodeUnknownEffect(
  Schema.Struct({
    id: Integration.fields.id,
    scope: Integration.fields.scope,
    version: Integration.fields.version
  })
)

export const locatedFromRow = (row: LocatedRow): Effect.Effect<LocatedIntegration, Schema.SchemaError> =>
  decodeLocated({ ...row, scope: { type: row.scope_type, id: row.scope_id } })

export const subjectFromRow = (row: SubjectRow): Effect.Effect<Consequences.Subject, Schema.SchemaError> =>
  Effect.map(decodeSubject({ ...row, scope: { type: row.scope_type, id: row.scope_id } }), (integration) => ({
    integration,
    failing: failingOf(row)
  }))
