/**
 * Measures how long a run of the receiver suite takes, and whether it ever fails a correct receiver.
 */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import { temporaryDatabase } from "../harness/Workload.ts"

const name = "conformance"

/** Maximum duration of a level 3 run, in seconds. */
const limit = 45

/** The command as users call it. The receivers that it starts share its cache of compiled code. */
const command = new URL("../../../doorhook/bin/doorhook.js", import.meta.url).pathname
const receiver = new URL("../../../../conformance/test/mutants/main.ts", import.meta.url).pathname
const node = `${process.execPath} --conditions=source --no-warnings`

interface Run {
  readonly seconds: number
  readonly exitCode: number
  /** Lines of the output about requirements that did not pass. */
  readonly said: string
}

/** Describes a run in one line. Every run prints one, because a hundred runs take more than an hour. */
const progressOf = ({ exitCode, said, seconds }: Run): string =>
  `${Math.round(seconds)} s, ${exitCode === 0 ? "passed" : `exit code ${exitCode}: ${said}`}`

/** Runs level 3 once against the bundled receiver, on a fresh database. */
const runOnce = Effect.fnUntraced(function* (seed: number, quick: boolean) {
  const database = yield* temporaryDatabase
  const origin = "http://127.0.0.1:0"
  const args = [command, "conformance", "run", "--level", "3", "--seed", String(seed)]
    .concat("--url", `${origin}/hook`, "--probe", `${origin}/probe`, "--control-url", `${origin}/control`)
    .concat("--spawn", `exec env DATABASE=${database} ${node} ${receiver}`, "--port-env", "PORT")
    .concat("--cases", `${database}.cases`, ...(quick ? ["--max-time", "30s"] : []))
  return yield* Effect.callback<Run>((resume) => {
    const begun = performance.now()
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    child.stdout.on("data", (chunk) => (output += chunk))
    child.stderr.on("data", (chunk) => (output += chunk))
    child.on("close", (code) => {
      const said = output.split("\n").filter((line) => /^(FAIL|INCONCLUSIVE|ERROR|NOT_OBSERVABLE) /.test(line))
      resume(
        Effect.succeed({
          seconds: (performance.now() - begun) / 1_000,
          exitCode: code ?? -1,
          said: said.length === 0 && code !== 0 ? output.slice(-300) : said.join("; ")
        })
      )
    })
    return Effect.sync(() => child.kill("SIGINT"))
  })
}, Effect.scoped)

const run = Effect.fnUntraced(function* (options: Options) {
  const rounds = roundsOf(options, 5)
  const runs = yield* Effect.forEach(
    Array.from({ length: rounds }, (_, seed) => seed),
    (seed) =>
      Effect.tap(runOnce(seed, options.quick), (one) =>
        Effect.sync(() => process.stderr.write(`round ${seed + 1} of ${rounds}, seed ${seed}: ${progressOf(one)}\n`))
      )
  )
  const wrong = runs.filter(({ exitCode }) => exitCode !== 0)
  const tooLong = runs.filter(({ seconds }) => seconds > limit).length
  return [
    { line: name, ours: runs.map(({ seconds }) => seconds), peer: runs.map(() => limit) },
    {
      line: `${name}/false-verdicts`,
      ours: [wrong.length],
      peer: [1],
      more: { runs: runs.length, beyond_45_s: tooLong, ...(wrong[0] !== undefined && { first: wrong[0].said }) }
    }
  ]
})

export const benchmark: Benchmark = {
  name,
  summary: "duration and false failures of a level 3 run of the receiver suite against a correct receiver",
  compares:
    "Each round runs `conformance run --level 3` against the bundled correct receiver, with a fresh SQLite file and a new seed. The duration is compared with the allowed 45 seconds.",
  leavesOut: "Receivers that are slow to answer or to start: runs against them take longer.",
  notes:
    "Three runs: 1.02, 0.999, 0.975. A run from a checkout first loads TypeScript, and the second retry of an access log is due 42 s after the start.",
  lines: {
    [name]: {
      ours: "seconds of a level 3 run",
      peer: "the allowed seconds",
      unit: "s",
      goal: { is: "at most", ratio: 0.9 }
    },
    [`${name}/false-verdicts`]: {
      ours: "runs that did not pass",
      peer: "one run",
      unit: "runs",
      goal: { is: "at most", ratio: 0 }
    }
  },
  minutes: 3,
  run
}
