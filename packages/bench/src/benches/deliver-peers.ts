/**
 * Compares the engine with queues that a Node.js backend would otherwise use for webhooks.
 */
import { Effect } from "effect"
import type { Benchmark, Finding, Options } from "../harness/Benchmark.ts"
import { contest, roundsOf } from "../harness/Benchmark.ts"
import type { ProgramFailed } from "../harness/Processes.ts"
import { median, rounded } from "../harness/Statistics.ts"
import type { PeerName } from "../peers/ContenderRounds.ts"
import { peersHere, startRounds } from "../peers/ContenderRounds.ts"
import type { ContenderName, DrainAnswer } from "../peers/Contender.ts"

const name = "deliver-peers"

const run = Effect.fnUntraced(function* (options: Options) {
  const { quick } = options
  const given = quick ? { count: 2_000, warmUp: 500 } : { count: 20_000, warmUp: 5_000 }
  const rounds = roundsOf(options, 5)
  const peers = yield* peersHere
  const { drain } = yield* startRounds
  const answersOf = yield* contest<ContenderName, DrainAnswer, ProgramFailed, never>(
    ["doorhook-sqlite", "doorhook-postgres", ...peers],
    rounds,
    (contender) => drain(contender, given),
    ({ cpu, rate }) => `${Math.round(rate)}/s, ${rounded(cpu)} ms of processor time each`
  )
  const of = (contender: ContenderName): ReadonlyArray<number> => answersOf(contender).map(({ rate }) => rate)
  const cpuOf = (contender: ContenderName): number => rounded(median(answersOf(contender).map(({ cpu }) => cpu)))
  const best = peers.toSorted((a, b) => median(of(b)) - median(of(a)))[0] ?? "pg-boss"
  const against = (line: string, peer: PeerName, ours: ContenderName = "doorhook-sqlite"): Finding => ({
    line,
    ours: of(ours),
    peer: of(peer),
    more: { against: peer, ours_cpu_ms: cpuOf(ours), peer_cpu_ms: cpuOf(peer) }
  })
  return [
    against(name, best),
    ...peers.map((peer) => against(`${name}/${peer}`, peer)),
    against(`${name}/postgres`, best, "doorhook-postgres")
  ]
})

const ours = "deliveries/s, SQLite, each commit synced"

export const benchmark: Benchmark = {
  name,
  minutes: 4,
  summary: "durable deliveries per second, against BullMQ, pg-boss and graphile-worker",
  compares:
    "20,000 events are published as fast as they are accepted. Each event is signed and posted, with durable retries. Every queue has its best batch settings (`packages/bench/src/peers`). All contenders send with undici's `dispatch` over 64 connections to the same receiver. Each round is a separate process with a warm-up. The first line compares doorhook on SQLite with the best queue whose accepted jobs survive a power cut.",
  leavesOut:
    "Features that only doorhook has: fairness between receivers, reserved capacity for urgent events, the address guard, matching, a history of attempts. Failing receivers, several workers, and a database server on another machine.",
  notes: "Three runs: 1.56, 1.45, 1.76. Even a bare loop that stores nothing reaches only 1.9 to 2.",
  lines: {
    [name]: { ours, peer: "deliveries/s of the best queue", unit: "1/s", goal: { is: "at least", ratio: 1.7 } },
    [`${name}/bullmq`]: {
      ours,
      peer: "deliveries/s of BullMQ, appendfsync always",
      unit: "1/s",
      goal: { is: "at least", ratio: 3 }
    },
    [`${name}/pg-boss`]: { ours, peer: "deliveries/s of pg-boss", unit: "1/s", goal: null },
    [`${name}/graphile-worker`]: { ours, peer: "deliveries/s of graphile-worker", unit: "1/s", goal: null },
    [`${name}/postgres`]: {
      ours: "deliveries/s, PostgreSQL",
      peer: "deliveries/s of the best queue",
      unit: "1/s",
      goal: { is: "at least", ratio: 1.4 }
    }
  },
  run
}
