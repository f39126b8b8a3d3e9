/**
 * Statements on grants, codes and tokens. The cost of each is one search by primary key in each of its tables, unless
 * its comment says otherwise.
 */
import { TokenValidity } from "@doorhook/core"
import type { Dialect } from "../Dialect.ts"
import { grantColumns } from "../TokenRows.ts"

/** Maximum number of access tokens that one refresh deletes. Matters only after the limit per grant was lowered. */
const maxEnded = 500

const accessTokenColumns = `t.seq, t.hash, t.grant_id, t.scope, t.resource, t.created_at, t.expires_at, t.retires, ${grantColumns}
  FROM access_tokens AS t JOIN grants AS g ON g.id = t.grant_id`

export const tokenStatements = ({ isKey, isOneOfKept, isOneOfTexts, lockFree, text }: Dialect) => ({
  insertGrant: text(`INSERT INTO grants (id, user_id, client_id, scope, resource, created_at, revoked_at)
  VALUES (?, ?, ?, ?, ?, ?, ?)`),

  /** Stores the grant of a service user, or makes it valid again. */
  keepGrant: text(`INSERT INTO grants (id, user_id, client_id, scope, resource, created_at, revoked_at)
  VALUES (?, ?, ?, ?, ?, ?, NULL) ON CONFLICT (id) DO UPDATE SET revoked_at = NULL`),

  /** Deletes the access tokens of a grant if it is revoked. Cost: a range of the index on grants. */
  endTokensOfRevoked: text(`DELETE FROM access_tokens WHERE grant_id = ?
  AND EXISTS (SELECT 1 FROM grants WHERE id = access_tokens.grant_id AND revoked_at IS NOT NULL)`),

  /** Returns a row only to the first caller. */
  useAssertion: text(`INSERT INTO assertions (id, expires_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING RETURNING id`),

  /** Cost: the start of the index on expiry times, then one search by key per row. */
  purgeAssertions: text(`DELETE FROM assertions
  WHERE id IN (SELECT id FROM assertions WHERE expires_at < ? LIMIT ? ${lockFree}) RETURNING id`),

  insertCode: text(`INSERT INTO codes
  (hash, grant_id, client_id, redirect_uri, redirect_uri_given, code_challenge, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`),

  insertAccessToken: text(`INSERT INTO access_tokens (grant_id, hash, created_at, expires_at, scope, resource, retires)
  VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING seq`),

  insertRefreshToken: text(`INSERT INTO refresh_tokens (hash, grant_id, created_at, rotated_at, retired_at)
  VALUES (?, ?, ?, ?, ?)`),

  codeWithGrant: text(`SELECT c.hash, c.grant_id, c.client_id, c.redirect_uri,
    c.redirect_uri_given, c.code_challenge, c.expires_at, c.used_at, ${grantColumns}
  FROM codes AS c JOIN grants AS g ON g.id = c.grant_id WHERE c.hash = ?`),

  accessTokenWithGrant: text(`SELECT ${accessTokenColumns} WHERE ${isKey("t.seq")}`),

  refreshTokenWithGrant:
    text(`SELECT t.hash, t.grant_id, t.created_at, t.used_at, t.rotated_at, t.retired_at, ${grantColumns}
  FROM refresh_tokens AS t JOIN grants AS g ON g.id = t.grant_id WHERE ${isKey("t.hash")}`),

  /** Redeems a code. Only the first caller gets a row. */
  useCode: text(`UPDATE codes SET used_at = ? WHERE hash = ? AND used_at IS NULL
    AND (SELECT revoked_at IS NULL FROM grants WHERE grants.id = codes.grant_id)
  RETURNING grant_id`),

  /** Stores an access token for a refresh token. No row if that is retired or its grant is revoked. */
  refreshAccessToken: text(`INSERT INTO access_tokens (grant_id, hash, created_at, expires_at, scope, resource, retires)
  SELECT t.grant_id, ?, ?, ?, ?, ?, ? FROM refresh_tokens AS t JOIN grants AS g ON g.id = t.grant_id
  WHERE t.hash = ? AND t.retired_at IS NULL AND g.revoked_at IS NULL RETURNING seq`),

  /**
   * Marks a refresh token as rotated, and stores its successor. The first row of the values is the existing token, so
   * it is never inserted. If the successor exists, too, the statement fails, because `created_at` may not be null.
   */
  rotateRefreshToken: text(`INSERT INTO refresh_tokens (hash, grant_id, created_at, rotated_at)
  VALUES (?, ?, ?, ?), (?, ?, ?, NULL)
  ON CONFLICT (hash) DO UPDATE SET rotated_at = coalesce(refresh_tokens.rotated_at, excluded.rotated_at),
    created_at = CASE WHEN excluded.rotated_at IS NOT NULL THEN refresh_tokens.created_at END`),

  useRefreshToken: text(`UPDATE refresh_tokens SET used_at = ? WHERE hash = ?`),

  retireRefreshToken: text(`UPDATE refresh_tokens SET retired_at = ?
  WHERE hash = ? AND rotated_at IS NOT NULL AND retired_at IS NULL`),

  grant: text(`SELECT g.id AS grant_id, ${grantColumns} FROM grants AS g WHERE g.id = ?`),

  revokeGrant: text(`UPDATE grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`),

  /** Cost: a range of the index on clients, then one search by key per grant. */
  revokeGrantsTo: text(`UPDATE grants SET revoked_at = ?
  WHERE ${isOneOfKept("id", "SELECT id FROM grants WHERE client_id = ? AND revoked_at IS NULL")}`),

  /** Cost: a range of the index on users and times, and the entries of the index on refresh tokens per grant. */
  grantsOf: text(`SELECT g.id AS grant_id, ${grantColumns},
    (SELECT max(coalesce(t.used_at, t.created_at)) FROM refresh_tokens AS t WHERE t.grant_id = g.id) AS last_used_at
  FROM grants AS g
  WHERE g.user_id = ? AND g.revoked_at IS NULL
    AND EXISTS (SELECT 1 FROM refresh_tokens AS t WHERE t.grant_id = g.id)
  ORDER BY g.created_at LIMIT ?`),

  /**
   * Revokes the grants of a user to a client, or to all clients if the client is null. Returns for each grant whether
   * it has a refresh token. Cost: a range of the index on users and times, then one search by key per grant.
   */
  revokeGrantsOf: text(`UPDATE grants SET revoked_at = ?
  WHERE ${isOneOfKept(
    "id",
    "SELECT id FROM grants WHERE user_id = ? AND revoked_at IS NULL AND client_id = coalesce(?, client_id)"
  )}
  RETURNING EXISTS (SELECT 1 FROM refresh_tokens AS t WHERE t.grant_id = grants.id) AS is_refreshable`),

  deleteAccessToken: text(`DELETE FROM access_tokens WHERE seq = ? AND hash = ?`),

  /** Deletes a grant's oldest access tokens beyond a limit. Cost: a range of the index on grants, the newest first. */
  endOldest: text(`DELETE FROM access_tokens WHERE seq IN
  (SELECT seq FROM access_tokens WHERE grant_id = ? ORDER BY seq DESC LIMIT ${maxEnded} OFFSET ?)`),

  /** Cost: the start of the table, because tokens expire in the order of their numbers. */
  purgeAccessTokens: text(`DELETE FROM access_tokens WHERE seq IN (SELECT t.seq FROM access_tokens AS t
  WHERE t.seq <= (SELECT max(seq) FROM (SELECT seq FROM access_tokens AS oldest ORDER BY seq LIMIT ${TokenValidity.purgeWindow}) AS first)
    AND t.expires_at < ? ORDER BY t.seq LIMIT ? ${lockFree}) RETURNING grant_id`),

  /** Cost: the start of the index on expiry times, then one search by key per row. */
  // Returns the grants of the codes, and whether each code was used.
  purgeCodes: text(`DELETE FROM codes WHERE hash IN (SELECT hash FROM codes WHERE expires_at < ? LIMIT ? ${lockFree})
  RETURNING grant_id, used_at`),

  /**
   * Deletes grants that have no tokens and codes, except revoked ones, which `purgeRevoked` deletes. With `IS NULL`
   * instead of `coalesce`, PostgreSQL could scan an index on grants that are not revoked.
   */
  deleteGrants: text(`DELETE FROM grants WHERE ${isOneOfTexts("id")} AND coalesce(revoked_at, 0) = 0
    AND NOT EXISTS (SELECT 1 FROM access_tokens AS t WHERE t.grant_id = grants.id)
    AND NOT EXISTS (SELECT 1 FROM codes AS t WHERE t.grant_id = grants.id)
    AND NOT EXISTS (SELECT 1 FROM refresh_tokens AS t WHERE t.grant_id = grants.id)`),

  /** Cost: the start of the index on rotation times, then one search by key per row. */
  purgeRotated: text(`DELETE FROM refresh_tokens
  WHERE hash IN (SELECT hash FROM refresh_tokens WHERE rotated_at < ? LIMIT ? ${lockFree}) RETURNING hash`),

  /**
   * Deletes the tokens and codes of the grants that were revoked first. Cost: the start of the index on revocation
   * times, then one range of an index on grants per grant. The limits are the number of grants, then the number of
   * rows.
   */
  purgeOfRevoked: (
    [
      ["access_tokens", "seq"],
      ["codes", "hash"],
      ["refresh_tokens", "hash"]
    ] as const
  ).map(([table, key]) =>
    text(`DELETE FROM ${table} WHERE ${key} IN (SELECT t.${key}
  FROM (SELECT id FROM grants WHERE revoked_at < ? ORDER BY revoked_at LIMIT ?) AS revoked JOIN ${table} AS t ON t.grant_id = revoked.id
  LIMIT ? ${lockFree}) RETURNING ${key}`)
  ),

  /** Deletes the same grants once they have no tokens or codes. Cost: as for `purgeOfRevoked`. */
  purgeRevoked: text(`DELETE FROM grants WHERE id IN (SELECT revoked.id
  FROM (SELECT id FROM grants WHERE revoked_at < ? ORDER BY revoked_at LIMIT ?) AS revoked
  WHERE NOT EXISTS (SELECT 1 FROM access_tokens AS t WHERE t.grant_id = revoked.id)
    AND NOT EXISTS (SELECT 1 FROM codes AS t WHERE t.grant_id = revoked.id)
    AND NOT EXISTS (SELECT 1 FROM refresh_tokens AS t WHERE t.grant_id = revoked.id) LIMIT ? ${lockFree}) RETURNING id`)
})
