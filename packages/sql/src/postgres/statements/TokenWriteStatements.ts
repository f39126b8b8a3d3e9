/**
 * Statements that issue tokens on PostgreSQL.
 */

/**
 * Redeems a code and stores the tokens issued for it. A code can be redeemed only once. Cost: one search by primary key
 * in each table.
 */
export const redeemCode = `WITH used AS (
    UPDATE codes SET used_at = $1::bigint WHERE hash = $2::text AND used_at IS NULL
      AND (SELECT revoked_at IS NULL FROM grants WHERE grants.id = codes.grant_id)
    RETURNING grant_id
  ), access AS (
    INSERT INTO access_tokens (grant_id, hash, created_at, expires_at, scope, retires)
    SELECT grant_id, $3::text, $4::bigint, $5::bigint, $6::text, $7::text FROM used RETURNING seq
  ), refresh AS (
    INSERT INTO refresh_tokens (hash, grant_id, created_at)
    SELECT $8::text, grant_id, $9::bigint FROM used WHERE $8::text IS NOT NULL
  )
  SELECT seq FROM access`

/** Calls the function `refresh_access` (`migrations/0001_Tables`). */
export const refreshAccess = `SELECT refresh_access($1::text, $2::bigint, $3::integer, $4::text, $5::bigint, $6::bigint,
    $7::text, $8::text, $9::text, $10::bigint) AS seq`
