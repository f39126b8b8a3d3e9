/**
 * Runs each round of a contender in its own process, on its own storage.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { fileURLToPath } from "node:url"
import type { PostgresServer } from "../harness/PostgresServer.ts"
import { startPostgres } from "../harness/PostgresServer.ts"
import { canMeasureServers } from "../harness/ProcessCpu.ts"
import type { ProgramFailed } from "../harness/Processes.ts"
import { runProgram, startReceiver } from "../harness/Processes.ts"
import { redisVersion, startRedis } from "../harness/RedisServer.ts"
import { temporaryDatabase } from "../harness/Workload.ts"
import type { ContenderName, DrainAnswer, DrainTask, SteadyAnswer, SteadyTask } from "./Contender.ts"
import { loadContender } from "./Contender.ts"

const program = fileURLToPath(new URL("../contend.ts", import.meta.url))

/** Queues whose accepted jobs survive a power cut, like ours. */
const peers = ["bullmq", "pg-boss", "graphile-worker"] as const satisfies ReadonlyArray<ContenderName>

export type PeerName = (typeof peers)[number]

/** Returns the queues that can run on this machine. Prints what the other queues need. */
export const peersHere: Effect.Effect<ReadonlyArray<PeerName>> = Effect.sync(() => {
  if (redisVersion() !== null) return peers
  process.stderr.write(
    "Leaving out BullMQ, which needs redis-server 7 on the PATH (for example: apt-get install redis-server).\n"
  )
  return peers.filter((name) => name !== "bullmq")
})

interface Storage {
  readonly address: string
  readonly servers: ReadonlyArray<number>
}

const storageFor = Effect.fnUntraced(function* (
  name: ContenderName,
  postgres: PostgresServer
): Effect.fn.Return<Storage, never, Scope.Scope> {
  const { storage } = yield* Effect.promise(() => loadContender(name))
  switch (storage) {
    case "sqlite":
      return { address: yield* temporaryDatabase, servers: [] }
    case "postgres":
      return { address: yield* postgres.newDatabase, servers: [postgres.pid] }
    case "redis": {
      const { pid, url } = yield* startRedis
      return { address: url, servers: [pid] }
    }
  }
})

export interface Rounds {
  readonly drain: (
    name: ContenderName,
    given: Pick<DrainTask, "count" | "warmUp">
  ) => Effect.Effect<DrainAnswer, ProgramFailed>
  readonly steady: (
    name: ContenderName,
    given: Pick<SteadyTask, "rate" | "seconds" | "warmUp">
  ) => Effect.Effect<SteadyAnswer, ProgramFailed>
}

/** Starts a receiver and a PostgreSQL server, which all rounds share. Each round gets a new database. */
export const startRounds: Effect.Effect<Rounds, never, Scope.Scope> = Effect.gen(function* () {
  const port = yield* startReceiver()
  const postgres = yield* startPostgres
  const run = <A>(contender: ContenderName, task: object) =>
    Effect.scoped(
      Effect.flatMap(storageFor(contender, postgres), ({ address, servers }) => {
        const whole = { contender, storage: address, servers: canMeasureServers ? servers : [], port, ...task }
        return runProgram<A>(contender, program, [JSON.stringify(whole)])
      })
    )
  return {
    drain: (contender, given) => run(contender, { kind: "drain", ...given }),
    steady: (contender, given) => run(contender, { kind: "steady", ...given })
  }
})
