/**
 * Command-line options of benchmarks.
 */
import { parseArgs } from "node:util"

export interface Options {
  /** Whether to use small sizes, only to check that the benchmark runs. */
  readonly quick: boolean
  /** Whether to show where the engine spends its time, instead of comparing it with a peer. */
  readonly profile: boolean
  /** Number of rounds; null for the benchmark's default. */
  readonly rounds: number | null
  /** Number of settled rows that `growth` begins with; null for its default. */
  readonly rows: number | null
}

const countOf = (name: string, text: string | undefined): number | null => {
  if (text === undefined) return null
  const count = Number(text)
  if (!(Number.isInteger(count) && count > 0)) {
    throw new TypeError(`--${name}: ${JSON.stringify(text)} is not a whole number above 0`)
  }
  return count
}

/** Parses options. Throws an error that says what is accepted. */
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

/** Returns the number of rounds: the requested number, else one with `--quick`, else the default. */
export const roundsOf = ({ quick, rounds }: Options, usual: number): number => rounds ?? (quick ? 1 : usual)
