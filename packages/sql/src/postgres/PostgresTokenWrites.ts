/**
 * Changes of tokens on PostgreSQL: one statement each, so one round trip.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { tokenStatements } from "../statements/TokenStatements.ts"
import { failAs } from "../StoreFailure.ts"
import { TokenWrites } from "../stores/TokenWrites.ts"
import { postgres } from "./PostgresDialect.ts"
import { redeemCode, refreshAccess } from "./statements/TokenWriteStatements.ts"

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
        const { created_at, expires_at, retires, scope } = access
        const successor = [refresh?.hash ?? null, refresh?.created_at ?? null]
        const params = [now, hash, access.hash, created_at, expires_at, scope, retires, ...successor]
        return Effect.map(sql.unsafe<Numbered>(redeemCode, params), seqOf).pipe(failAs("TokenStore.redeemCode"))
      },

      refresh: (presented, { access, maxAccessTokens, refresh }, now) => {
        const { created_at, expires_at, hash, retires, scope } = access
        const successor = [refresh?.hash ?? null, refresh?.created_at ?? null]
        const params = [presented, now, maxAccessTokens, hash, created_at, expires_at, scope, retires, ...successor]
        return Effect.map(sql.unsafe<Numbered>(refreshAccess, params), seqOf).pipe(failAs("TokenStore.refresh"))
      },

      retireRefreshToken: (hash, now) =>
        Effect.asVoid(sql.unsafe(retireRefreshToken, [now, hash])).pipe(failAs("TokenStore.retireRefreshToken"))
    })
  })
)
