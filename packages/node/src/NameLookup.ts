/**
 * Looks host names up as the system does: hosts file, search domains, multicast names and name servers.
 *
 * `getaddrinfo` holds a thread of the pool that the whole process shares. It can't be cancelled, and with dead name servers
 * it takes as long as they make it take. libuv runs it on half of the pool's threads, so that files never wait for it.
 * `sharing` divides that half among clients: none of them can take it from the others, whatever names it brings.
 */
import { RecentMap } from "@doorhook/core"
import { Data } from "effect"
import { lookup } from "node:dns/promises"

/** The caller of a look-up. */
export interface Asker {
  /** Clients share the places for look-ups. */
  readonly client: string
  /** Called once if the look-up has to wait for a place. */
  readonly onWait?: () => void
  /**
   * Withdraws a look-up that waits for a place and that nobody else waits for. Without a signal it stays in the queue, so that
   * the next one who asks finds its answer.
   */
  readonly signal?: AbortSignal
}

/** Every address of a name, IPv4 and IPv6, in the order they should be tried. Rejects when it has none. */
export type NameLookup = (name: string, asker: Asker) => Promise<ReadonlyArray<string>>

/** The client already has the maximum number of names waiting. */
export class QueueFull extends Data.TaggedError("QueueFull")<{ readonly message: string }> {}

/** How many look-ups run at once. */
export interface Places {
  readonly total: number
  /** At most, of one client. */
  readonly perClient: number
  /** At most, of names that were slow; of one client, half of its own. */
  readonly slow: number
}

/** The places that a pool of threads has: libuv looks names up on half of them. */
export const placesOf = (threads: number): Places => {
  const total = Math.max(1, Math.ceil(threads / 2))
  return { total, perClient: Math.max(1, Math.floor(total / 4)), slow: Math.max(1, Math.floor(total / 2)) }
}

/** A look-up that takes longer than this is that of a name whose servers are dead, or far away; in milliseconds. */
const longLookUp = 1_000

/** For how long a client whose look-up took long comes after the others, in milliseconds. */
const probation = 60_000

/** How many names, and how many clients, are remembered. */
const mostKnown = 10_000

/** How many names of one client wait at most. */
export const mostWaiting = 100

/**
 * How old an answer may be that is used where a look-up would have to wait, in milliseconds. RFC 8767 has stale answers served for
 * days where name servers can't be asked. Whatever address it gives is judged before it is connected to.
 */
const answerLife = 3_600_000

/** The same for a failed look-up of a name without such an answer: the name may have been put right. */
const failureLife = 30_000

/**
 * Why a name counts as slow. `late`: answered, but late, once; one lost packet explains that. `slow`: not answered, or late
 * twice in a row.
 */
type Slowness = "late" | "slow"

/** The result of a look-up, and until when it may stand in for another. */
interface Answer {
  readonly until: number
  readonly isFailure: boolean
  readonly get: () => Promise<ReadonlyArray<string>>
}

/** What is remembered of a name. */
interface Known {
  readonly slowness: Slowness | null
  /** Null before the first look-up has ended. */
  readonly answer: Answer | null
}

const unknown: Known = { slowness: null, answer: null }

/** A look-up that runs, or waits for a place. */
interface Look {
  readonly name: string
  readonly isSlow: boolean
  readonly ended: PromiseWithResolvers<ReadonlyArray<string>>
  /** Those in whose queues it stands: the first that has a place starts it. */
  readonly clients: Set<Client>
  isRunning: boolean
  /** Those who wait for it and may withdraw. */
  waiting: number
  /** It is carried out even if all of those withdraw. */
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
 * Looks a name up once at a time, however many ask, and divides the places among clients.
 *
 * A client that has no place free waits, and so do names that were slow while others of their kind hold their places. A place that
 * comes free goes to the client whose turn it is, first among those without a long look-up in the last minute. Where a name would
 * have to wait and has a recent answer, that is used, and the look-up is made behind it.
 */
export const sharing = (ask: (name: string) => Promise<ReadonlyArray<string>>, places: Places): NameLookup => {
  const known = new RecentMap<string, Known>(mostKnown)
  /** Until when clients come after the others. */
  const onProbation = new RecentMap<string, number>(mostKnown)
  const looks = new Map<string, Look>()
  /** Clients of which something runs or waits, the one whose turn it is first. */
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

  /** The next look-up of a client that has a place for it. */
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
      return Promise.reject(new QueueFull({ message: `${mostWaiting} names of its client wait to be looked up` }))
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

/** What limits look-ups in this process, and the setting that raises it, for operators. */
export const limits = `This process looks up ${places.total} names at once, ${places.perClient} of one client; a larger UV_THREADPOOL_SIZE (now ${threads}) allows more`

/** The system's resolver. */
export const system: NameLookup = sharing(
  async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  places
)
