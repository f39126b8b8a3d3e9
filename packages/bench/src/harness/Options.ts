/**
 * What can be asked of a benchmark on the command line.
 */
import { parseArgs } from "node:util"

export interface Options {
  /** Small sizes: whether it runs at all, not how fast. */
  readonly quick: boolean
  /** Shows where the engine spends its time, instead of comparing it. */
  readonly profile: boolean
  /** How many rounds; null for as many as the benchmark thinks right. */
  readonly rounds: number | null
  /** How many settled rows `growth` begins with; null for its own number. */
  readonly rows: number | null
}

const countOf = (name: string, text: string | undefined): number | null => {
  if (text === undefined) return null
  const count = Number(text)
  if (!(Number.isInteger(count) && count > 0)) {
    throw new TypeError(`--${name}: ${JSON.stringify(text)} is no whole number above 0`)
  }
  return count
}

/** Reads them. Throws an error that says what is accepted. */
export const readOptions = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean" },
      profile: { type: "boolean" },
      rounds: { type: "string" },
      rows: { type: "string" }
    }
  })
  return {
    quick: values.quick ?? false,
    profile: values.profile ?? false,
    rounds: countOf("rounds", values.rounds),
    rows: countOf("rows", values.rows)
  }
}

/** How many rounds to run: what was asked for, one when it must be quick, otherwise so many. */
export const roundsOf = ({ quick, rounds }: Options, usual: number): number => rounds ?? (quick ? 1 : usual)
