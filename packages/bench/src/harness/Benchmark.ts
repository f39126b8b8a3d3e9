/**
 * Benchmarks, one per file in `benches`, their options and their results.
 */
import type { Scope } from "effect"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { basename } from "node:path"
import { parseArgs } from "node:util"
import { median, quantile, rounded, spread } from "./Statistics.ts"

/** Options of the command line. */
export interface Options {
  /** Whether to use small sizes, only to check that the benchmark runs. */
  readonly quick: boolean
  /** Number of rounds; null for the benchmark's default. */
  readonly rounds: number | null
  /** Number of settled rows in `growth`, `lists` and `move`, or of due ones in `drain-due`; null for the default. */
  readonly rows: number | null
  /** Events per second and database in `long-life`; null for its default. */
  readonly perSecond: number | null
}

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
}

export interface Benchmark {
  readonly name: string
  /** Summary in one line, for the list of benchmarks. */
  readonly summary: string
  /** The comparison and its conditions. */
  readonly compares: string
  /** Conditions and costs that the benchmark does not measure. */
  readonly leavesOut: string
  /** Why earlier runs missed a goal, and where the time goes. */
  readonly notes?: string
  /** The lines by name, the most important first. A result has the same name as its line. */
  readonly lines: Readonly<Record<string, Line>>
  /** Duration of three rounds on a quiet machine with two cores, in minutes. */
  readonly minutes: number
  readonly run: (options: Options) => Effect.Effect<ReadonlyArray<Finding>, unknown, Scope.Scope>
}

/** The lowest and the highest value of all rounds. */
type Range = readonly [lowest: number, highest: number]

/**
 * A result with medians and ranges, printed as a line of JSON. Values that could not be measured are null.
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
}

const rangeOf = (values: ReadonlyArray<number>): Range | null =>
  values.length === 0 ? null : [rounded(Math.min(...values)), rounded(Math.max(...values))]

const medianOf = (values: ReadonlyArray<number>): number | null =>
  values.length === 0 ? null : rounded(median(values))

const isMet = (goal: Goal, ratio: number): boolean =>
  goal.is === "at least" ? ratio >= goal.ratio : ratio <= goal.ratio

export const resultOf = ({ lines }: Benchmark, { line, more, ours, peer }: Finding): Result => {
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
    ...(more !== undefined && { more })
  }
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
      rounds: { type: "string" },
      rows: { type: "string" },
      "per-second": { type: "string" }
    }
  })
  return {
    quick: values.quick ?? false,
    rounds: countOf("rounds", values.rounds),
    rows: countOf("rows", values.rows),
    perSecond: countOf("per-second", values["per-second"])
  }
}

/** Returns the number of rounds: the requested number, else one with `--quick`, else the default. */
export const roundsOf = ({ quick, rounds }: Options, usual: number): number => rounds ?? (quick ? 1 : usual)

const folder = new URL("../benches/", import.meta.url)

export const benchmarkNames: ReadonlyArray<string> = readdirSync(folder)
  .filter((file) => file.endsWith(".ts"))
  .map((file) => basename(file, ".ts"))
  .toSorted()

export const loadBenchmark = async (name: string): Promise<Benchmark> => {
  const module: { readonly benchmark: Benchmark } = await import(new URL(`${name}.ts`, folder).href)
  return module.benchmark
}

/**
 * Measures latencies alone and beside a disturbance, in turns. Returns a quantile of each round, as the values of a
 * finding. `what` names the disturbance for progress.
 */
export const besideAndAlone = Effect.fnUntraced(function* <E, R>(
  rounds: number,
  share: number,
  what: string,
  alone: Effect.Effect<ReadonlyArray<number>, E, R>,
  beside: Effect.Effect<ReadonlyArray<number>, E, R>
) {
  const values = { ours: Array.of<number>(), peer: Array.of<number>() }
  for (let round = 0; round < rounds; round++) {
    const without = yield* alone
    const latencies = yield* beside
    values.peer.push(quantile(without, share))
    values.ours.push(quantile(latencies, share))
    process.stderr.write(`round ${round + 1}: with ${what} ${spread(latencies)}; without ${spread(without)}\n`)
  }
  return values
})

/** Runs rounds in which the contenders take turns. Returns the answers of each. `format` formats one for progress. */
export const contest = Effect.fnUntraced(function* <Name extends string, A, E, R>(
  contenders: ReadonlyArray<Name>,
  rounds: number,
  play: (name: Name) => Effect.Effect<A, E, R>,
  format: (answer: A) => string
) {
  const answers = new Map<Name, Array<A>>()
  for (let round = 0; round < rounds; round++) {
    for (const name of contenders) {
      const answer = yield* play(name)
      answers.set(name, [...(answers.get(name) ?? []), answer])
      process.stderr.write(`round ${round + 1}: ${name} ${format(answer)}\n`)
    }
  }
  return (name: Name): ReadonlyArray<A> => answers.get(name) ?? []
})
