/**
 * The SQL call of `doorhook.publish` on PostgreSQL. A host can run the call with any client, inside the host's own
 * transaction.
 */
import type { NewEvent } from "@doorhook/core"

/**
 * Returns an event as JSON for `doorhook.publish`. Other members of the host's object are left out, because they might
 * not be serializable.
 */
const textOf = ({ action, building_id, data, resource_type, tenant_ids }: NewEvent): string =>
  `${JSON.stringify({ resource_type, action, building_id, tenant_ids }).slice(0, -1)},"data":${data}}`

/**
 * Turns `synchronous_commit` on for the transaction if it is off in the session. COMMIT then waits for the server's
 * disk.
 */
const durable = `SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
    THEN set_config('synchronous_commit', 'on', true) END AS durable`

/**
 * Returns a statement that publishes events in order, with its parameters. The statement returns `id` and `deliveries`
 * of each event. The events get the server's time.
 */
export const publishCall = (
  events: ReadonlyArray<NewEvent>
): { readonly text: string; readonly values: Array<unknown> } => ({
  text: `WITH d AS MATERIALIZED (${durable})
  SELECT p.id, p.deliveries
  FROM d CROSS JOIN unnest($1::text[]) WITH ORDINALITY AS e (body, place)
  CROSS JOIN LATERAL doorhook.publish(e.body) AS p
  ORDER BY e.place`,
  values: [events.map(textOf)]
})
