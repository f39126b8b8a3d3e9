/**
 * Statements on integrations, in every dialect. An index over (scope_type, scope_id) finds those of a scope in the order
 * of their ids.
 */
import { FailureState } from "@doorhook/core"
import type { Dialect } from "../Dialect.ts"
import { integrationColumns } from "../IntegrationRows.ts"

const columns = integrationColumns.join(", ")
const values = integrationColumns.map(() => "?").join(", ")

export const integrationStatements = ({ isOneOfIds, tellChange, text }: Dialect) => ({
  /** Appends. Returns the id. */
  insert: text(`INSERT INTO integrations (${columns}) VALUES (${values}) RETURNING id`),

  /** One search by id. */
  byId: text(`SELECT id, ${columns} FROM integrations WHERE id = ?`),

  /** What deleting one asks of it. As above. */
  locate: text(`SELECT id, scope_type, scope_id, created_by_client, version FROM integrations WHERE id = ?`),

  /** Those of some ids. One search by id each. */
  byIds: text(`SELECT id, ${columns} FROM integrations WHERE ${isOneOfIds("id")}`),

  /** One range of the index over scopes; what is before the page is stepped over. */
  pageOfScope: text(`SELECT id, ${columns} FROM integrations
    WHERE scope_type = ? AND scope_id = ? ORDER BY id LIMIT ? OFFSET ?`),

  /** One range of the index over scopes. */
  countOfScope: text(`SELECT count(*) AS count FROM integrations WHERE scope_type = ? AND scope_id = ?`),

  /** As above, of those that one client created. */
  pageOfClient: text(`SELECT id, ${columns} FROM integrations
    WHERE scope_type = ? AND scope_id = ? AND created_by_client = ? ORDER BY id LIMIT ? OFFSET ?`),
  countOfClient: text(`SELECT count(*) AS count FROM integrations
    WHERE scope_type = ? AND scope_id = ? AND created_by_client = ?`),

  /** Those of some buildings and some tenants. One search in the index over scopes for each. */
  findByScopes:
    text(`SELECT id, ${columns} FROM integrations WHERE scope_type = 'building' AND ${isOneOfIds("scope_id")}
    UNION ALL
    SELECT id, ${columns} FROM integrations WHERE scope_type = 'tenant' AND ${isOneOfIds("scope_id")}
    ORDER BY id`),

  /** One search by id. Returns the id if the version was the expected one. */
  update: text(`UPDATE integrations SET (${columns}) = (${values}) WHERE id = ? AND version = ?
    RETURNING id${tellChange}`),

  /** Disables one that is enabled. One search by id. Returns its id if it was. */
  disable: text(`UPDATE integrations SET status = 'disabled', disabled_reason = ?, version = version + 1, updated_at = ?
    WHERE id = ? AND status = 'enabled' RETURNING id${tellChange}`),

  /** Enables one that is disabled. As above. */
  enable:
    text(`UPDATE integrations SET status = 'enabled', disabled_reason = NULL, version = version + 1, updated_at = ?
    WHERE id = ? AND status = 'disabled' RETURNING id${tellChange}`),

  /** Notes how one fails. One search by id. */
  setFailing: text(`UPDATE integrations
    SET failing_since = ?, failing_noticed = ?, failing_attempts = ?, failing_retry_after = ? WHERE id = ?`),

  /**
   * Those that fail and were not told of as often as they should be, by the latest times since when they fail. Walks the
   * table in the order of ids, like a survey.
   */
  dueWarnings:
    text(`SELECT id FROM integrations WHERE id > 0 AND status = 'enabled' AND failing_since <= CASE failing_noticed
    ${FailureState.warningThresholds.map((_, times) => `WHEN ${times} THEN CAST(? AS bigint)`).join(" ")} END ORDER BY id LIMIT ?`),

  /** What settlements look at of some. One search by id each. */
  subjects:
    text(`SELECT id, scope_type, scope_id, status, disabled_reason, failing_since, failing_noticed, failing_attempts,
      failing_retry_after
    FROM integrations WHERE ${isOneOfIds("id")} ORDER BY id`),

  /** One search by id. Returns the id if there was one. */
  remove: text(`DELETE FROM integrations WHERE id = ? AND version = ? RETURNING id${tellChange}`),

  /** Walks the table in the order of ids. */
  survey: text(`SELECT id, ${columns} FROM integrations WHERE id > ? ORDER BY id LIMIT ?`),
  surveyOfStatus: text(`SELECT id, ${columns} FROM integrations WHERE id > ? AND status = ? ORDER BY id LIMIT ?`),
  listUnhealthy: text(`SELECT id, ${columns} FROM integrations
    WHERE id > ? AND (failing_since IS NOT NULL OR disabled_reason <> 'manual') ORDER BY id LIMIT ?`),

  /** Some sealed signing secrets, if there are any. The table is small; this runs once, when the database is opened. */
  someSealedSecrets: text(`SELECT signing_secret FROM integrations WHERE signing_secret LIKE ? LIMIT 10`)
})
