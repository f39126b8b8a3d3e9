/**
 * Changes of tokens on PostgreSQL: one statement each, so one round trip.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { tokenStatements } from "../statements/TokenStatements.ts"
import { failAs } from "../StoreFailure.ts"
import { TokenWrites } from "../stores/SqlTokenStore.ts"
import { postgres } from "./PostgresDialect.ts"

/**
 * Redeems a code and stores the tokens issued for it. A code can be redeemed only once. Cost: one search by primary key
 * in each table.
 */
export const redeemCode = `WITH used AS (
    UPDATE codes SET used_at = $1::bigint WHERE hash = $2::text AND used_at IS NULL
      AND (SELECT revoked_at IS NULL FROM grants WHERE grants.id = codes.grant_id)
    RETURNING grant_id
  ), access AS (
    INSERT INTO access_tokens (grant_id, hash, created_at, expires_at, scope, retires, resource)
    SELECT grant_id, $3::text, $4::bigint, $5::bigint, $6::text, $7::text, $10::text FROM used RETURNING seq
  ), refresh AS (
    INSERT INTO refresh_tokens (hash, grant_id, created_at)
    SELECT $8::text, grant_id, $9::bigint FROM used WHERE $8::text IS NOT NULL
  )
  SELECT seq FROM access`

/** Calls the function `refresh_access` (`migrations/index`). */
const refreshAccess = `SELECT refresh_access($1::text, $2::bigint, $3::integer, $4::text, $5::bigint, $6::bigint,
    $7::text, $8::text, $9::text, $10::bigint, $11::text) AS seq`

interface Numbered {
  readonly seq: number | null
}

export const layer: Layer.Layer<TokenWrites, never, SqlClient.SqlClient> = Layer.effect(
  TokenWrites,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { retireRefreshToken } = tokenStatements(postgres)
    const seqOf = ([row]: ReadonlyArray<Numbered>) => row?.seq ?? null

    return TokenWrites.of({
      redeemCode: (hash, { access, refresh }, now) => {
        const { created_at, expires_at, resource, retires, scope } = access
        const successor = [refresh?.hash ?? null, refresh?.created_at ?? null]
        const params = [now, hash, access.hash, created_at, expires_at, scope, retires, ...successor, resource]
        return Effect.map(sql.unsafe<Numbered>(redeemCode, params), seqOf).pipe(failAs("TokenStore.redeemCode"))
      },

      refresh: (presented, { access, maxAccessTokens, refresh }, now) => {
        const { created_at, expires_at, hash, resource, retires, scope } = access
        const successor = [refresh?.hash ?? null, refresh?.created_at ?? null]
        const issued = [hash, created_at, expires_at, scope, retires, ...successor, resource]
        const params = [presented, now, maxAccessTokens, ...issued]
        return Effect.map(sql.unsafe<Numbered>(refreshAccess, params), seqOf).pipe(failAs("TokenStore.refresh"))
      },

      retireRefreshToken: (hash, now) =>
        Effect.asVoid(sql.unsafe(retireRefreshToken, [now, hash])).pipe(failAs("TokenStore.retireRefreshToken"))
    })
  })
)
