/**
 * The call of `doorhook.publish` in PostgreSQL, for whatever client makes it inside the host's transaction.
 */
import type { NewEvent } from "@doorhook/core"

/** An event as the function reads it. What else the host gave with it is left out, and may be beyond JSON. */
const textOf = ({ action, building_id, data, resource_type, tenant_ids }: NewEvent): string =>
  `${JSON.stringify({ resource_type, action, building_id, tenant_ids }).slice(0, -1)},"data":${data}}`

/** Has the transaction on the server's disk when its COMMIT is answered, where the session would not wait for that. */
const durable = `SELECT CASE WHEN current_setting('synchronous_commit') = 'off'
    THEN set_config('synchronous_commit', 'on', true) END AS durable`

/**
 * A statement that publishes events, in their order, with the values of its parameters. It answers `id` and `deliveries` of
 * each. `now` is in milliseconds since the epoch; without it the server's clock says when.
 */
export const publishCall = (
  events: ReadonlyArray<NewEvent>,
  now?: number
): { readonly text: string; readonly values: Array<unknown> } => ({
  text: `WITH d AS MATERIALIZED (${durable})
  SELECT p.id, p.deliveries
  FROM d CROSS JOIN unnest($1::text[]) WITH ORDINALITY AS e (body, place)
  CROSS JOIN LATERAL doorhook.publish(e.body${now === undefined ? "" : ", $2::bigint"}) AS p
  ORDER BY e.place`,
  values: now === undefined ? [events.map(textOf)] : [events.map(textOf), now]
})
