/**
 * Statements on grants, codes and tokens. Unless it says otherwise, a statement is one search by primary key in each table
 * it names.
 */
import { grantColumns } from "../../TokenRows.ts"

export const insertGrant = `INSERT INTO grants (id, user_id, client_id, scope, created_at, revoked_at)
  VALUES (?, ?, ?, ?, ?, ?)`

export const insertCode = `INSERT INTO codes
  (hash, grant_id, client_id, redirect_uri, redirect_uri_given, code_challenge, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`

export const insertAccessToken = `INSERT INTO access_tokens (hash, grant_id, created_at, expires_at, retires)
  VALUES (?, ?, ?, ?, ?)`

export const insertRefreshToken = `INSERT INTO refresh_tokens (hash, grant_id, created_at, rotated_at, retired_at)
  VALUES (?, ?, ?, ?, ?)`

export const codeWithGrant = `SELECT c.hash, c.grant_id, c.client_id, c.redirect_uri,
    c.redirect_uri_given, c.code_challenge, c.expires_at, ${grantColumns}
  FROM codes AS c JOIN grants AS g ON g.id = c.grant_id WHERE c.hash = ?`

export const accessTokenWithGrant = `SELECT t.hash, t.grant_id, t.created_at, t.expires_at, t.retires, ${grantColumns}
  FROM access_tokens AS t JOIN grants AS g ON g.id = t.grant_id WHERE t.hash = ?`

export const refreshTokenWithGrant = `SELECT t.hash, t.grant_id, t.created_at, t.rotated_at, t.retired_at, ${grantColumns}
  FROM refresh_tokens AS t JOIN grants AS g ON g.id = t.grant_id WHERE t.hash = ?`

/** Whoever gets the row back has redeemed the code; nobody else will. */
export const useCode = `UPDATE codes SET used_at = ? WHERE hash = ? AND used_at IS NULL
    AND EXISTS (SELECT 1 FROM grants WHERE grants.id = codes.grant_id AND revoked_at IS NULL)
  RETURNING hash`

/** A refresh token that may still be used. */
export const livingRefreshToken = `SELECT t.hash FROM refresh_tokens AS t JOIN grants AS g ON g.id = t.grant_id
  WHERE t.hash = ? AND t.retired_at IS NULL AND g.revoked_at IS NULL`

export const rotateRefreshToken = `UPDATE refresh_tokens SET rotated_at = ? WHERE hash = ? AND rotated_at IS NULL`

export const retireRefreshToken = `UPDATE refresh_tokens SET retired_at = ?
  WHERE hash = ? AND rotated_at IS NOT NULL AND retired_at IS NULL`

export const revokeGrant = `UPDATE grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`

export const deleteAccessToken = `DELETE FROM access_tokens WHERE hash = ?`

/** The beginning of an index over the times at which they expire, then one search by key for each. */
export const purgeAccessTokens = `DELETE FROM access_tokens
  WHERE hash IN (SELECT hash FROM access_tokens WHERE expires_at < ? LIMIT ?) RETURNING hash`

/** As for access tokens. Returns the grants of the codes, and whether each was used. */
export const purgeCodes = `DELETE FROM codes WHERE hash IN (SELECT hash FROM codes WHERE expires_at < ? LIMIT ?)
  RETURNING grant_id, used_at`

/** Grants (a JSON list) for which nothing was issued. */
export const deleteGrants = `DELETE FROM grants WHERE id IN (SELECT value FROM json_each(?))`
