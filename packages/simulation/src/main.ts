/**
 * Runs simulations from the command line. `npm run simulate:seeds -- 10000` runs the seeds 1 to 10000. `--from N`
 * starts at seed N, and `--seed N` runs seed N alone. `--week` simulates a week under the service's own settings
 * instead of a few minutes with many faults. `--store sqlite` gives each seed a file instead of one in-memory store
 * that its processes share.
 *
 * Exits with 1 if a check fails and with 3 for invalid arguments.
 */
import { parseArgs } from "node:util"
import { describeFailures, judge } from "./checks/Checks.ts"
import { hashOf } from "./History.ts"
import { simulate } from "./Actors.ts"
import { weekOf } from "./world/Scenario.ts"
import { sharedMemory, sqliteFiles } from "./world/Storage.ts"

const usage =
  "Usage: npm run simulate:seeds -- [COUNT] [--from N] [--week] [--store memory|sqlite], or --seed N for seed N alone"

/** Exits with an error message about the command line. */
const refuse = (what: string): never => {
  process.stderr.write(`${what}. ${usage}\n`)
  return process.exit(3)
}

const readArguments = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        seed: { type: "string" },
        from: { type: "string" },
        store: { type: "string", default: sharedMemory.name },
        week: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false }
      }
    })
  } catch (error) {
    // Keeps only the first sentence, because the others explain how to pass values that look like options.
    return refuse(error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error))
  }
}

const { positionals, values } = readArguments()
if (values.help) {
  process.stdout.write(`${usage}\n`)
  process.exit(0)
}

/** Parses a whole number from the command line. */
const wholeNumber = (text: string): number =>
  /^\d{1,15}$/.test(text) ? Number(text) : refuse(`${text} is not a whole number`)

const [given, more] = positionals
if (more !== undefined) refuse(`Unexpected argument ${more} after the number of seeds`)
if (values.seed !== undefined && (given !== undefined || values.from !== undefined))
  refuse(`--seed ${values.seed} runs a single seed: leave out ${given ?? `--from ${values.from}`}`)
const single = values.seed === undefined ? null : wholeNumber(values.seed)
const from = single ?? wholeNumber(values.from ?? "1")
const count = single === null ? wholeNumber(given ?? "1000") : 1
const storage =
  [sharedMemory, sqliteFiles()].find(({ name }) => name === values.store) ?? refuse(`${values.store} is not a store`)
/** Options that a replay needs besides the seed. */
const options = `${values.week ? " --week" : ""}${storage === sharedMemory ? "" : ` --store ${storage.name}`}`
/** Number of failing seeds after which the run stops. */
const enough = 20

const startedAt = performance.now()
const broken = new Map<string, Array<number>>()
let failing = 0
let ran = 0

const progress = (): string =>
  `${ran}/${count} seeds, ${(ran / ((performance.now() - startedAt) / 1_000)).toFixed(1)}/s, ${failing} failing`

for (let seed = from; seed < from + count && failing < enough; seed++) {
  const outcome = simulate(seed, { storage, draw: values.week ? weekOf : undefined })
  const failures = judge(outcome)
  ran++
  if (single !== null) {
    process.stdout.write(`seed ${seed}: ${outcome.entries.length} entries, history ${hashOf(outcome.entries)}\n`)
  }
  if (failures.length > 0) {
    failing++
    for (const { check } of failures) broken.set(check.name, [...(broken.get(check.name) ?? []), seed])
    process.stdout.write(`\n${describeFailures(seed, outcome, failures, options)}\n`)
  }
  if (process.stderr.isTTY) process.stderr.write(`\r${progress()}`)
  else if (ran % 100 === 0) process.stderr.write(`${progress()}\n`)
}

process.stdout.write(`\n${progress()}\n`)
for (const [name, seeds] of broken) process.stdout.write(`${name}: seeds ${seeds.join(", ")}\n`)
process.exitCode = failing > 0 ? 1 : 0
