/**
 * Resolves host names with the system's resolver: hosts file, search domains, multicast DNS and name servers.
 *
 * `getaddrinfo` occupies a thread of the pool shared by the whole process. A call can't be cancelled, and takes very
 * long if name servers are dead. libuv uses at most half of the threads for such calls, so file access never waits for
 * them. `sharing` divides this half among clients, so no client can occupy all of it.
 */
import { RecentMap } from "@doorhook/core"
import { Data } from "effect"
import { lookup } from "node:dns/promises"

/** The caller of a lookup. */
export interface Asker {
  /** The client whose limits apply to the lookup. */
  readonly client: string
  /** Called once if the lookup has to wait for a free place. */
  readonly onWait?: () => void
  /**
   * Cancels a waiting lookup, unless another caller also waits for it. Without a signal, the lookup stays in the queue,
   * so that a later caller can use its answer.
   */
  readonly signal?: AbortSignal
}

/** Returns all IPv4 and IPv6 addresses of a name, in the order to try them. Rejects if there are none. */
export type NameLookup = (name: string, asker: Asker) => Promise<ReadonlyArray<string>>

/** The client already has the maximum number of waiting names. */
export class QueueFull extends Data.TaggedError("QueueFull")<{ readonly message: string }> {}

/** Limits on concurrent lookups. */
export interface Places {
  readonly total: number
  /** Maximum number of lookups for one client. */
  readonly perClient: number
  /** Maximum number of lookups of slow names. A client can use at most half of `perClient` for them. */
  readonly slow: number
}

/** Returns the limits for a thread pool. libuv uses half of the threads for lookups. */
export const placesOf = (threads: number): Places => {
  const total = Math.max(1, Math.ceil(threads / 2))
  return { total, perClient: Math.max(1, Math.floor(total / 4)), slow: Math.max(1, Math.floor(total / 2)) }
}

/** A lookup that takes at least this long, in milliseconds, counts as long: its name servers are dead or far away. */
const longLookUp = 1_000

/** How long a client has lower priority after a long lookup, in milliseconds. */
const probation = 60_000

/** Maximum number of remembered names, and of remembered clients. */
const mostKnown = 10_000

/** Maximum number of waiting names of one client. */
export const mostWaiting = 100

/**
 * Maximum age of an earlier answer that may be used instead of waiting for a lookup, in milliseconds. RFC 8767 allows
 * stale answers for days when name servers can't be reached. Addresses from such answers are checked before connecting,
 * like all others.
 */
const answerLife = 3_600_000

/**
 * Maximum age of an earlier failure that may be used, in milliseconds. It is short, because the name might have been
 * corrected.
 */
const failureLife = 30_000

/**
 * How slow a name is. `late`: one late answer, which a lost packet can explain. `slow`: no answer, or two late answers
 * in a row.
 */
type Slowness = "late" | "slow"

/** The result of a lookup, which may be reused before `until`. */
interface Answer {
  readonly until: number
  readonly isFailure: boolean
  readonly get: () => Promise<ReadonlyArray<string>>
}

/** Remembered facts about a name. */
interface Known {
  readonly slowness: Slowness | null
  /** Null before the end of the first lookup. */
  readonly answer: Answer | null
}

const unknown: Known = { slowness: null, answer: null }

/** A running or waiting lookup. */
interface Look {
  readonly name: string
  readonly isSlow: boolean
  readonly ended: PromiseWithResolvers<ReadonlyArray<string>>
  /** The clients whose queues contain the lookup. The first client with a free place starts it. */
  readonly clients: Set<Client>
  isRunning: boolean
  /** Number of waiting callers that can cancel. */
  waiting: number
  /** Whether to run the lookup even if all waiting callers cancel. */
  isKept: boolean
}

interface Client {
  readonly id: string
  readonly quick: Set<Look>
  readonly slow: Set<Look>
  running: number
  runningSlow: number
}

const ignore = (): void => undefined

/**
 * Shares concurrent lookups of the same name, and divides the places among clients.
 *
 * A lookup waits if its client has no free place, or if the name is slow and the places for slow names are taken. A
 * free place goes to the next client in turn; clients with a long lookup in the last minute are last. If the lookup
 * of a name would have to wait and there is a recent answer, returns that answer and looks up the name in the
 * background.
 */
export const sharing = (ask: (name: string) => Promise<ReadonlyArray<string>>, places: Places): NameLookup => {
  const known = new RecentMap<string, Known>(mostKnown)
  /** When each client's lower priority ends. */
  const onProbation = new RecentMap<string, number>(mostKnown)
  const looks = new Map<string, Look>()
  /** Clients with running or waiting lookups, in the order of their turns. */
  const clients = new Map<string, Client>()
  const slowPerClient = Math.max(1, Math.floor(places.perClient / 2))
  let running = 0
  let runningSlow = 0

  const clientOf = (id: string): Client => {
    const one = clients.get(id) ?? { id, quick: new Set(), slow: new Set(), running: 0, runningSlow: 0 }
    clients.set(id, one)
    return one
  }

  const hasPlace = (client: Client, isSlow: boolean): boolean =>
    running < places.total &&
    client.running < places.perClient &&
    (!isSlow || (runningSlow < places.slow && client.runningSlow < slowPerClient))

  const leaveQueues = (look: Look): void => {
    for (const client of look.clients) {
      client.quick.delete(look)
      client.slow.delete(look)
      forgetIfIdle(client)
    }
    look.clients.clear()
  }

  const forgetIfIdle = (client: Client): void => {
    if (client.running === 0 && client.quick.size === 0 && client.slow.size === 0) clients.delete(client.id)
  }

  const start = (look: Look, client: Client): void => {
    const { name } = look
    const before = known.get(name) ?? unknown
    let isCountedSlow = false
    let tookLong = false
    const countSlow = (): void => {
      if (isCountedSlow) return
      isCountedSlow = true
      runningSlow++
      client.runningSlow++
    }
    client.running++
    running++
    look.isRunning = true
    leaveQueues(look)
    clients.delete(client.id)
    clients.set(client.id, client)
    if (look.isSlow) countSlow()
    const timer = setTimeout(() => {
      tookLong = true
      countSlow()
      known.set(name, { ...before, slowness: "slow" })
      onProbation.set(client.id, performance.now() + probation)
    }, longLookUp)
    timer.unref()
    const end = (slowness: Slowness | null, answer: Answer): void => {
      clearTimeout(timer)
      known.set(name, { slowness, answer })
      looks.delete(name)
      running--
      client.running--
      if (isCountedSlow) {
        runningSlow--
        client.runningSlow--
      }
      forgetIfIdle(client)
      startNext()
    }
    ask(name).then(
      (addresses) => {
        end(tookLong ? (before.slowness === null ? "late" : "slow") : null, {
          until: performance.now() + answerLife,
          isFailure: false,
          get: () => Promise.resolve(addresses)
        })
        look.ended.resolve(addresses)
      },
      (error: unknown) => {
        const now = performance.now()
        const earlier = before.answer
        const isUsable = earlier !== null && !earlier.isFailure && earlier.until > now
        const failure = { until: now + failureLife, isFailure: true, get: () => Promise.reject(error) }
        end(tookLong ? "slow" : null, isUsable ? earlier : failure)
        look.ended.reject(error)
      }
    )
  }

  /** Finds the next lookup to start, of a client that has a free place. */
  const next = (isSlow: boolean, isOnProbation: boolean): readonly [Look, Client] | null => {
    const now = performance.now()
    for (const client of clients.values()) {
      if (isOnProbation !== (onProbation.get(client.id) ?? 0) > now || !hasPlace(client, isSlow)) continue
      for (const look of isSlow ? client.slow : client.quick) return [look, client]
    }
    return null
  }

  const startNext = (): void => {
    while (running < places.total) {
      const found = next(false, false) ?? next(false, true) ?? next(true, false) ?? next(true, true)
      if (found === null) return
      start(...found)
    }
  }

  const withdraw = (look: Look): void => {
    look.waiting--
    if (look.isRunning || look.isKept || look.waiting > 0) return
    leaveQueues(look)
    looks.delete(look.name)
  }

  return (name, { client: id, onWait = ignore, signal }) => {
    const open = looks.get(name)
    if (open?.isRunning === true) return open.ended.promise
    const { answer, slowness } = known.get(name) ?? unknown
    const client = clientOf(id)
    const look: Look = open ?? {
      name,
      isSlow: slowness === "slow",
      ended: Promise.withResolvers(),
      clients: new Set(),
      isRunning: false,
      waiting: 0,
      isKept: false
    }
    if (open === undefined) look.ended.promise.catch(ignore)
    looks.set(name, look)
    if (hasPlace(client, look.isSlow)) {
      start(look, client)
      return look.ended.promise
    }
    const isFull = client.quick.size + client.slow.size >= mostWaiting && !look.clients.has(client)
    if (isFull) {
      if (open === undefined) looks.delete(name)
    } else {
      look.clients.add(client)
      ;(look.isSlow ? client.slow : client.quick).add(look)
    }
    if (answer !== null && answer.until > performance.now()) {
      look.isKept = true
      return answer.get()
    }
    if (isFull)
      return Promise.reject(
        new QueueFull({ message: `${mostWaiting} names of the same client are already waiting to be looked up` })
      )
    onWait()
    if (signal === undefined) look.isKept = true
    else {
      look.waiting++
      signal.addEventListener("abort", () => withdraw(look), { once: true })
    }
    return look.ended.promise
  }
}

/** Size of libuv's thread pool. */
export const threads = Number(process.env["UV_THREADPOOL_SIZE"] ?? 4) || 4

const places = placesOf(threads)

/** Text that tells operators the limits on lookups in this process, and the setting that raises them. */
export const limits = `This process can look up ${places.total} names at the same time, ${places.perClient} per client; a larger UV_THREADPOOL_SIZE (now ${threads}) allows more`

/** The system's resolver. */
export const system: NameLookup = sharing(
  async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  places
)
