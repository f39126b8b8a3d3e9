/**
 * Limits guessing of passwords, of clients' secrets and of the operator key (RFC 6749 sections 2.3.1 and 10.10).
 *
 * After ten failures at one name from one address within fifteen minutes that address waits. Others may go on, so that
 * nobody can lock a user or a client out. Once a name has failed a hundred times, from any address, each address has one
 * failure instead of ten. An address that fails 450 times, at whatever names, has one failure every two seconds from then
 * on. Where the address is unknown, refusing one caller would refuse all: each try is answered later instead.
 *
 * Each kind of guess is counted for itself. Counts are kept in the memory of one process: a restart forgets them.
 */
import { Effect, Exit, Result, Semaphore } from "effect"
import { NetAddress } from "effect/net"

/** How long a failure counts, in milliseconds. */
const failureWindow = 15 * 60_000

/** Failures of one name from one address before it must wait. */
const failuresPerPair = 10

/** Failures of one name from anywhere before every address has `failuresUnderAttack` only. */
const failuresPerName = 100
const failuresUnderAttack = 1

/** Failures of one address at any names within the window. Spread evenly they are one every two seconds. */
const failuresPerAddress = 450
const addressInterval = failureWindow / failuresPerAddress

/** How much later a try is made that can't be counted by address, in milliseconds. */
const pause = 2_000

/** Logins of one source that are tried at once. */
const maxTrying = 5

/** Logins of one source that wait for one of these. A paced one is tried eight seconds later at most. */
const maxWaiting = 20
const secondsOfWaiting = ((maxWaiting / maxTrying) * pause) / 1_000

/** The most entries of each table of each kind. */
const defaultCapacity = 20_000

/** A guess, and where it comes from. */
export interface Credential {
  /**
   * A user's password; a client's secret at the token endpoint and its siblings, or in the authorize step; the operator
   * key.
   */
  readonly kind: "login" | "client" | "authorize" | "operator"
  /** The login or the client's id. */
  readonly name: string
  /** The network address it comes from; null when it is unknown. */
  readonly address: string | null
  /** Whether the name is known to be nobody's. Its failures then count for the address alone. */
  readonly isMadeUp?: boolean
}

/** What became of a guarded attempt. */
export type Guarded<A> =
  | { readonly _tag: "Done"; readonly value: A | null }
  /** Not tried, or tried and not disclosed. `retry_after` is in whole seconds. */
  | { readonly _tag: "Throttled"; readonly retry_after: number }

/** Marks a login that is not tried because too many are being tried. */
const tooMany: unique symbol = Symbol("too many at once")

/** The times of failures that count, oldest first. None lies ahead, as one may where the clock was set back. */
const recent = (times: ReadonlyArray<number> | undefined, now: number): ReadonlyArray<number> =>
  times?.filter((time) => time > now - failureWindow && time <= now) ?? []

const isOver = (times: ReadonlyArray<number>, now: number): boolean => recent(times, now).length === 0

/** The key under which a name's failures are counted: spellings of a login that a host may take for one share it. */
const nameKey = ({ kind, name }: Credential): string =>
  kind === "login" ? name.slice(0, 256).trim().toLowerCase() : name.slice(0, 256)

/** What counts as one address: of IPv6 the network of 64 bits, all of which one subscriber has. */
const networkOf = (address: string): string =>
  Result.match(NetAddress.ipFromString(address.split("%")[0] ?? address), {
    onFailure: () => address.slice(0, 64).replaceAll(" ", "_"),
    onSuccess: (parsed) => {
      const canonical = NetAddress.toCanonical(parsed)
      return NetAddress.isIpv6Address(canonical)
        ? NetAddress.ipv6ToSegments(canonical).slice(0, 4).join(":")
        : NetAddress.formatIp(canonical)
    }
  })

/** Where a guess comes from, as the keys that it is counted under. */
interface Source {
  readonly name: string
  /** Null when the address is unknown, as is `pair`. */
  readonly network: string | null
  readonly pair: string | null
  readonly isMadeUp: boolean
}

const sourceOf = (guess: Credential): Source => {
  const name = nameKey(guess)
  const network = guess.address === null ? null : networkOf(guess.address)
  return { name, network, pair: network === null ? null : `${network} ${name}`, isMadeUp: guess.isMadeUp === true }
}

const nameIn = (pair: string): string => pair.slice(pair.indexOf(" ") + 1)

const throttled = (retry_after: number): Guarded<never> => ({ _tag: "Throttled", retry_after })

/** Milliseconds until an address has worked off its failures; none where the clock was set back. */
const debtOf = (until: number | undefined, now: number): number =>
  until === undefined || until <= now || until > now + failureWindow ? 0 : until - now

/** What has failed, of one kind of guess. */
const makeCounts = (capacity: number) => {
  // At its limit from where tries without an address are paced: no flood of other names ends that.
  const names = new FailureTable<ReadonlyArray<number>>(capacity, {
    isOver,
    isAtLimit: (_, times, now) => recent(times, now).length >= failuresPerPair
  })
  const allowedAt = (name: string, now: number): number =>
    recent(names.get(name), now).length >= failuresPerName ? failuresUnderAttack : failuresPerPair
  const pairs = new FailureTable<ReadonlyArray<number>>(capacity, {
    isOver,
    isAtLimit: (pair, times, now) => recent(times, now).length >= allowedAt(nameIn(pair), now)
  })
  /** When an address will have worked off its failures, one every `addressInterval`. */
  const addresses = new FailureTable<number>(capacity, {
    isOver: (until, now) => debtOf(until, now) === 0,
    isAtLimit: (_, until, now) => debtOf(until, now) > failureWindow - addressInterval
  })

  const add = (table: FailureTable<ReadonlyArray<number>>, key: string, now: number, most: number): void =>
    table.set(key, [...recent(table.get(key), now), now].slice(-most), now)

  return {
    allowedAt,
    isEmpty: (now: number): boolean => [names, pairs, addresses].every((table) => table.isEmpty(now)),
    failuresOf: (pair: string, now: number): number => recent(pairs.get(pair), now).length,
    /** Seconds that the name must wait at this address; null when it may go on. */
    waitOf: ({ name, pair }: Source, now: number): number | null => {
      const blocking = pair === null ? undefined : recent(pairs.get(pair), now).at(-allowedAt(name, now))
      return blocking === undefined ? null : Math.ceil((blocking + failureWindow - now) / 1_000)
    },
    /** Seconds until the address may fail again at any name; null when it may now. */
    addressWaitOf: ({ network }: Source, now: number): number | null => {
      const debt = network === null ? 0 : debtOf(addresses.get(network), now)
      const excess = debt - (failureWindow - addressInterval)
      return excess <= 0 ? null : Math.ceil(excess / 1_000)
    },
    /** Whether a try is made later because no count by address slows it. */
    isPaced: ({ name, pair }: Source, now: number): boolean =>
      pair === null
        ? recent(names.get(name), now).length >= failuresPerPair || !names.canKeep(name, now)
        : !pairs.canKeep(pair, now),
    fail: ({ isMadeUp, name, network, pair }: Source, now: number): void => {
      if (network === null || pair === null) return add(names, name, now, failuresPerName)
      const debt = debtOf(addresses.get(network), now)
      addresses.set(network, now + Math.min(debt + addressInterval, failureWindow), now)
      // Made-up names are unlimited, and no one logs in with them.
      if (!isMadeUp) add(names, name, now, failuresPerName)
      if (!isMadeUp || debt <= failureWindow - addressInterval) add(pairs, pair, now, failuresPerPair)
    },
    succeed: ({ pair }: Source): void => {
      if (pair !== null) pairs.delete(pair)
    }
  }
}

type Counts = ReturnType<typeof makeCounts>

/** Tries logins: each costs the host something, so that their number at once is limited by source and by what may fail. */
const makeTurns = ({ allowedAt, failuresOf }: Counts) => {
  const queues = new Map<string, { readonly turns: Semaphore.Semaphore; inside: number }>()
  /** How many are being tried, by pair. */
  const trying = new Map<string, number>()

  /** Tries one in its turn. */
  const inTurn = <A, E, R>(
    { name, network }: Source,
    attempt: Effect.Effect<Guarded<A>, E, R>
  ): Effect.Effect<Guarded<A>, E, R> =>
    Effect.suspend((): Effect.Effect<Guarded<A>, E, R> => {
      const key = network ?? ` ${name}`
      const queue = queues.get(key) ?? { turns: Semaphore.makeUnsafe(maxTrying), inside: 0 }
      if (queue.inside >= maxTrying + maxWaiting) return Effect.succeed(throttled(secondsOfWaiting))
      queue.inside++
      queues.set(key, queue)
      const leave = Effect.sync(() => {
        queue.inside--
        if (queue.inside === 0) queues.delete(key)
      })
      return Effect.ensuring(queue.turns.withPermit(attempt), leave)
    })

  /** Tries one, unless as many are being tried as may fail. */
  const bounded = <A, E, R>(
    { name, pair }: Source,
    now: number,
    attempt: Effect.Effect<A, E, R>
  ): Effect.Effect<A | typeof tooMany, E, R> =>
    Effect.suspend((): Effect.Effect<A | typeof tooMany, E, R> => {
      if (pair === null) return attempt
      const before = trying.get(pair) ?? 0
      if (before + failuresOf(pair, now) >= allowedAt(name, now)) return Effect.succeed(tooMany)
      trying.set(pair, before + 1)
      const end = Effect.sync(() => {
        const left = (trying.get(pair) ?? 1) - 1
        if (left === 0) trying.delete(pair)
        else trying.set(pair, left)
      })
      return Effect.ensuring(attempt, end)
    })

  return { bounded, inTurn }
}

/** What is guarded. Null is a failure. */
type Attempt<A, E, R> = () => Effect.Effect<A | null, E, R>

export interface LoginThrottle {
  /**
   * Makes an attempt, unless too many failed before. Null is a failure, and so is one that is interrupted; an error is
   * neither. Answers at once where nothing has failed yet and the attempt does.
   */
  readonly guard: <A, E, R>(guess: Credential, attempt: Attempt<A, E, R>) => Effect.Effect<Guarded<A>, E, R>
}

/** A throttle of one kind of guess. */
const makeFor = (kind: Credential["kind"], now: () => number, capacity: number): LoginThrottle => {
  const counts = makeCounts(capacity)
  const { bounded, inTurn } = makeTurns(counts)
  const isLogin = kind === "login"

  /** Counts the outcome of an attempt, and says what to disclose of it: many at once show no more than one after the other. */
  const settle = <A>(source: Source, value: A | null): Guarded<A> => {
    const at = now()
    const wait = counts.waitOf(source, at)
    if (wait !== null) return throttled(wait)
    if (value !== null) {
      counts.succeed(source)
      return { _tag: "Done", value }
    }
    const slow = counts.addressWaitOf(source, at)
    counts.fail(source, at)
    return slow === null ? { _tag: "Done", value } : throttled(slow)
  }

  /** A client that hangs up before a slow answer must not guess on without being counted. */
  const counted = <A, E, R>(guess: Credential, attempt: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Exit.isExit(attempt)
      ? attempt
      : Effect.onInterrupt(attempt, () => Effect.sync(() => counts.fail(sourceOf(guess), now())))

  /** While nothing has failed. Most requests present what is right: they cost no look-up. */
  const first = <A, E, R>(guess: Credential, attempt: Attempt<A, E, R>): Effect.Effect<Guarded<A>, E, R> =>
    Effect.mapEager(counted(guess, attempt()), (value): Guarded<A> =>
      value !== null && counts.isEmpty(now()) ? { _tag: "Done", value } : settle(sourceOf(guess), value)
    )

  const further = Effect.fnUntraced(function* <A, E, R>(guess: Credential, attempt: Attempt<A, E, R>) {
    const begin = now()
    const source = sourceOf(guess)
    const wait = counts.waitOf(source, begin) ?? (isLogin ? counts.addressWaitOf(source, begin) : null)
    if (wait !== null) return throttled(wait)
    if (counts.isPaced(source, begin)) yield* Effect.sleep(pause)
    const trial = Effect.suspend(attempt)
    const value = yield* counted(guess, isLogin ? bounded(source, begin, trial) : trial)
    return value === tooMany ? throttled(1) : settle(source, value)
  })

  return {
    guard: (guess, attempt) =>
      isLogin
        ? inTurn(sourceOf(guess), further(guess, attempt))
        : counts.isEmpty(now())
          ? first(guess, attempt)
          : further(guess, attempt)
  }
}

/**
 * A throttle without history. `now` is the time in milliseconds. Each kind of guess has three tables of at most `capacity`
 * entries.
 */
export const make = (now: () => number, capacity = defaultCapacity): LoginThrottle => {
  const kinds: Record<Credential["kind"], LoginThrottle> = {
    login: makeFor("login", now, capacity),
    client: makeFor("client", now, capacity),
    authorize: makeFor("authorize", now, capacity),
    operator: makeFor("operator", now, capacity)
  }
  return { guard: (guess, attempt) => kinds[guess.kind].guard(guess, attempt) }
}

// Failures in bounded memory: the oldest entries make room, but never one that makes a caller wait.

/** What the values of a table mean at a time in milliseconds. */
export interface FailureRules<Value> {
  /** Whether a value no longer counts. */
  readonly isOver: (value: Value, now: number) => boolean
  /** Whether an entry is at its limit. */
  readonly isAtLimit: (key: string, value: Value, now: number) => boolean
}

/** A map that forgets what was set longest ago, entries at their limit excepted. */
export class FailureTable<Value> {
  readonly #capacity: number
  readonly #rules: FailureRules<Value>
  /** Entries below their limit when they were set, oldest first. */
  readonly #open = new Map<string, Value>()
  /** Entries at their limit, oldest first. They leave when they are over. */
  readonly #held = new Map<string, Value>()

  constructor(capacity: number, rules: FailureRules<Value>) {
    this.#capacity = capacity
    this.#rules = rules
  }

  /** How many entries there are. */
  get size(): number {
    return this.#open.size + this.#held.size
  }

  /** Whether no entry counts. */
  isEmpty(now: number): boolean {
    for (const entries of [this.#open, this.#held])
      for (const [key, value] of entries) {
        if (!this.#rules.isOver(value, now)) return false
        entries.delete(key)
      }
    return true
  }

  get(key: string): Value | undefined {
    return this.#open.get(key) ?? this.#held.get(key)
  }

  /** Sets an entry. A new one is dropped where every other is at its limit. */
  set(key: string, value: Value, now: number): void {
    this.delete(key)
    if (this.size >= this.#capacity) {
      const spare = this.#findSpare(now)
      if (spare === null) return
      this.delete(spare)
    }
    const entries = this.#rules.isAtLimit(key, value, now) ? this.#held : this.#open
    entries.set(key, value)
  }

  delete(key: string): void {
    if (!this.#open.delete(key)) this.#held.delete(key)
  }

  /** Whether `set` would keep an entry of this key. */
  canKeep(key: string, now: number): boolean {
    return this.size < this.#capacity || this.get(key) !== undefined || this.#findSpare(now) !== null
  }

  /** The entry that makes room for another; null when every one is at its limit. */
  #findSpare(now: number): string | null {
    for (const [key, value] of this.#held) {
      if (this.#rules.isOver(value, now)) return key
      break
    }
    for (const [key, value] of this.#open) {
      if (!this.#rules.isAtLimit(key, value, now)) return key
      // Its limit was lowered after it was set.
      this.#open.delete(key)
      this.#held.set(key, value)
    }
    return null
  }
}
