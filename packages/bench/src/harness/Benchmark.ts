/**
 * Types of benchmarks and results.
 */
import type { Effect, Scope } from "effect"
import type { Options } from "./Options.ts"
import { median, rounded } from "./Statistics.ts"

/** The required ratio. */
interface Goal {
  readonly is: "at least" | "at most"
  readonly ratio: number
}

/** One comparison in a benchmark's output. */
interface Line {
  /** Labels of doorhook's values (`ours`) and of the values of the program it is compared with (`peer`). */
  readonly ours: string
  readonly peer: string
  readonly unit: string
  /** Which value is divided by which. Default: "ours to peer". */
  readonly ratioOf?: "ours to peer" | "peer to ours"
  /** The goal of the ratio; null for none. */
  readonly goal: Goal | null
}

/** The measured values of a line, one per round. */
export interface Finding {
  readonly line: string
  readonly ours: ReadonlyArray<number>
  readonly peer: ReadonlyArray<number>
  /** Further figures, with units in their names. */
  readonly more?: Readonly<Record<string, number | string>>
  /** The peer's error message, if it failed and therefore has no values. */
  readonly failed?: string
}

export interface Benchmark {
  readonly name: string
  /** Summary in one line, for the list of benchmarks. */
  readonly summary: string
  /** The comparison and its conditions. */
  readonly compares: string
  /** Conditions and costs that the benchmark does not measure. */
  readonly leavesOut: string
  /** The lines by name, the most important first. A result has the same name as its line. */
  readonly lines: Readonly<Record<string, Line>>
  /** Duration of three rounds on a quiet machine with two cores, in minutes. */
  readonly minutes: number
  /** Whether the benchmark supports `--profile`. Default: no. */
  readonly canProfile?: true
  readonly run: (options: Options) => Effect.Effect<ReadonlyArray<Finding>, unknown, Scope.Scope>
}

/** The lowest and the highest value of all rounds. */
type Range = readonly [lowest: number, highest: number]

/**
 * A result with medians and ranges, printed as a line of JSON. Values that could not be measured are null, and `failed`
 * says why.
 */
export interface Result {
  readonly name: string
  readonly ours: number | null
  readonly peer: number | null
  /** Median of the rounds' ratios. */
  readonly ratio: number | null
  readonly goal: number | null
  readonly goal_is: Goal["is"] | null
  readonly met: boolean | null
  readonly unit: string
  readonly rounds: number
  readonly ours_range: Range | null
  readonly peer_range: Range | null
  readonly ratio_range: Range | null
  readonly more?: Readonly<Record<string, number | string>>
  readonly failed?: string
}

const rangeOf = (values: ReadonlyArray<number>): Range | null =>
  values.length === 0 ? null : [rounded(Math.min(...values)), rounded(Math.max(...values))]

const medianOf = (values: ReadonlyArray<number>): number | null =>
  values.length === 0 ? null : rounded(median(values))

const isMet = (goal: Goal, ratio: number): boolean =>
  goal.is === "at least" ? ratio >= goal.ratio : ratio <= goal.ratio

export const resultOf = ({ lines }: Benchmark, { failed, line, more, ours, peer }: Finding): Result => {
  const { goal = null, ratioOf = "ours to peer", unit = "" } = lines[line] ?? {}
  const ratios = ours.flatMap((value, round) => {
    const other = peer[round]
    if (other === undefined) return []
    return ratioOf === "ours to peer" ? value / other : other / value
  })
  const ratio = medianOf(ratios)
  return {
    name: line,
    ours: medianOf(ours),
    peer: medianOf(peer),
    ratio,
    goal: goal?.ratio ?? null,
    goal_is: goal?.is ?? null,
    met: goal === null || ratio === null ? null : isMet(goal, ratio),
    unit,
    rounds: ours.length,
    ours_range: rangeOf(ours),
    peer_range: rangeOf(peer),
    ratio_range: rangeOf(ratios),
    ...(more !== undefined && { more }),
    ...(failed !== undefined && { failed })
  }
}
