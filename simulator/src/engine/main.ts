/**
 * `npm run simulate:seeds -- 10000` runs that many seeds, `-- 10000 --from 1` from one on, `-- --seed N` a single one;
 * with `--week` a week of each under the service's own settings, instead of minutes that are made for trouble. Exits with 1 when a rule was broken.
 */
import { parseArgs } from "node:util"
import { judge } from "./checks/All.ts"
import { hashOf } from "./History.ts"
import { describeFailures } from "./Report.ts"
import { simulate } from "./Simulation.ts"
import { scenarioOf } from "./world/Scenario.ts"
import { weekOf } from "./world/Week.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, from: { type: "string" }, week: { type: "boolean", default: false } }
})

/** A whole number from the command line; ends the process when it is none. */
const wholeNumber = (text: string): number => {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  process.stderr.write(
    `${text} is not a whole number. Usage: npm run simulate:seeds -- [COUNT] [--from N] [--seed N] [--week]\n`
  )
  return process.exit(3)
}

const single = values.seed === undefined ? null : wholeNumber(values.seed)
const from = single ?? wholeNumber(values.from ?? "1")
const count = single === null ? wholeNumber(positionals[0] ?? "1000") : 1
/** After so many failing seeds nothing new is learnt. */
const enough = 20

const startedAt = performance.now()
const broken = new Map<string, Array<number>>()
let failing = 0
let ran = 0

const progress = (): string =>
  `${ran}/${count} seeds, ${(ran / ((performance.now() - startedAt) / 1_000)).toFixed(1)}/s, ${failing} failing`

for (let seed = from; seed < from + count && failing < enough; seed++) {
  const outcome = simulate(seed, {}, values.week ? weekOf : scenarioOf)
  const failures = judge(outcome)
  ran++
  if (single !== null) {
    process.stdout.write(`seed ${seed}: ${outcome.entries.length} entries, history ${hashOf(outcome.entries)}\n`)
  }
  if (failures.length > 0) {
    failing++
    for (const { check } of failures) broken.set(check.name, [...(broken.get(check.name) ?? []), seed])
    process.stdout.write(`\n${describeFailures(seed, outcome, failures, values.week ? " --week" : "")}\n`)
  }
  if (process.stderr.isTTY) process.stderr.write(`\r${progress()}`)
  else if (ran % 100 === 0) process.stderr.write(`${progress()}\n`)
}

process.stdout.write(`\n${progress()}\n`)
for (const [name, seeds] of broken) process.stdout.write(`${name}: seeds ${seeds.join(", ")}\n`)
process.exitCode = failing > 0 ? 1 : 0
