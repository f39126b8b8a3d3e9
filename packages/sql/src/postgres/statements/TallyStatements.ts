/**
 * Statements on the counts in `tallies`. With a shared counter, transactions would wait for each other, even for a
 * host's open transaction. Instead, each transaction appends a row, and readers add up the rows. Compaction keeps the
 * number of rows small.
 */
import { activeStates, deliveryStates } from "@doorhook/core"
import type { DeliveryState } from "@doorhook/core"
import { allCancellations } from "./CancellationStatements.ts"

/** Name of a count: events, or deliveries in a state. */
export type TallyName = "events" | DeliveryState

/** The columns of the table. */
const tallyNames: ReadonlyArray<TallyName> = ["events", ...deliveryStates]

const columns = tallyNames.join(", ")
const sums = tallyNames.map((name) => `coalesce(sum(${name}), 0)::bigint AS ${name}`).join(", ")

/**
 * SQL that appends a transaction's changes if the clause `from` yields a row. The changes begin at parameter number
 * `first`.
 */
export const addToTalliesIf = (from: string, first: number): string =>
  `INSERT INTO tallies (${columns}) SELECT ${tallyNames.map((_, at) => `$${first + at}::bigint`).join(", ")} ${from}`

/** Appends a transaction's changes. */
export const addToTallies = addToTalliesIf("", 1)

/** The parameters of `addToTallies`. */
export const countsOf = (changes: ReadonlyMap<TallyName, number>): ReadonlyArray<number> =>
  tallyNames.map((name) => changes.get(name) ?? 0)

/**
 * Number of deliveries that cancellations cover but that have not been moved yet, by the state in which they are still
 * counted.
 */
export const ofCancellations = `SELECT q.state, q.count
    FROM (${allCancellations}) AS e CROSS JOIN LATERAL (
      SELECT state, count(*) AS count FROM queue WHERE integration_id = e.integration_id AND id <= e.last_id GROUP BY state
    ) AS q`

const cancelledOf = (name: TallyName): string => {
  if (name === "cancelled") return "m.count"
  return activeStates.some((state) => state === name) ? `CASE WHEN m.state = '${name}' THEN -m.count ELSE 0 END` : "0"
}

/**
 * Returns all counts in one statement, so that a delivery moved at the same time is counted exactly once. Cost: the
 * rows since the last compaction, and one index range per cancellation.
 */
export const deliveryCounts = `SELECT ${sums} FROM (
    SELECT ${columns} FROM tallies
    UNION ALL
    SELECT ${tallyNames.map(cancelledOf).join(", ")} FROM (${ofCancellations}) AS m
  ) AS counted`

/** Minimum number of rows to compact. With fewer rows, compaction costs more than adding up the rows in each read. */
const leastCompacted = 200

/** Maximum number of rows that one statement compacts. */
export const mostCompacted = 2_000

/**
 * Replaces rows by their sum and returns the number of replaced rows. Skips rows that another transaction is
 * compacting.
 */
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
