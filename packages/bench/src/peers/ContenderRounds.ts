/**
 * Runs each round of a contender in its own process, on its own storage.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { fileURLToPath } from "node:url"
import type { PostgresServer } from "../harness/PostgresServer.ts"
import { startPostgres } from "../harness/PostgresServer.ts"
import { canMeasureServers } from "../harness/ProcessCpu.ts"
import { startReceiver } from "../harness/ReceiverProcess.ts"
import { redisVersion, startRedis } from "../harness/RedisServer.ts"
import type { ProgramFailed } from "../harness/RunProgram.ts"
import { runProgram } from "../harness/RunProgram.ts"
import { temporaryDatabase } from "../harness/TemporaryFile.ts"
import type { ContenderName } from "./Contenders.ts"
import { loadContender } from "./Contenders.ts"
import type { DrainAnswer, DrainTask, SteadyAnswer, SteadyTask } from "./ContenderTask.ts"

const program = fileURLToPath(new URL("../contend.ts", import.meta.url))

/**
 * Queues whose accepted jobs survive a power cut. The remaining peer is faster, but may lose up to a second of accepted
 * jobs.
 */
const durablePeers = ["bullmq", "pg-boss", "graphile-worker"] satisfies ReadonlyArray<ContenderName>
const peers = [...durablePeers, "bullmq-everysec"] as const satisfies ReadonlyArray<ContenderName>

export type PeerName = (typeof peers)[number]

/** Returns the queues that can run on this machine. Prints what the other queues need. */
export const peersHere: Effect.Effect<ReadonlyArray<PeerName>> = Effect.sync(() => {
  if (redisVersion() !== null) return peers
  process.stderr.write(
    "Leaving out BullMQ, which needs redis-server 7 on the PATH (for example: apt-get install redis-server).\n"
  )
  return peers.filter((name) => !name.startsWith("bullmq"))
})

/** Returns whether a queue's accepted jobs survive a power cut, like ours. */
export const isDurable = (name: PeerName): boolean => durablePeers.some((durable) => durable === name)

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
    case "redis-always":
    case "redis-everysec": {
      const { pid, url } = yield* startRedis(storage === "redis-always" ? "always" : "everysec")
      return { address: url, servers: [pid] }
    }
    case "none":
      return { address: "", servers: [] }
  }
})

export interface Rounds {
  readonly drain: (
    name: ContenderName,
    given: Pick<DrainTask, "count" | "warmUp">
  ) => Effect.Effect<DrainAnswer, ProgramFailed>
  readonly steady: (
    name: ContenderName,
    given: Pick<SteadyTask, "profile" | "rate" | "seconds" | "warmUp">
  ) => Effect.Effect<SteadyAnswer, ProgramFailed>
}

/** Starts a receiver and a PostgreSQL server, which all rounds share. Each round gets a new database. */
export const startRounds: Effect.Effect<Rounds, never, Scope.Scope> = Effect.gen(function* () {
  const port = yield* startReceiver()
  const postgres = yield* startPostgres
  const run = <A>(name: ContenderName, taskOn: (storage: Storage) => DrainTask | SteadyTask) =>
    Effect.scoped(
      Effect.flatMap(storageFor(name, postgres), (storage) =>
        runProgram<A>(name, program, [
          JSON.stringify(taskOn(canMeasureServers ? storage : { ...storage, servers: [] }))
        ])
      )
    )
  return {
    drain: (contender, given) =>
      run(contender, ({ address, servers }) => ({
        kind: "drain",
        contender,
        storage: address,
        servers,
        port,
        ...given
      })),
    steady: (contender, given) =>
      run(contender, ({ address, servers }) => ({
        kind: "steady",
        contender,
        storage: address,
        servers,
        port,
        ...given
      }))
  }
})
