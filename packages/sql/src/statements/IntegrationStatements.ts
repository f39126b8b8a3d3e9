/**
 * Statements on integrations. An index on (scope_type, scope_id) lists the integrations of a scope in order of id.
 */
import { FailureState } from "@doorhook/core"
import type { Dialect } from "../Dialect.ts"
import { integrationColumns } from "../IntegrationRows.ts"

const columns = integrationColumns.join(", ")
const values = integrationColumns.map(() => "?").join(", ")

export const integrationStatements = ({ isKey, isOneOfIds, tellChange, text }: Dialect) => ({
  /** Returns the new id. */
  insert: text(`INSERT INTO integrations (${columns}) VALUES (${values}) RETURNING id`),

  /** Cost: one search by id. */
  byId: text(`SELECT id, ${columns} FROM integrations WHERE ${isKey("id")}`),

  /** The columns that a deletion reads. Cost: one search by id. */
  locate: text(`SELECT id, scope_type, scope_id, created_by_client, version FROM integrations WHERE id = ?`),

  /** Cost: one search by id per row. */
  byIds: text(`SELECT id, ${columns} FROM integrations WHERE ${isOneOfIds("id")}`),

  /** Cost: one range of the index on scopes, up to the end of the page. */
  pageOfScope: text(`SELECT id, ${columns} FROM integrations
    WHERE scope_type = ? AND scope_id = ? ORDER BY id LIMIT ? OFFSET ?`),

  /** Cost: one range of the index on scopes. */
  countOfScope: text(`SELECT count(*) AS count FROM integrations WHERE scope_type = ? AND scope_id = ?`),

  /** With a grant: the number of subscriptions of a scope; without: of its other integrations. Cost: the scope's rows. */
  countOfKind: text(`SELECT count(*) AS count FROM integrations
    WHERE scope_type = ? AND scope_id = ? AND (grant_id IS NULL) = (CAST(? AS text) IS NULL)`),

  /** The integrations of a scope that one client created. Cost: one range of the index on scopes. */
  pageOfClient: text(`SELECT id, ${columns} FROM integrations
    WHERE scope_type = ? AND scope_id = ? AND created_by_client = ? ORDER BY id LIMIT ? OFFSET ?`),
  countOfClient: text(`SELECT count(*) AS count FROM integrations
    WHERE scope_type = ? AND scope_id = ? AND created_by_client = ?`),

  /** The integrations of some buildings and tenants. Cost: one search in the index on scopes per scope. */
  findByScopes:
    text(`SELECT id, ${columns} FROM integrations WHERE scope_type = 'building' AND ${isOneOfIds("scope_id")}
    UNION ALL
    SELECT id, ${columns} FROM integrations WHERE scope_type = 'tenant' AND ${isOneOfIds("scope_id")}
    ORDER BY id`),

  /** Cost: one search by id. Returns the id if the version matched. */
  update: text(`UPDATE integrations SET (${columns}) = (${values}) WHERE id = ? AND version = ?
    RETURNING id${tellChange}`),

  /** Disables an enabled integration. Cost: one search by id. Returns the id if it was enabled. */
  disable: text(`UPDATE integrations SET status = 'disabled', disabled_reason = ?, version = version + 1, updated_at = ?
    WHERE id = ? AND status = 'enabled' RETURNING id${tellChange}`),

  /** Enables a disabled integration. Cost: one search by id. Returns the id if it was disabled. */
  enable:
    text(`UPDATE integrations SET status = 'enabled', disabled_reason = NULL, version = version + 1, updated_at = ?
    WHERE id = ? AND status = 'disabled' RETURNING id${tellChange}`),

  /** Sets the failure state. Cost: one search by id. */
  setFailing: text(`UPDATE integrations
    SET failing_since = ?, failing_noticed = ?, failing_attempts = ?, failing_retry_after = ? WHERE id = ?`),

  /**
   * Failing integrations for which a further warning is due. Parameters: for each warning, the latest `failing_since`
   * for which it is due; then the maximum number of rows. Cost: a scan of the table in order of id.
   */
  dueWarnings:
    text(`SELECT id FROM integrations WHERE id > 0 AND status = 'enabled' AND failing_since <= CASE failing_noticed
    ${FailureState.warningThresholds.map((_, times) => `WHEN ${times} THEN CAST(? AS bigint)`).join(" ")} END ORDER BY id LIMIT ?`),

  /** The columns that settlements read. Cost: one search by id per row. */
  subjects:
    text(`SELECT id, scope_type, scope_id, status, disabled_reason, failing_since, failing_noticed, failing_attempts,
      failing_retry_after
    FROM integrations WHERE ${isOneOfIds("id")} ORDER BY id`),

  /** Cost: one search by id. Returns the id if the version matched. */
  remove: text(`DELETE FROM integrations WHERE id = ? AND version = ? RETURNING id${tellChange}`),

  /** Lists all integrations after an id. Cost: a scan of the table in order of id. */
  survey: text(`SELECT id, ${columns} FROM integrations WHERE id > ? ORDER BY id LIMIT ?`),
  surveyOfStatus: text(`SELECT id, ${columns} FROM integrations WHERE id > ? AND status = ? ORDER BY id LIMIT ?`),
  listUnhealthy: text(`SELECT id, ${columns} FROM integrations
    WHERE id > ? AND (failing_since IS NOT NULL OR disabled_reason <> 'manual') ORDER BY id LIMIT ?`),

  /** The subscriptions after a grant and an id. Cost: a range of an index that has no other integrations. */
  subscriptions: text(`SELECT id, ${columns} FROM integrations
    WHERE grant_id IS NOT NULL AND (grant_id, id) > (?, ?) ORDER BY grant_id, id LIMIT ?`),

  /** A few sealed signing secrets. Cost: a scan of the small table, once when the database is opened or inspected. */
  someSealedSecrets: text(`SELECT signing_secret AS sealed FROM integrations WHERE signing_secret LIKE ? LIMIT 10`)
})
