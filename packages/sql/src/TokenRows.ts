/**
 * Decodes rows of codes and tokens, joined with their grants.
 *
 * Rows are decoded by hand, because every request decodes one. Schemas only explain why a row can't be read.
 */
import { AccessToken, AuthorizationCode, Grant, RefreshToken } from "@doorhook/core"
import type { ClientId, GrantId, TokenHash, UserId } from "@doorhook/core"
import { Brand, Effect, Predicate, Schema } from "effect"

/** A row of any table. */
export type Row = Readonly<Record<string, unknown>>

/** The columns to select from grants (as `g`), except the id, which the joined table also has. */
export const grantColumns = `g.user_id AS grant_user_id, g.client_id AS grant_client_id, g.scope AS grant_scope, g.resource AS grant_resource,
    g.created_at AS grant_created_at, g.revoked_at AS grant_revoked_at`

type Read<A> = Effect.Effect<A, Schema.SchemaError>

const tokenHash = Brand.nominal<TokenHash>()
const grantId = Brand.nominal<GrantId>()
const userId = Brand.nominal<UserId>()
const clientId = Brand.nominal<ClientId>()

const isWord = (value: unknown): value is string => Predicate.isString(value) && value !== ""
const isNumber = (value: unknown): value is number => Number.isSafeInteger(value)
const isTextOrNull = (value: unknown): value is string | null => value === null || Predicate.isString(value)
const isNumberOrNull = (value: unknown): value is number | null => value === null || isNumber(value)

/** Reads the grant from a joined row; null if a column has an unexpected value. */
const readGrant = (row: Row): Grant | null => {
  const { grant_client_id, grant_created_at, grant_id, grant_resource, grant_revoked_at, grant_scope, grant_user_id } =
    row
  return isWord(grant_id) &&
    isWord(grant_user_id) &&
    isWord(grant_client_id) &&
    Predicate.isString(grant_scope) &&
    Predicate.isString(grant_resource) &&
    isNumber(grant_created_at) &&
    isNumberOrNull(grant_revoked_at)
    ? {
        id: grantId(grant_id),
        user_id: userId(grant_user_id),
        client_id: clientId(grant_client_id),
        scope: grant_scope,
        resource: grant_resource,
        created_at: grant_created_at,
        revoked_at: grant_revoked_at
      }
    : null
}

const grantOf = (row: Row) => ({
  id: row["grant_id"],
  user_id: row["grant_user_id"],
  client_id: row["grant_client_id"],
  scope: row["grant_scope"],
  resource: row["grant_resource"],
  created_at: row["grant_created_at"],
  revoked_at: row["grant_revoked_at"]
})

const decodeGrantRow = Schema.decodeUnknownEffect(Grant)

export const decodeGrant = (row: Row): Read<Grant> => decodeGrantRow(grantOf(row))

const UsedGrants = Schema.Array(Schema.Struct({ grant: Grant, last_used_at: Schema.Int }))
const decodeGrantRows = Schema.decodeUnknownEffect(UsedGrants)

export const decodeGrants = (rows: ReadonlyArray<Row>): Read<typeof UsedGrants.Type> =>
  decodeGrantRows(rows.map((row) => ({ grant: grantOf(row), last_used_at: row["last_used_at"] })))

const decodeCodeRow = Schema.decodeUnknownEffect(
  Schema.Struct({ code: AuthorizationCode, isUsed: Schema.Boolean, grant: Grant })
)

export const decodeCode = (row: Row) =>
  decodeCodeRow({
    code: { ...row, redirect_uri_given: Boolean(row["redirect_uri_given"]) },
    isUsed: row["used_at"] !== null,
    grant: grantOf(row)
  })

const explainAccessToken = Schema.decodeUnknownEffect(Schema.Struct({ token: AccessToken, grant: Grant }))

export const decodeAccessToken = (row: Row): Read<{ readonly token: AccessToken; readonly grant: Grant }> => {
  const { created_at, expires_at, hash, resource, retires, scope, seq } = row
  const grant = readGrant(row)
  return grant !== null &&
    isNumber(seq) &&
    isWord(hash) &&
    isTextOrNull(scope) &&
    isTextOrNull(resource) &&
    isNumber(created_at) &&
    isNumber(expires_at) &&
    (retires === null || isWord(retires))
    ? Effect.succeed({
        token: {
          seq,
          hash: tokenHash(hash),
          grant_id: grant.id,
          scope,
          resource,
          created_at,
          expires_at,
          retires: retires === null ? null : tokenHash(retires)
        },
        grant
      })
    : explainAccessToken({ token: row, grant: grantOf(row) })
}

const explainRefreshToken = Schema.decodeUnknownEffect(Schema.Struct({ token: RefreshToken, grant: Grant }))

export const decodeRefreshToken = (row: Row): Read<{ readonly token: RefreshToken; readonly grant: Grant }> => {
  const { created_at, hash, retired_at, rotated_at, used_at } = row
  const grant = readGrant(row)
  return grant !== null &&
    isWord(hash) &&
    isNumber(created_at) &&
    isNumberOrNull(used_at) &&
    isNumberOrNull(rotated_at) &&
    isNumberOrNull(retired_at)
    ? Effect.succeed({
        token: { hash: tokenHash(hash), grant_id: grant.id, created_at, used_at, rotated_at, retired_at },
        grant
      })
    : explainRefreshToken({ token: row, grant: grantOf(row) })
}
