/**
 * Publishing by hosts on PostgreSQL: the SQL call of `doorhook.publish`, which a host can run with any client, inside
 * the host's own transaction, and advice for when PostgreSQL refuses the call.
 */
import { BeingMoved, Misdirected, rootMessage } from "@doorhook/core"
import type { NewEvent, NotServed } from "@doorhook/core"
import { movedState, movingState, sqlStateOf } from "./StoreFailure.ts"

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

const unknownHere =
  "The database has no doorhook.publish. Start doorhook on this database once, or run `doorhook migrate`, to create it. In tests, `createTestDoorhook({ database })` of doorhook/testing creates it"

/** Query that returns the name of the database user as `role`, quoted for SQL. */
export const currentRole = "SELECT quote_ident(current_user) AS role"

/** Returns the statements that allow a database user to publish. The owner of doorhook's tables must run them. */
const publishGrants = (role: string): string => {
  const calls = ["text", "json", "jsonb"].map((type) => `doorhook.publish(${type}, bigint)`)
  return `GRANT USAGE ON SCHEMA doorhook TO ${role}; GRANT EXECUTE ON FUNCTION ${calls.join(", ")} TO ${role};`
}

const notAllowed = (role: string) =>
  `The database user ${role} may not publish. Run as the user that owns doorhook's tables: ${publishGrants(role)}`

/** Advice by SQLSTATE: schema missing, function missing, permission denied. */
const remedies: ReadonlyMap<string, (role: string) => string> = new Map([
  ["3F000", () => unknownHere],
  ["42883", () => unknownHere],
  ["42501", notAllowed]
])

/** Explains an error and its remedy to an operator; undefined if the database's own message is enough. */
export const publishRemedyFor = (refusal: unknown): ((role: string) => string) | undefined =>
  remedies.get(sqlStateOf(refusal))

/** Returns the refusal of a building that another database serves, or is to serve; undefined for any other refusal. */
export const notServed = (refusal: unknown): NotServed | undefined => {
  switch (sqlStateOf(refusal)) {
    case movingState:
      return new BeingMoved({ message: rootMessage(refusal) })
    case movedState:
      return new Misdirected({ message: rootMessage(refusal) })
    default:
      return undefined
  }
}
