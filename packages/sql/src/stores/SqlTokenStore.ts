/**
 * Grants, codes and tokens in a SQL database.
 */
import { TokenValidity, TokenStore } from "@doorhook/core"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Dialect } from "../Dialect.ts"
import { ReadConnection } from "../ReadConnection.ts"
import { tokenStatements } from "../statements/TokenStatements.ts"
import { failAs } from "../StoreFailure.ts"
import type { Row } from "../TokenRows.ts"
import { decodeAccessToken, decodeCode, decodeGrant, decodeGrants, decodeRefreshToken } from "../TokenRows.ts"

/** The most frequent token changes. Each database has its own optimized implementation. */
export class TokenWrites extends Context.Service<
  TokenWrites,
  Pick<TokenStore["Service"], "redeemCode" | "refresh" | "retireRefreshToken">
>()("@doorhook/sql/TokenWrites") {}

const none = Effect.succeed(null)

const make = Effect.fnUntraced(function* (dialect: Dialect) {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* ReadConnection
  const statements = tokenStatements(dialect)

  /** Runs a deletion with a time and limits as parameters. Returns the number of deleted rows. */
  const count = (statement: string, before: number, ...limits: ReadonlyArray<number>) =>
    Effect.map(sql.unsafe(statement, [before, ...limits]), ({ length }) => length)

  return TokenStore.of({
    ...(yield* TokenWrites),

    createCode: Effect.fnUntraced(
      function* (grant, code) {
        const { client_id, created_at, id, resource, revoked_at, scope, user_id } = grant
        yield* sql.unsafe(statements.insertGrant, [id, user_id, client_id, scope, resource, created_at, revoked_at])
        yield* sql.unsafe(statements.insertCode, [
          code.hash,
          code.grant_id,
          code.client_id,
          code.redirect_uri,
          code.redirect_uri_given,
          code.code_challenge,
          code.expires_at
        ])
      },
      sql.withTransaction,
      failAs("TokenStore.createCode")
    ),

    findCode: Effect.fnUntraced(function* (hash) {
      const [row] = yield* reads.rows<Row>(statements.codeWithGrant, [hash])
      return row === undefined ? null : yield* decodeCode(row)
    }, failAs("TokenStore.findCode")),

    findAccessToken: ({ seq }) =>
      Effect.flatMapEager(reads.row<Row>(statements.accessTokenWithGrant, { column: "seq", value: seq }), (row) =>
        row === undefined ? none : decodeAccessToken(row)
      ).pipe(failAs("TokenStore.findAccessToken")),

    findRefreshToken: (hash) =>
      Effect.flatMapEager(reads.row<Row>(statements.refreshTokenWithGrant, { column: "hash", value: hash }), (row) =>
        row === undefined ? none : decodeRefreshToken(row)
      ).pipe(failAs("TokenStore.findRefreshToken")),

    issue: Effect.fnUntraced(
      function* (grant, { access, maxAccessTokens }) {
        const { client_id, created_at, id, resource, scope, user_id } = grant
        yield* sql.unsafe(statements.endTokensOfRevoked, [id])
        yield* sql.unsafe(statements.keepGrant, [id, user_id, client_id, scope, resource, created_at])
        yield* sql.unsafe(statements.endOldest, [id, maxAccessTokens - 1])
        const { expires_at, hash, retires } = access
        const values = [id, hash, access.created_at, expires_at, access.scope, access.resource, retires]
        const [row] = yield* sql.unsafe<{ readonly seq: number }>(statements.insertAccessToken, values)
        return Number(row?.seq)
      },
      sql.withTransaction,
      failAs("TokenStore.issue")
    ),

    useAssertion: Effect.fnUntraced(
      function* (id, expires_at) {
        return (yield* sql.unsafe(statements.useAssertion, [id, expires_at])).length > 0
      },
      sql.withTransaction,
      failAs("TokenStore.useAssertion")
    ),

    // Revocations run in a transaction even if they are one statement. A repeated revocation changes nothing, but must
    // not return before the first one is on disk. A transaction without changes waits for that, a statement does not.
    revokeGrant: Effect.fnUntraced(
      function* (id, now) {
        yield* sql.unsafe(statements.revokeGrant, [now, id])
      },
      sql.withTransaction,
      failAs("TokenStore.revokeGrant")
    ),

    revokeGrantsTo: Effect.fnUntraced(
      function* (client, now) {
        yield* sql.unsafe(statements.revokeGrantsTo, [now, client])
      },
      sql.withTransaction,
      failAs("TokenStore.revokeGrantsTo")
    ),

    findGrant: Effect.fnUntraced(function* (id) {
      const [row] = yield* reads.rows<Row>(statements.grant, [id])
      return row === undefined ? null : yield* decodeGrant(row)
    }, failAs("TokenStore.findGrant")),

    grantsOf: Effect.fnUntraced(function* (user, limit) {
      return yield* decodeGrants(yield* reads.rows<Row>(statements.grantsOf, [user, limit]))
    }, failAs("TokenStore.grantsOf")),

    revokeGrantsOf: Effect.fnUntraced(
      function* (user, client, now) {
        const ended = yield* sql.unsafe<{ readonly is_refreshable: number | boolean }>(statements.revokeGrantsOf, [
          now,
          user,
          client
        ])
        return ended.filter(({ is_refreshable }) => Boolean(is_refreshable)).length
      },
      sql.withTransaction,
      failAs("TokenStore.revokeGrantsOf")
    ),

    revokeAccessToken: Effect.fnUntraced(
      function* ({ hash, seq }) {
        yield* sql.unsafe(statements.deleteAccessToken, [seq, hash])
      },
      sql.withTransaction,
      failAs("TokenStore.revokeAccessToken")
    ),

    purgeExpired: Effect.fnUntraced(
      function* (now, limit) {
        const access = yield* sql.unsafe<{ readonly grant_id: string }>(statements.purgeAccessTokens, [now, limit])
        let purged = access.length
        const codes = yield* sql.unsafe<{ readonly grant_id: string; readonly used_at: number | null }>(
          statements.purgeCodes,
          [now - TokenValidity.codeReuseWindow, limit - purged]
        )
        purged += codes.length
        const unused = codes.filter(({ used_at }) => used_at === null)
        const left = new Set([...access, ...unused].map(({ grant_id }) => grant_id))
        if (left.size > 0) yield* sql.unsafe(statements.deleteGrants, [dialect.texts(left)])
        purged += yield* count(statements.purgeAssertions, now, limit - purged)
        purged += yield* count(statements.purgeRotated, now - TokenValidity.rotatedRetention, limit - purged)
        const revokedBefore = now - TokenValidity.revokedRetention
        for (const statement of [...statements.purgeOfRevoked, statements.purgeRevoked]) {
          purged += yield* count(statement, revokedBefore, limit, limit - purged)
        }
        return purged
      },
      sql.withTransaction,
      failAs("TokenStore.purgeExpired")
    )
  })
})

export const layer = (
  dialect: Dialect
): Layer.Layer<TokenStore, never, SqlClient.SqlClient | ReadConnection | TokenWrites> =>
  Layer.effect(TokenStore, make(dialect))
