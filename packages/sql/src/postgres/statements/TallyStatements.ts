/**
 * Statements on tallies. A counter that every transaction updates would make them all wait for one another, for as long
 * as a caller's own transaction takes; so they append, and whoever reads adds up. `TallyCompaction` keeps that little.
 */
import { activeStates, deliveryStates } from "@doorhook/core"
import type { DeliveryState } from "@doorhook/core"
import { allCancellations } from "./CancellationStatements.ts"

/** What is counted: events, and deliveries by state. */
export type TallyName = "events" | DeliveryState

/** The columns of the table. */
const tallyNames: ReadonlyArray<TallyName> = ["events", ...deliveryStates]

const columns = tallyNames.join(", ")
const sums = tallyNames.map((name) => `coalesce(sum(${name}), 0)::bigint AS ${name}`).join(", ")

/** Appends what one transaction changed, if a query has a row. The changes are the parameters from a number on. */
export const addToTalliesIf = (from: string, first: number): string =>
  `INSERT INTO tallies (${columns}) SELECT ${tallyNames.map((_, at) => `$${first + at}::bigint`).join(", ")} ${from}`

/** Appends what one transaction changed. */
export const addToTallies = addToTalliesIf("", 1)

/** The parameters of a change. */
export const countsOf = (changes: ReadonlyMap<TallyName, number>): ReadonlyArray<number> =>
  tallyNames.map((name) => changes.get(name) ?? 0)

/** What endings have cancelled already and is not moved yet, by the state that it is still counted in. */
export const ofCancellations = `SELECT q.state, q.count
    FROM (${allCancellations}) AS e CROSS JOIN LATERAL (
      SELECT state, count(*) AS count FROM queue WHERE integration_id = e.integration_id AND id <= e.last_id GROUP BY state
    ) AS q`

const cancelledOf = (name: TallyName): string => {
  if (name === "cancelled") return "m.count"
  return activeStates.some((state) => state === name) ? `CASE WHEN m.state = '${name}' THEN -m.count ELSE 0 END` : "0"
}

/**
 * All counts. Reads what was appended since the last fold, and a range of an index for each ending: in one
 * statement, so that nothing is counted twice, or not at all, while it is moved.
 */
export const deliveryCounts = `SELECT ${sums} FROM (
    SELECT ${columns} FROM tallies
    UNION ALL
    SELECT ${tallyNames.map(cancelledOf).join(", ")} FROM (${ofCancellations}) AS m
  ) AS counted`

/** With fewer rows than these, adding them up anew takes less than folding them. */
const leastCompacted = 200

/** The most rows that are folded in one statement. */
export const mostCompacted = 2_000

/** Makes one row of many, and says of how many. Passes over what another transaction is folding. */
export const compactTallies = `WITH taken AS (
    DELETE FROM tallies
    WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM tallies
      WHERE (SELECT count(*) FROM (SELECT 1 FROM tallies LIMIT ${leastCompacted}) AS enough) = ${leastCompacted}
      LIMIT ${mostCompacted} FOR UPDATE SKIP LOCKED
    ))
    RETURNING ${columns}
  ),
  folded AS (INSERT INTO tallies (${columns}) SELECT ${sums} FROM taken HAVING count(*) > 0)
  SELECT count(*) AS taken FROM taken`
