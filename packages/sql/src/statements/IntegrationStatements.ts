/**
 * Statements on integrations. An index over (scope_type, scope_id) finds the integrations of a scope in order of id.
 */
import { FailureState } from "@doorhook/core"
import type { Dialect } from "../Dialect.ts"
import { integrationColumns } from "../IntegrationRows.ts"

const columns = integrationColumns.join(", ")
const values = integrationColumns.map(() => "?").join(", ")

export const integrationStatements = ({ isOneOfIds, tellChange, text }: Dialect) => ({
  /** Returns the new id. */
  insert: text(`INSERT INTO integrations (${columns}) VALUES (${values}) RETURNING id`),

  /** One search by id. */
  byId: text(`SELECT id, ${columns} FROM integrations WHERE id = ?`),

  /** The columns that a deletion reads. One search by id. */
  locate: text(`SELECT id, scope_type, scope_id, created_by_client, version FROM integrations WHERE id = ?`),

  /** One search by id each. */
  byIds: text(`SELECT id, ${columns} FROM integrations WHERE ${isOneOfIds("id")}`),

  /** One range of the index over scopes. Skips the entries before the page. */
  pageOfScope: text(`SELECT id, ${columns} FROM integrations
    WHERE scope_type = ? AND scope_id = ? ORDER BY id LIMIT ? OFFSET ?`),

  /** One range of the index over scopes. */
  countOfScope: text(`SELECT count(*) AS count FROM integrations WHERE scope_type = ? AND scope_id = ?`),

  /** The same for the integrations that one client created. */
  pageOfClient: text(`SELECT id, ${columns} FROM integrations
    WHERE scope_type = ? AND scope_id = ? AND created_by_client = ? ORDER BY id LIMIT ? OFFSET ?`),
  countOfClient: text(`SELECT count(*) AS count FROM integrations
    WHERE scope_type = ? AND scope_id = ? AND created_by_client = ?`),

  /** The integrations of some buildings and tenants. One search in the index over scopes for each. */
  findByScopes:
    text(`SELECT id, ${columns} FROM integrations WHERE scope_type = 'building' AND ${isOneOfIds("scope_id")}
    UNION ALL
    SELECT id, ${columns} FROM integrations WHERE scope_type = 'tenant' AND ${isOneOfIds("scope_id")}
    ORDER BY id`),

  /** One search by id. Returns the id if the version matched. */
  update: text(`UPDATE integrations SET (${columns}) = (${values}) WHERE id = ? AND version = ?
    RETURNING id${tellChange}`),

  /** Disables an enabled integration. One search by id. Returns the id if it was enabled. */
  disable: text(`UPDATE integrations SET status = 'disabled', disabled_reason = ?, version = version + 1, updated_at = ?
    WHERE id = ? AND status = 'enabled' RETURNING id${tellChange}`),

  /** Enables a disabled integration. As above. */
  enable:
    text(`UPDATE integrations SET status = 'enabled', disabled_reason = NULL, version = version + 1, updated_at = ?
    WHERE id = ? AND status = 'disabled' RETURNING id${tellChange}`),

  /** Sets the failure state. One search by id. */
  setFailing: text(`UPDATE integrations
    SET failing_since = ?, failing_noticed = ?, failing_attempts = ?, failing_retry_after = ? WHERE id = ?`),

  /**
   * Failing integrations with fewer warnings than are due. The parameters are the latest times of `failing_since` for each
   * warning. Scans the table in order of id, like `survey`.
   */
  dueWarnings:
    text(`SELECT id FROM integrations WHERE id > 0 AND status = 'enabled' AND failing_since <= CASE failing_noticed
    ${FailureState.warningThresholds.map((_, times) => `WHEN ${times} THEN CAST(? AS bigint)`).join(" ")} END ORDER BY id LIMIT ?`),

  /** The columns that settlements read. One search by id each. */
  subjects:
    text(`SELECT id, scope_type, scope_id, status, disabled_reason, failing_since, failing_noticed, failing_attempts,
      failing_retry_after
    FROM integrations WHERE ${isOneOfIds("id")} ORDER BY id`),

  /** One search by id. Returns the id if the version matched. */
  remove: text(`DELETE FROM integrations WHERE id = ? AND version = ? RETURNING id${tellChange}`),

  /** Scans the table in order of id. */
  survey: text(`SELECT id, ${columns} FROM integrations WHERE id > ? ORDER BY id LIMIT ?`),
  surveyOfStatus: text(`SELECT id, ${columns} FROM integrations WHERE id > ? AND status = ? ORDER BY id LIMIT ?`),
  listUnhealthy: text(`SELECT id, ${columns} FROM integrations
    WHERE id > ? AND (failing_since IS NOT NULL OR disabled_reason <> 'manual') ORDER BY id LIMIT ?`),

  /** Some sealed signing secrets. Scans the table, which is small, once when the database is opened. */
  someSealedSecrets: text(`SELECT signing_secret FROM integrations WHERE signing_secret LIKE ? LIMIT 10`)
})
