/**
 * The row of an integration. Members that statements query have columns; the others are JSON text. Rows are decoded by
 * hand, and schemas only explain why a row can't be read.
 */
import type { HealthRules, FailureState, IntegrationRef, NewIntegration, Scope } from "@doorhook/core"
import {
  Binding,
  BuildingId,
  ClientId,
  DeliveryOverrides,
  Detail,
  DisabledReason,
  Integration,
  IntegrationId,
  RecentMap,
  serviceScope,
  Subscription,
  TenantId,
  UserId
} from "@doorhook/core"
import { Effect, Option, Record, Redacted, Schema } from "effect"
import type { SecretBox } from "./SecretBox.ts"

export interface IntegrationRow {
  readonly id: IntegrationId
  readonly scope_type: string
  readonly scope_id: number
  readonly integrator: string
  readonly url: string
  readonly method: string
  readonly bindings: string
  readonly name: string | null
  readonly description: string | null
  readonly detail: string
  readonly status: string
  readonly disabled_reason: string | null
  readonly created_by_user: string
  readonly created_by_client: string
  readonly signing_secret: string
  readonly previous_secrets: string
  readonly overrides: string
  readonly subscription: string | null
  readonly grant_id: string | null
  readonly failing_since: number | null
  readonly failing_noticed: number
  readonly failing_attempts: number
  readonly failing_retry_after: number | null
  readonly version: number
  readonly created_at: number
  readonly updated_at: number
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null)
const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value))

/** Converts the columns of a row to their types. Does not check them. */
export const rowFrom = (column: (name: keyof IntegrationRow) => unknown): IntegrationRow => ({
  id: IntegrationId.make(Number(column("id")), { disableChecks: true }),
  scope_type: String(column("scope_type")),
  scope_id: Number(column("scope_id")),
  integrator: String(column("integrator")),
  url: String(column("url")),
  method: String(column("method")),
  bindings: String(column("bindings")),
  name: textOrNull(column("name")),
  description: textOrNull(column("description")),
  detail: String(column("detail")),
  status: String(column("status")),
  disabled_reason: textOrNull(column("disabled_reason")),
  created_by_user: String(column("created_by_user")),
  created_by_client: String(column("created_by_client")),
  signing_secret: String(column("signing_secret")),
  previous_secrets: String(column("previous_secrets")),
  overrides: String(column("overrides")),
  subscription: textOrNull(column("subscription")),
  grant_id: textOrNull(column("grant_id")),
  failing_since: numberOrNull(column("failing_since")),
  failing_noticed: Number(column("failing_noticed")),
  failing_attempts: Number(column("failing_attempts")),
  failing_retry_after: numberOrNull(column("failing_retry_after")),
  version: Number(column("version")),
  created_at: Number(column("created_at")),
  updated_at: Number(column("updated_at"))
})

type FailingColumn = "failing_since" | "failing_noticed" | "failing_attempts" | "failing_retry_after"

/** The columns that settlements read. */
export interface SubjectRow extends Pick<
  IntegrationRow,
  "scope_type" | "scope_id" | "status" | "disabled_reason" | FailingColumn
> {
  readonly id: IntegrationId
}

/** The columns that deleting an integration reads. */
export type LocatedRow = Pick<IntegrationRow, "id" | "scope_type" | "scope_id" | "created_by_client" | "version">

/**
 * Makes a cached decoder for a column's JSON text, because many rows have the same text. It returns null for text that
 * can't be decoded.
 */
const remembering = <A extends object>(decode: (text: string) => Option.Option<A>): ((text: string) => A | null) => {
  const known = new RecentMap<string, A>(1_000)
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const decoded = Option.getOrNull(decode(text))
    if (decoded !== null) known.set(text, decoded)
    return decoded
  }
}

export const bindings = Schema.fromJsonString(Schema.Array(Binding))
const encodeBindings = Schema.encodeSync(bindings)
const readBindings = remembering(Schema.decodeUnknownOption(bindings))

/** Decodes the bindings; null if they can't be read. */
export const bindingsOf = (row: Pick<IntegrationRow, "bindings">): Integration["bindings"] | null =>
  readBindings(row.bindings)

export const overrides = Schema.fromJsonString(DeliveryOverrides)
const encodeOverrides = Schema.encodeSync(overrides)
const readOverrides = remembering(Schema.decodeUnknownOption(overrides))

/** Decodes the overrides, with header values still sealed; null if they can't be read. */
export const overridesOf = (row: Pick<IntegrationRow, "overrides">): DeliveryOverrides | null =>
  readOverrides(row.overrides)

export const subscription = Schema.fromJsonString(Subscription)
const encodeSubscription = Schema.encodeSync(subscription)
const readSubscription = remembering(Schema.decodeUnknownOption(subscription))

/** Decodes the subscription; undefined without one, and null if it can't be read. */
export const subscriptionOf = (row: Pick<IntegrationRow, "subscription">): Subscription | undefined | null =>
  row.subscription === null ? undefined : readSubscription(row.subscription)

/** Seals the header values. */
const sealed = ({ headers, ...others }: DeliveryOverrides, secrets: SecretBox): DeliveryOverrides => ({
  ...others,
  ...(headers !== undefined && {
    headers: Record.map(headers, (value) => Redacted.make(secrets.seal(value)))
  })
})

/** Previous signing secrets, which are stored sealed. */
const previous = Schema.fromJsonString(Schema.Array(Schema.Struct({ secret: Schema.String, until: Schema.Int })))
const encodePrevious = Schema.encodeSync(previous)
export const decodePrevious = Schema.decodeUnknownEffect(previous)

/** All columns except the id. */
export const integrationColumns = [
  "scope_type",
  "scope_id",
  "integrator",
  "url",
  "method",
  "bindings",
  "name",
  "description",
  "detail",
  "status",
  "disabled_reason",
  "created_by_user",
  "created_by_client",
  "signing_secret",
  "previous_secrets",
  "overrides",
  "subscription",
  "grant_id",
  "failing_since",
  "failing_noticed",
  "failing_attempts",
  "failing_retry_after",
  "version",
  "created_at",
  "updated_at"
] as const satisfies ReadonlyArray<keyof IntegrationRow>

/** Returns the values of `integrationColumns` for an integration that is not failing. */
export const toValues = (integration: NewIntegration, secrets: SecretBox): ReadonlyArray<string | number | null> => {
  const row: Omit<IntegrationRow, "id"> = {
    scope_type: integration.scope.type,
    scope_id: integration.scope.id,
    integrator: integration.integrator,
    url: integration.configuration.url,
    method: integration.configuration.method,
    bindings: encodeBindings(integration.bindings),
    name: integration.name,
    description: integration.description,
    detail: integration.detail,
    status: integration.status,
    disabled_reason: integration.disabled_reason,
    created_by_user: integration.created_by.user_id,
    created_by_client: integration.created_by.client_id,
    signing_secret: secrets.seal(integration.signing_secret),
    previous_secrets: encodePrevious(
      integration.previous_secrets.map(({ secret: each, until }) => ({ secret: secrets.seal(each), until }))
    ),
    overrides: encodeOverrides(sealed(integration.overrides, secrets)),
    subscription: integration.subscription === undefined ? null : encodeSubscription(integration.subscription),
    // For the index, see `statements.subscriptions`.
    grant_id: integration.subscription?.grant_id ?? null,
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

export const failingOf = (row: Pick<IntegrationRow, FailingColumn>): FailureState.FailureState | null =>
  row.failing_since === null
    ? null
    : {
        since: row.failing_since,
        warnings: row.failing_noticed,
        attempts: row.failing_attempts,
        retry_after: row.failing_retry_after
      }

/** Returns the parameters of the statement `setFailing`, without the id. */
export const failingValues = (failing: FailureState.FailureState | null): ReadonlyArray<number | null> => [
  failing?.since ?? null,
  failing?.warnings ?? 0,
  failing?.attempts ?? 0,
  failing?.retry_after ?? null
]

/** Whether a value can be the id of a building, a tenant or an integration. */
const isPositive = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) > 0

export const isId = (value: unknown): value is IntegrationId => isPositive(value)
export const isUserId = Schema.is(UserId)
export const isClientId = Schema.is(ClientId)
export const isStatus = (value: unknown): value is Integration["status"] => value === "enabled" || value === "disabled"
export const isDetail = Schema.is(Detail)
const isReason = Schema.is(DisabledReason)
export const isDisabledReason = (value: unknown): value is DisabledReason | null => value === null || isReason(value)

/** Returns the scope of a row; null if it can't be read. */
export const scopeOf = ({
  scope_id: id,
  scope_type: type
}: Pick<IntegrationRow, "scope_type" | "scope_id">): Scope | null => {
  if (!isPositive(id)) return null
  if (type === "building") return { type, id: BuildingId.make(id, { disableChecks: true }) }
  if (type === "tenant") return { type, id: TenantId.make(id, { disableChecks: true }) }
  return type === serviceScope.type && id === serviceScope.id ? serviceScope : null
}

const explainLocated = Schema.decodeUnknownEffect(
  Schema.Struct({
    id: Integration.fields.id,
    scope: Integration.fields.scope,
    created_by: Schema.Struct({ client_id: Schema.String }),
    version: Integration.fields.version
  })
)

export const locatedFromRow = (row: LocatedRow): Effect.Effect<IntegrationRef, Schema.SchemaError> => {
  const { created_by_client, id, scope_id, scope_type, version } = row
  const scope = scopeOf(row)
  const created_by = { client_id: created_by_client }
  return isId(id) && scope !== null && Number.isSafeInteger(version)
    ? Effect.succeed({ id, scope, created_by, version })
    : explainLocated({ id, scope: { type: scope_type, id: scope_id }, created_by, version })
}

/** Returns what the health rules need of a row; null if it can't be read. */
export const subjectOf = (row: SubjectRow): HealthRules.HealthSubject | null => {
  const { disabled_reason, id, status } = row
  const scope = scopeOf(row)
  return isId(id) && scope !== null && isStatus(status) && isDisabledReason(disabled_reason)
    ? { integration: { id, scope, status, disabled_reason }, failing: failingOf(row) }
    : null
}
