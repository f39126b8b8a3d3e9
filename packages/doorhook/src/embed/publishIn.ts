/**
 * Publishing inside the host's own transaction on PostgreSQL, from a client of `pg`.
 */
import { PublishRequest } from "@doorhook/core"
import { Result, Schema } from "effect"
import type { PublishInput, PublishResult } from "./createDoorhook.ts"
import { DoorhookError } from "../DoorhookError.ts"

/** A client of `pg` that has begun a transaction, or what behaves like one. */
export interface TransactionClient {
  readonly query: (text: string, values: Array<unknown>) => Promise<{ readonly rows: ReadonlyArray<unknown> }>
}

const Published = Schema.Struct({ id: Schema.String, deliveries: Schema.Int })
const decode = Schema.decodeUnknownPromise(Schema.Array(Published))

const statement = `SELECT p.id, p.deliveries
  FROM unnest($1::text[]) WITH ORDINALITY AS e (body, place) CROSS JOIN LATERAL doorhook.publish(e.body) AS p
  ORDER BY e.place`

/**
 * Publishes events in the transaction that the client has begun, on the database that doorhook uses: what commits is
 * delivered, what is rolled back was never there. Rejects with the code `invalid_publish` when an event can't be one, and
 * with the database's own error when that refuses.
 */
export const publishIn = async (
  client: TransactionClient,
  events: ReadonlyArray<PublishInput>
): Promise<ReadonlyArray<PublishResult>> => {
  const problems = Result.match(PublishRequest.fromValue(events), {
    onSuccess: () => null,
    onFailure: ({ message }) => message
  })
  if (problems !== null) throw new DoorhookError("invalid_publish", problems, undefined)
  const { rows } = await client.query(statement, [events.map((event) => JSON.stringify(event))])
  return decode(rows)
}
