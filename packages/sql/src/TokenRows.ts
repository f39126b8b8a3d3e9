/**
 * How codes and tokens stand in rows together with their grants, in every dialect.
 */
import { AccessToken, AuthorizationCode, Grant, RefreshToken } from "@doorhook/core"
import { Schema } from "effect"

/** A grant joined to what belongs to it. */
export interface GrantColumns {
  readonly grant_id: string
  readonly grant_user_id: string
  readonly grant_client_id: string
  readonly grant_scope: string
  readonly grant_created_at: number
  readonly grant_revoked_at: number | null
}

/** What to select for `GrantColumns` from a table of grants called `g`, but for the id, which the other table has. */
export const grantColumns = `g.user_id AS grant_user_id, g.client_id AS grant_client_id, g.scope AS grant_scope,
    g.created_at AS grant_created_at, g.revoked_at AS grant_revoked_at`

const grantOf = (row: GrantColumns) => ({
  id: row.grant_id,
  user_id: row.grant_user_id,
  client_id: row.grant_client_id,
  scope: row.grant_scope,
  created_at: row.grant_created_at,
  revoked_at: row.grant_revoked_at
})

const decodeGrantRows = Schema.decodeUnknownEffect(Schema.Array(Grant))

export const decodeGrants = (rows: ReadonlyArray<GrantColumns>) => decodeGrantRows(rows.map(grantOf))

export interface CodeRow extends GrantColumns {
  readonly redirect_uri_given: number | boolean
  readonly used_at: number | null
}

const decodeCodeRow = Schema.decodeUnknownEffect(
  Schema.Struct({ code: AuthorizationCode, isUsed: Schema.Boolean, grant: Grant })
)
const decodeAccessRow = Schema.decodeUnknownEffect(Schema.Struct({ token: AccessToken, grant: Grant }))
const decodeRefreshRow = Schema.decodeUnknownEffect(Schema.Struct({ token: RefreshToken, grant: Grant }))

export const decodeCode = (row: CodeRow) =>
  decodeCodeRow({
    code: { ...row, redirect_uri_given: Boolean(row.redirect_uri_given) },
    isUsed: row.used_at !== null,
    grant: grantOf(row)
  })

export const decodeAccessToken = (row: GrantColumns) => decodeAccessRow({ token: row, grant: grantOf(row) })

export const decodeRefreshToken = (row: GrantColumns) => decodeRefreshRow({ token: row, grant: grantOf(row) })
