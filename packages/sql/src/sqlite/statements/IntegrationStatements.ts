/**
 * Statements on integrations. An index over (scope_type, scope_id) finds those of a scope in the order of their ids.
 */
import { integrationColumns } from "../../IntegrationRows.ts"

const columns = integrationColumns.join(", ")
const values = integrationColumns.map(() => "?").join(", ")

/** Appends. Returns the id. */
export const insertIntegration = `INSERT INTO integrations (${columns})
  VALUES (${values}) RETURNING id`

/** One search by id. */
export const integrationById = `SELECT id, ${columns} FROM integrations WHERE id = ?`

/** One search by id each. */
export const integrationsById = `SELECT id, ${columns} FROM integrations WHERE id IN (SELECT value FROM json_each(?))`

/** One range of the index over scopes; what is before the page is stepped over. */
export const pageOfScope = `SELECT id, ${columns} FROM integrations
  WHERE scope_type = ? AND scope_id = ? ORDER BY id LIMIT ? OFFSET ?`

/** One range of the index over scopes; the table is not touched. */
export const countOfScope = `SELECT count(*) AS count FROM integrations WHERE scope_type = ? AND scope_id = ?`

/** Those of some buildings and some tenants (JSON lists). One search in the index over scopes for each. */
export const integrationsOfScopes = `SELECT id, ${columns} FROM integrations
  WHERE (scope_type = 'building' AND scope_id IN (SELECT value FROM json_each(?)))
    OR (scope_type = 'tenant' AND scope_id IN (SELECT value FROM json_each(?)))
  ORDER BY id`

/** One search by id. Returns the id if the version was the expected one. */
export const updateIntegration = `UPDATE integrations SET (${columns}) = (${values})
  WHERE id = ? AND version = ? RETURNING id`

/** One search by id. Returns the id if there was one. */
export const deleteIntegration = `DELETE FROM integrations WHERE id = ? RETURNING id`

/** A sealed signing secret, if there is any. The table is small; this runs once, when the database is opened. */
export const anySealedSecret = `SELECT signing_secret FROM integrations WHERE signing_secret LIKE ? LIMIT 1`
