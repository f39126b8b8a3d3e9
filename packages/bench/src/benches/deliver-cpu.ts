/**
 * Measures processor time per delivery, at a rate that all contenders sustain.
 */
import { Effect } from "effect"
import type { Benchmark, Finding, Options } from "../harness/Benchmark.ts"
import { contest, roundsOf } from "../harness/Benchmark.ts"
import { canMeasureServers } from "../harness/ProcessCpu.ts"
import type { ProgramFailed } from "../harness/Processes.ts"
import { median, rounded } from "../harness/Statistics.ts"
import { peersHere, startRounds } from "../peers/ContenderRounds.ts"
import type { ContenderName, SteadyAnswer } from "../peers/Contender.ts"

const name = "deliver-cpu"

const run = Effect.fnUntraced(function* (options: Options) {
  const { quick } = options
  const given = quick ? { rate: 500, seconds: 1, warmUp: 200 } : { rate: 500, seconds: 15, warmUp: 5_000 }
  const rounds = roundsOf(options, 3)
  if (!canMeasureServers)
    return yield* Effect.die("deliver-cpu needs Linux, because it reads processor times of servers from /proc")
  const peers = yield* peersHere
  const { steady } = yield* startRounds
  const answersOf = yield* contest<ContenderName, SteadyAnswer, ProgramFailed, never>(
    ["doorhook-sqlite", "doorhook-postgres", ...peers],
    rounds,
    (contender) => steady(contender, given),
    ({ cpu, cpu_of_servers, p50, p99 }) =>
      `${rounded(cpu)} ms each (${rounded(cpu_of_servers)} in servers), p50 ${rounded(p50)} ms, p99 ${rounded(p99)} ms`
  )
  const of = (contender: ContenderName): ReadonlyArray<number> => answersOf(contender).map(({ cpu }) => cpu)
  const latency = (contender: ContenderName, which: "p50" | "p99"): number =>
    rounded(median(answersOf(contender).map((answer) => answer[which])))
  const [best = "pg-boss"] = peers
    .filter((peer) => of(peer).length > 0)
    .toSorted((a, b) => median(of(a)) - median(of(b)))
  const against = (line: string, peer: ContenderName, ours: ContenderName = "doorhook-sqlite"): Finding => ({
    line,
    ours: of(ours),
    peer: of(peer),
    more: {
      against: peer,
      ours_p50_ms: latency(ours, "p50"),
      ours_p99_ms: latency(ours, "p99"),
      peer_p50_ms: latency(peer, "p50"),
      peer_p99_ms: latency(peer, "p99")
    }
  })
  return [
    against(name, best),
    ...peers.map((peer) => against(`${name}/${peer}`, peer)),
    against(`${name}/postgres`, best, "doorhook-postgres")
  ]
})

const ours = "ms of processor time per delivery, SQLite"
const cost = { unit: "ms", ratioOf: "peer to ours", goal: null } as const

export const benchmark: Benchmark = {
  name,
  minutes: 8,
  summary: "processor time per delivery at a steady 500/s, against the queues in deliver-peers",
  compares:
    "`publish` is called 500 times a second for 15 seconds, and each call returns once its event is durable. The time is the user and system time of the process that publishes and sends, and of PostgreSQL or Redis, but not of the receiver. The ratio is the peer's time divided by ours. doorhook lets events wait up to 10 ms to share a transaction; the queues store each event immediately. The results include the latency from publish to acknowledgement.",
  leavesOut:
    "Publishing in batches, which is cheaper with every queue, and the kernel's own threads. Needs Linux's `/proc`.",
  lines: {
    [name]: { ...cost, ours, peer: "ms per delivery of the cheapest queue", goal: { is: "at least", ratio: 3 } },
    [`${name}/bullmq`]: { ...cost, ours, peer: "BullMQ, appendfsync always" },
    [`${name}/pg-boss`]: { ...cost, ours, peer: "pg-boss" },
    [`${name}/graphile-worker`]: { ...cost, ours, peer: "graphile-worker" },
    [`${name}/postgres`]: {
      ...cost,
      ours: "ms of processor time per delivery, PostgreSQL",
      peer: "ms per delivery of the cheapest queue"
    }
  },
  run
}
