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
class SharedLookups {
  readonly #ask: (name: string) => Promise<ReadonlyArray<string>>
  readonly #places: Places
  readonly #slowPerClient: number
  readonly #known = new RecentMap<string, Known>(mostKnown)
  /** When each client's lower priority ends. */
  readonly #onProbation = new RecentMap<string, number>(mostKnown)
  readonly #looks = new Map<string, Look>()
  /** Clients with running or waiting lookups, in the order of their turns. */
  readonly #clients = new Map<string, Client>()
  #running = 0
  #runningSlow = 0

  constructor(ask: (name: string) => Promise<ReadonlyArray<string>>, places: Places) {
    this.#ask = ask
    this.#places = places
    this.#slowPerClient = Math.max(1, Math.floor(places.perClient / 2))
  }

  lookUp(name: string, { client: id, onWait = ignore, signal }: Asker): Promise<ReadonlyArray<string>> {
    const open = this.#looks.get(name)
    if (open?.isRunning === true) return open.ended.promise
    const client = this.#clientOf(id)
    const look = open ?? this.#open(name)
    if (this.#hasPlace(client, look.isSlow)) {
      this.#start(look, client)
      return look.ended.promise
    }
    const isFull = client.quick.size + client.slow.size >= mostWaiting && !look.clients.has(client)
    if (!isFull) {
      look.clients.add(client)
      ;(look.isSlow ? client.slow : client.quick).add(look)
    } else if (open === undefined) this.#looks.delete(name)
    const answer = this.#known.get(name)?.answer ?? null
    if (answer !== null && answer.until > performance.now()) {
      look.isKept = true
      return answer.get()
    }
    if (isFull) {
      const message = `${mostWaiting} names of the same client are already waiting to be looked up`
      return Promise.reject(new QueueFull({ message }))
    }
    onWait()
    if (signal === undefined) look.isKept = true
    else {
      look.waiting++
      signal.addEventListener("abort", () => this.#withdraw(look), { once: true })
    }
    return look.ended.promise
  }

  #open(name: string): Look {
    const look: Look = {
      name,
      isSlow: this.#known.get(name)?.slowness === "slow",
      ended: Promise.withResolvers(),
      clients: new Set(),
      isRunning: false,
      waiting: 0,
      isKept: false
    }
    look.ended.promise.catch(ignore)
    this.#looks.set(name, look)
    return look
  }

  #clientOf(id: string): Client {
    const one = this.#clients.get(id) ?? { id, quick: new Set(), slow: new Set(), running: 0, runningSlow: 0 }
    this.#clients.set(id, one)
    return one
  }

  #hasPlace(client: Client, isSlow: boolean): boolean {
    return (
      this.#running < this.#places.total &&
      client.running < this.#places.perClient &&
      (!isSlow || (this.#runningSlow < this.#places.slow && client.runningSlow < this.#slowPerClient))
    )
  }

  #leaveQueues(look: Look): void {
    for (const client of look.clients) {
      client.quick.delete(look)
      client.slow.delete(look)
      this.#forgetIfIdle(client)
    }
    look.clients.clear()
  }

  #forgetIfIdle(client: Client): void {
    if (client.running === 0 && client.quick.size === 0 && client.slow.size === 0) this.#clients.delete(client.id)
  }

  #start(look: Look, client: Client): void {
    const before = this.#known.get(look.name) ?? unknown
    let isCountedSlow = false
    let tookLong = false
    const countSlow = (): void => {
      if (isCountedSlow) return
      isCountedSlow = true
      this.#runningSlow++
      client.runningSlow++
    }
    client.running++
    this.#running++
    look.isRunning = true
    this.#leaveQueues(look)
    // The client's next turn comes after all others.
    this.#clients.delete(client.id)
    this.#clients.set(client.id, client)
    if (look.isSlow) countSlow()
    const timer = setTimeout(() => {
      tookLong = true
      countSlow()
      this.#known.set(look.name, { ...before, slowness: "slow" })
      this.#onProbation.set(client.id, performance.now() + probation)
    }, longLookUp)
    timer.unref()
    const end = (known: Known): void => {
      clearTimeout(timer)
      this.#known.set(look.name, known)
      this.#looks.delete(look.name)
      this.#running--
      client.running--
      if (isCountedSlow) {
        this.#runningSlow--
        client.runningSlow--
      }
      this.#forgetIfIdle(client)
      this.#startNext()
    }
    this.#ask(look.name).then(
      (addresses) => {
        end(answered(before, addresses, tookLong))
        look.ended.resolve(addresses)
      },
      (error: unknown) => {
        end(failed(before, error, tookLong))
        look.ended.reject(error)
      }
    )
  }

  /** Finds the next lookup to start, of a client that has a free place. */
  #next(isSlow: boolean, isOnProbation: boolean): readonly [Look, Client] | null {
    const now = performance.now()
    for (const client of this.#clients.values()) {
      const hasLowerPriority = (this.#onProbation.get(client.id) ?? 0) > now
      if (isOnProbation !== hasLowerPriority || !this.#hasPlace(client, isSlow)) continue
      for (const look of isSlow ? client.slow : client.quick) return [look, client]
    }
    return null
  }

  #startNext(): void {
    while (this.#running < this.#places.total) {
      const found =
        this.#next(false, false) ?? this.#next(false, true) ?? this.#next(true, false) ?? this.#next(true, true)
      if (found === null) return
      this.#start(...found)
    }
  }

  #withdraw(look: Look): void {
    look.waiting--
    if (look.isRunning || look.isKept || look.waiting > 0) return
    this.#leaveQueues(look)
    this.#looks.delete(look.name)
  }
}

/** Returns what to remember after an answer. */
const answered = ({ slowness }: Known, addresses: ReadonlyArray<string>, tookLong: boolean): Known => ({
  slowness: tookLong ? (slowness === null ? "late" : "slow") : null,
  answer: { until: performance.now() + answerLife, isFailure: false, get: () => Promise.resolve(addresses) }
})

/** Returns what to remember after a failure: an earlier answer that may still be used, or the failure. */
const failed = ({ answer }: Known, error: unknown, tookLong: boolean): Known => {
  const now = performance.now()
  const isUsable = answer !== null && !answer.isFailure && answer.until > now
  return {
    slowness: tookLong ? "slow" : null,
    answer: isUsable ? answer : { until: now + failureLife, isFailure: true, get: () => Promise.reject(error) }
  }
}

/** Returns a lookup that shares lookups of the same name, and divides the places among clients. */
export const sharing = (ask: (name: string) => Promise<ReadonlyArray<string>>, places: Places): NameLookup => {
  const lookups = new SharedLookups(ask, places)
  return (name, asker) => lookups.lookUp(name, asker)
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
