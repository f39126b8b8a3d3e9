/**
 * Runs one round of one contender (doorhook, or a queue that it is compared with) in this process. Usage:
 * `contend.ts TASK`, with the task as JSON. Prints the result as JSON.
 *
 * Each round has a separate process, so that no contender inherits another's memory or compiled code.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { cpuOfServer, cpuOfThisProcess } from "./harness/ProcessCpu.ts"
import { quantile } from "./harness/Statistics.ts"
import type {
  Contender,
  DrainAnswer,
  DrainTask,
  OnAnswer,
  Session,
  SteadyAnswer,
  SteadyTask
} from "./peers/Contender.ts"
import { loadContender } from "./peers/Contender.ts"

const settled = async (session: Session, count: number): Promise<void> => {
  while ((await session.settled()) < count) await sleep(5)
}

/** Publishes `count` events numbered from `first`, with the contender's batch size and number of callers. */
const publish = async (contender: Contender, session: Session, first: number, count: number): Promise<void> => {
  const batches = Array.from({ length: Math.ceil(count / contender.batch) }, (_, batch) =>
    Array.from(
      { length: Math.min(contender.batch, count - batch * contender.batch) },
      (_, index) => first + batch * contender.batch + index
    )
  )
  const caller = async (): Promise<void> => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) await session.publish(batch)
  }
  await Promise.all(Array.from({ length: contender.publishers }, caller))
}

const cpuOfServers = (servers: ReadonlyArray<number>): number => servers.reduce((sum, pid) => sum + cpuOfServer(pid), 0)

const drain = async (
  contender: Contender,
  session: Session,
  { count, servers, warmUp }: DrainTask
): Promise<DrainAnswer> => {
  const before = cpuOfThisProcess() + cpuOfServers(servers)
  const began = performance.now()
  await publish(contender, session, warmUp, count)
  await settled(session, warmUp + count)
  const elapsed = performance.now() - began
  return { rate: (count * 1_000) / elapsed, cpu: (cpuOfThisProcess() + cpuOfServers(servers) - before) / count }
}

const steady = async (
  session: Session,
  answered: ReadonlyMap<number, number>,
  { rate, seconds, servers, warmUp }: SteadyTask
): Promise<SteadyAnswer> => {
  const count = rate * seconds
  const before = { own: cpuOfThisProcess(), servers: cpuOfServers(servers) }
  const began = performance.now()
  const publishedAt = new Map<number, number>()
  const publications: Array<Promise<void>> = []
  for (let sent = 0; sent < count; await sleep(1)) {
    const due = Math.min(count, Math.floor(((performance.now() - began) * rate) / 1_000))
    for (; sent < due; sent++) {
      publishedAt.set(warmUp + sent, performance.now())
      publications.push(session.publish([warmUp + sent]))
    }
  }
  await Promise.all(publications)
  await settled(session, warmUp + count)
  const ofServers = cpuOfServers(servers) - before.servers
  const own = cpuOfThisProcess() - before.own
  const latencies = Array.from(publishedAt, ([n, at]) => (answered.get(n) ?? Number.NaN) - at)
  return {
    cpu: (own + ofServers) / count,
    cpu_of_servers: ofServers / count,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99)
  }
}

const task: DrainTask | SteadyTask = JSON.parse(process.argv[2] ?? "null")
const contender = await loadContender(task.contender)
const answered = new Map<number, number>()
const note: OnAnswer = (n) => void answered.set(n, performance.now())
const session = await contender.open({ ...task, onAnswer: task.kind === "steady" ? note : null })
await publish(contender, session, 0, task.warmUp)
await settled(session, task.warmUp)
const answer: DrainAnswer | SteadyAnswer =
  task.kind === "drain" ? await drain(contender, session, task) : await steady(session, answered, task)
process.stdout.write(`${JSON.stringify(answer)}\n`)
await session.close()
