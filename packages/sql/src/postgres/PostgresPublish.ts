/**
 * Publishing inside the caller's own transaction, through Effect SQL: with `sql.withTransaction` around it, what the host
 * writes and what doorhook delivers are stored together or not at all.
 *
 * The client may be the host's own, on the same database. Without Effect, any client calls `doorhook.publish(event)`
 * (`migrations/PublishFunction`).
 */
import type { NewEvent } from "@doorhook/core"
import { EventId } from "@doorhook/core"
import { Clock, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { failAs } from "../StoreFailure.ts"

const statement = `SELECT p.id, p.deliveries
  FROM unnest($1::text[]) WITH ORDINALITY AS e (body, place) CROSS JOIN LATERAL doorhook.publish(e.body, $2::bigint) AS p
  ORDER BY e.place`

const textOf = ({ action, building_id, data, resource_type, tenant_ids }: NewEvent): string =>
  `${JSON.stringify({ resource_type, action, building_id, tenant_ids }).slice(0, -1)},"data":${data}}`

const decode = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ id: EventId, deliveries: Schema.Int })))

/** Stores events with their deliveries; answers the id of each, and to how many integrations it goes. */
export const publish = Effect.fnUntraced(function* (events: ReadonlyArray<NewEvent>) {
  if (events.length === 0) return []
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  return yield* decode(yield* sql.unsafe(statement, [events.map(textOf), now]))
}, failAs("publish"))
