/**
 * Measures the processor time of the load generator for each request.
 */
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import { runProgram } from "../harness/Processes.ts"

const name = "simulate-send"

const sendProgram = fileURLToPath(new URL("../sendRate.ts", import.meta.url))

interface Costs {
  readonly ours: number
  readonly peer: number
}

/** Rates of the lines, in requests per second; 0 for as fast as possible. */
const rates = [
  [name, 0],
  [`${name}/paced`, 500]
] as const

const run = Effect.fnUntraced(function* (options: Options) {
  const findings = rates.map(([line, rate]) => ({ line, rate, ours: Array.of<number>(), peer: Array.of<number>() }))
  for (let round = 0; round < roundsOf(options, 5); round++) {
    for (const { line, ours, peer, rate } of findings) {
      const sends = options.quick ? 200 : rate === 0 ? 20_000 : 5_000
      const costs = yield* runProgram<Costs>("the requests", sendProgram, [`${sends}`, `${rate}`])
      ours.push(costs.ours)
      peer.push(costs.peer)
      process.stderr.write(
        `round ${round + 1}, ${line}: ${Math.round(costs.ours)} us for each request, bare ${Math.round(costs.peer)} us\n`
      )
    }
  }
  return findings.map(({ line, ours, peer }) => ({ line, ours, peer, more: {} }))
})

const peer = "us of processor time per request of a bare loop of undici.request"

export const benchmark: Benchmark = {
  name,
  minutes: 3,
  summary: "processor time of a request of simulate run --to, against a bare loop of undici.request",
  compares:
    "`simulate run --to` publishes events of an office, one in each request, to a server that only answers 202: 20,000 as fast as possible with 16 requests open, and 5,000 at 500 a second. The time includes making the events, idempotency keys and all measurements. The loop sends the same bodies, made before, with 16 requests open or at the same rate. Processor time is that of the sending process.",
  leavesOut: "The server, reading deliveries back, and batches, which cost less for each event.",
  notes:
    "A run on a busy machine (load 9): 2.50, 288 µs against 115 µs; paced 1.59 and 1.81, 530 and 570 µs against 334 and 315 µs of a bare loop at 500 a second, and 1.79 at 60 a second (1,346 against 753 µs). At a low rate a request costs more in both, because the process is woken up for each.",
  lines: {
    [name]: {
      ours: "us of processor time per request, as fast as possible",
      peer,
      unit: "us",
      goal: { is: "at most", ratio: 2 }
    },
    [`${name}/paced`]: {
      ours: "us of processor time per request, at 500 requests a second",
      peer,
      unit: "us",
      goal: { is: "at most", ratio: 2 }
    }
  },
  run
}
