/**
 * Statements on tallies. A counter that every transaction updates would make them all wait for one another, for as long
 * as a caller's own transaction takes; so they append, and whoever reads adds up.
 */
import { deliveryStates } from "@doorhook/core"
import type { TallyName } from "../../DeliveryTables.ts"

/** The columns of the table. */
export const tallyNames: ReadonlyArray<TallyName> = ["events", ...deliveryStates]

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

/** All counts. Reads a few hundred rows for each process that writes. */
export const tallies = `SELECT ${sums} FROM tallies`

/** Makes one row of many. Passes over what another transaction is folding. */
export const foldTallies = `WITH taken AS (
    DELETE FROM tallies
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM tallies LIMIT 2000 FOR UPDATE SKIP LOCKED))
    RETURNING ${columns}
  )
  INSERT INTO tallies (${columns}) SELECT ${sums} FROM taken HAVING count(*) > 0`
