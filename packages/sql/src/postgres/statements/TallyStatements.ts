/**
 * Statements on counts. If every transaction updated one counter, all would wait for each other, even for a host's open
 * transaction. So each appends a row, and readers add the rows up. Compaction keeps their number small.
 */
import { activeStates, deliveryStates } from "@doorhook/core"
import type { DeliveryState } from "@doorhook/core"
import { allCancellations } from "./CancellationStatements.ts"

/** The counts: events, and deliveries by state. */
export type TallyName = "events" | DeliveryState

/** The columns of the table. */
const tallyNames: ReadonlyArray<TallyName> = ["events", ...deliveryStates]

const columns = tallyNames.join(", ")
const sums = tallyNames.map((name) => `coalesce(sum(${name}), 0)::bigint AS ${name}`).join(", ")

/** Appends a transaction's changes if the query `from` has a row. The first change is parameter number `first`. */
export const addToTalliesIf = (from: string, first: number): string =>
  `INSERT INTO tallies (${columns}) SELECT ${tallyNames.map((_, at) => `$${first + at}::bigint`).join(", ")} ${from}`

/** Appends a transaction's changes. */
export const addToTallies = addToTalliesIf("", 1)

/** The parameters of `addToTallies`. */
export const countsOf = (changes: ReadonlyMap<TallyName, number>): ReadonlyArray<number> =>
  tallyNames.map((name) => changes.get(name) ?? 0)

/** Deliveries that an ending covers and that are not moved yet, by the state they are still counted in. */
export const ofCancellations = `SELECT q.state, q.count
    FROM (${allCancellations}) AS e CROSS JOIN LATERAL (
      SELECT state, count(*) AS count FROM queue WHERE integration_id = e.integration_id AND id <= e.last_id GROUP BY state
    ) AS q`

const cancelledOf = (name: TallyName): string => {
  if (name === "cancelled") return "m.count"
  return activeStates.some((state) => state === name) ? `CASE WHEN m.state = '${name}' THEN -m.count ELSE 0 END` : "0"
}

/**
 * All counts. Reads the rows since the last compaction, and an index range for each ending. One statement, so that a
 * delivery moved at the same time is counted exactly once.
 */
export const deliveryCounts = `SELECT ${sums} FROM (
    SELECT ${columns} FROM tallies
    UNION ALL
    SELECT ${tallyNames.map(cancelledOf).join(", ")} FROM (${ofCancellations}) AS m
  ) AS counted`

/** With fewer rows, compaction costs more than adding them up on each read. */
const leastCompacted = 200

/** How many rows one statement compacts at most. */
export const mostCompacted = 2_000

/** Replaces rows by their sum and returns how many. Skips rows that another transaction is compacting. */
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
