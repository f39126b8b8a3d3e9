/**
 * Changes of tokens on SQLite. `SqliteTurns` runs them, so many requests and publications share a transaction and a
 * sync. Each change is atomic, which decides races between requests.
 */
import type { NewAccessToken, RefreshToken } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { sqlite } from "../Dialect.ts"
import { tokenStatements } from "../statements/TokenStatements.ts"
import { failAs } from "../StoreFailure.ts"
import { TokenWrites } from "../stores/SqlTokenStore.ts"
import type { Row } from "./Columns.ts"
import { SqliteTurns } from "./SqliteTurns.ts"

/** Approximate number of rows that one request changes. */
const rows = 3

/** Returns the first value of a row; null without a row. */
const first = (row: Row | undefined): unknown => Object.values(row ?? [])[0] ?? null

export const layer: Layer.Layer<TokenWrites, never, SqliteTurns> = Layer.effect(
  TokenWrites,
  Effect.gen(function* () {
    const { change, prepare } = yield* SqliteTurns
    const statements = tokenStatements(sqlite)
    const q = {
      useCode: prepare(statements.useCode),
      insertAccess: prepare(statements.insertAccessToken),
      refreshAccess: prepare(statements.refreshAccessToken),
      endOldest: prepare(statements.endOldest),
      insertRefresh: prepare(statements.insertRefreshToken),
      rotate: prepare(statements.rotateRefreshToken),
      use: prepare(statements.useRefreshToken),
      retire: prepare(statements.retireRefreshToken)
    }

    const storeAccess = ({
      created_at,
      expires_at,
      grant_id,
      hash,
      resource,
      retires,
      scope
    }: NewAccessToken): number =>
      Number(first(q.insertAccess.get(grant_id, hash, created_at, expires_at, scope, resource, retires)))

    const storeRefresh = ({ created_at, grant_id, hash, retired_at, rotated_at }: RefreshToken): void => {
      q.insertRefresh.run(hash, grant_id, created_at, rotated_at, retired_at)
    }

    // Changes wait for the disk even if they change no row, because their answer may depend on an earlier commit.
    return TokenWrites.of({
      redeemCode: (hash, { access, refresh }, now) =>
        change({
          rows,
          isDurable: true,
          run: () => {
            if (q.useCode.get(now, hash) === undefined) return null
            if (refresh !== null) storeRefresh(refresh)
            return storeAccess(access)
          }
        }).pipe(failAs("TokenStore.redeemCode")),

      refresh: (presented, { access, maxAccessTokens, refresh }, now) =>
        change({
          rows,
          isDurable: true,
          run: () => {
            const { created_at, expires_at, grant_id, hash, resource, retires, scope } = access
            const seq = first(q.refreshAccess.get(hash, created_at, expires_at, scope, resource, retires, presented))
            if (seq === null) return null
            q.endOldest.run(grant_id, maxAccessTokens)
            if (refresh === null) q.use.run(now, presented)
            else q.rotate.run(presented, grant_id, now, now, refresh.hash, grant_id, refresh.created_at)
            return Number(seq)
          }
        }).pipe(failAs("TokenStore.refresh")),

      retireRefreshToken: (hash, now) =>
        change({ rows: 1, isDurable: true, run: () => void q.retire.run(now, hash) }).pipe(
          failAs("TokenStore.retireRefreshToken")
        )
    })
  })
)
