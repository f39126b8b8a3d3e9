/**
 * What can be asked of a benchmark on the command line.
 */
import { parseArgs } from "node:util"

export interface Options {
  /** Small sizes: whether it runs at all, not how fast. */
  readonly quick: boolean
  /** Shows where the engine spends its time, instead of comparing it. */
  readonly profile: boolean
  /** How many settled rows `growth` begins with. */
  readonly rows: number | null
}

/** Reads them. Throws an error that says what is accepted. */
export const readOptions = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: { quick: { type: "boolean" }, profile: { type: "boolean" }, rows: { type: "string" } }
  })
  const rows = values.rows === undefined ? null : Number(values.rows)
  if (rows !== null && !(Number.isInteger(rows) && rows > 0)) {
    throw new TypeError(`--rows: ${JSON.stringify(values.rows)} is no whole number above 0`)
  }
  return { quick: values.quick ?? false, profile: values.profile ?? false, rows }
}
