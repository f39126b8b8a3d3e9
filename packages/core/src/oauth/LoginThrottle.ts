/**
 * Limits guessing of passwords, client secrets and the operator key (RFC 6749 sections 2.3.1 and 10.10).
 *
 * - After ten failures for one name from one address within fifteen minutes, that address must wait. Other addresses
 *   are not affected, so nobody can lock out a user or a client.
 * - After a hundred failures for one name from any addresses, each address is allowed one failure instead of ten.
 * - After 450 failures from one address for any names, the address is allowed one failure every two seconds.
 * - If addresses are unknown, refusing one caller would mean refusing all. After ten failures for one name, each
 *   attempt is therefore delayed instead.
 *
 * Each kind of guess is counted separately. Counts are in the memory of one process and are lost when it ends.
 */
import { Effect, Exit, Fiber, Result, Semaphore } from "effect"
import { NetAddress } from "effect/net"

/** How long a failure is counted, in milliseconds. */
const failureWindow = 15 * 60_000

/** Failures for one name from one address before that address must wait. */
const failuresPerPair = 10

/** Failures for one name from any addresses before each address is limited to `failuresUnderAttack`. */
const failuresPerName = 100
const failuresUnderAttack = 1

/** Maximum number of failures from one address for any names within the window: on average one every two seconds. */
const failuresPerAddress = 450
const addressInterval = failureWindow / failuresPerAddress

/** Delay of an attempt whose failures can't be counted for its address, in milliseconds. */
const pause = 2_000

/** Maximum number of concurrent logins from one source. */
const maxTrying = 5

/**
 * Maximum number of waiting logins from one source. With the delay of each attempt, a login waits for at most eight
 * seconds.
 */
const maxWaiting = 20
const secondsOfWaiting = ((maxWaiting / maxTrying) * pause) / 1_000

/** Maximum number of entries per table. Each kind of guess has three tables. */
const defaultCapacity = 20_000

/** A guess and its source. */
export interface Credential {
  /**
   * What is guessed: a user's password (`login`), a client's secret at the token, revocation or introspection endpoint
   * (`client`) or in the authorize step (`authorize`), or the operator key (`operator`).
   */
  readonly kind: "login" | "client" | "authorize" | "operator"
  /** The login or the client id. */
  readonly name: string
  /** The network address of the sender; null if unknown. */
  readonly address: string | null
  /** Whether the name is known not to exist. Failures then count only for the address. */
  readonly isMadeUp?: boolean
}

/** The result of a guarded attempt. */
export type Guarded<A> =
  | { readonly _tag: "Done"; readonly value: A | null }
  /** The attempt was not made, or its result is not disclosed. `retry_after` is in whole seconds. */
  | { readonly _tag: "Throttled"; readonly retry_after: number }

/** Marks a login that was refused because too many are in progress. */
const tooMany: unique symbol = Symbol("too many at once")

/**
 * Returns the failures that still count, oldest first. Times in the future, recorded before the clock was set back, are
 * dropped.
 */
const recent = (times: ReadonlyArray<number> | undefined, now: number): ReadonlyArray<number> =>
  times?.filter((time) => time > now - failureWindow && time <= now) ?? []

const isOver = (times: ReadonlyArray<number>, now: number): boolean => recent(times, now).length === 0

/** Returns the key for a name's failures. Spellings that a host may treat as the same login share a key. */
const nameKey = ({ kind, name }: Credential): string =>
  kind === "login" ? name.slice(0, 256).trim().toLowerCase() : name.slice(0, 256)

/** Returns the key for an address. For IPv6, this is the 64-bit network, which belongs to one subscriber. */
export const networkOf = (address: string): string =>
  Result.match(NetAddress.ipFromString(address.split("%")[0] ?? address), {
    onFailure: () => address.slice(0, 64).replaceAll(" ", "_"),
    onSuccess: (parsed) => {
      const canonical = NetAddress.toCanonical(parsed)
      return NetAddress.isIpv6Address(canonical)
        ? NetAddress.ipv6ToSegments(canonical).slice(0, 4).join(":")
        : NetAddress.formatIp(canonical)
    }
  })

/** The keys that a guess is counted under. */
interface Source {
  readonly name: string
  /** Null if the address is unknown, like `pair`. */
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

/** Milliseconds until all failures of an address have expired; 0 if the clock was set back. */
const debtOf = (until: number | undefined, now: number): number =>
  until === undefined || until <= now || until > now + failureWindow ? 0 : until - now

/** Counts of failures for one kind of guess. */
const makeCounts = (capacity: number) => {
  // A name is at its limit once its failures delay attempts, so that a flood of other names can't evict it.
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
  /** When all failures of an address will have expired. One expires every `addressInterval`. */
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
    /** Returns how many seconds this address must wait before trying the name; null if it need not wait. */
    waitOf: ({ name, pair }: Source, now: number): number | null => {
      const blocking = pair === null ? undefined : recent(pairs.get(pair), now).at(-allowedAt(name, now))
      return blocking === undefined ? null : Math.ceil((blocking + failureWindow - now) / 1_000)
    },
    /** Returns the seconds until the address may fail again for any name; null if it may fail now. */
    addressWaitOf: ({ network }: Source, now: number): number | null => {
      const debt = network === null ? 0 : debtOf(addresses.get(network), now)
      const excess = debt - (failureWindow - addressInterval)
      return excess <= 0 ? null : Math.ceil(excess / 1_000)
    },
    /**
     * Whether an attempt must be delayed: its address is unknown and its name has many failures, or its failure could
     * not be counted because the table is full.
     */
    isPaced: ({ name, pair }: Source, now: number): boolean =>
      pair === null
        ? recent(names.get(name), now).length >= failuresPerPair || !names.canKeep(name, now)
        : !pairs.canKeep(pair, now),
    fail: ({ isMadeUp, name, network, pair }: Source, now: number): void => {
      if (network === null || pair === null) return add(names, name, now, failuresPerName)
      const debt = debtOf(addresses.get(network), now)
      addresses.set(network, now + Math.min(debt + addressInterval, failureWindow), now)
      // Failures for nonexistent names don't count for the name, because such names are unlimited in number.
      if (!isMadeUp) add(names, name, now, failuresPerName)
      if (!isMadeUp || debt <= failureWindow - addressInterval) add(pairs, pair, now, failuresPerPair)
    },
    succeed: ({ pair }: Source): void => {
      if (pair !== null) pairs.delete(pair)
    }
  }
}

type Counts = ReturnType<typeof makeCounts>

/**
 * Runs logins. Each costs the host some work, so concurrent logins are limited per source and by the number of failures
 * still allowed.
 */
const makeTurns = ({ allowedAt, failuresOf }: Counts) => {
  const queues = new Map<string, { readonly turns: Semaphore.Semaphore; inside: number }>()
  /** Number of logins in progress for each pair of name and address. */
  const trying = new Map<string, number>()

  /**
   * Runs a login as soon as fewer than `maxTrying` logins from its source are running. If the caller leaves, the login
   * keeps its place until the host has answered: the host's work can't be cancelled, and closing connections must not
   * allow more of it.
   */
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
      const running = Effect.interruptible(attempt).pipe(
        Effect.ensuring(Effect.andThen(queue.turns.release(1), leave)),
        Effect.forkDetach({ startImmediately: true })
      )
      return Effect.uninterruptibleMask((restore) =>
        restore(queue.turns.take(1)).pipe(
          Effect.onInterrupt(() => leave),
          Effect.andThen(running),
          Effect.flatMap((fiber) => restore(Fiber.join(fiber)))
        )
      )
    })

  /** Runs a login unless the logins in progress could already use up all remaining failures. */
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

/** The guarded operation. A null result is a failure. */
type Attempt<A, E, R> = () => Effect.Effect<A | null, E, R>

export interface LoginThrottle {
  /**
   * Makes an attempt, unless too many have failed before. A null result counts as a failure, an error as neither failure
   * nor success. An interrupted attempt counts as a failure, except that a login continues and its result counts.
   * Synchronous if nothing has failed yet and the attempt is synchronous, except for logins.
   */
  readonly guard: <A, E, R>(guess: Credential, attempt: Attempt<A, E, R>) => Effect.Effect<Guarded<A>, E, R>
}

/** Makes a throttle for one kind of guess. */
const makeFor = (kind: Credential["kind"], now: () => number, capacity: number): LoginThrottle => {
  const counts = makeCounts(capacity)
  const { bounded, inTurn } = makeTurns(counts)
  const isLogin = kind === "login"

  /**
   * Counts the result of an attempt and decides what to disclose. Concurrent attempts reveal no more than sequential
   * ones.
   */
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

  /**
   * Counts an interrupted attempt as a failure. Otherwise a client could guess without limit by closing slow requests.
   */
  const counted = <A, E, R>(guess: Credential, attempt: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Exit.isExit(attempt)
      ? attempt
      : Effect.onInterrupt(attempt, () => Effect.sync(() => counts.fail(sourceOf(guess), now())))

  /**
   * Makes an attempt while no failures are counted. If the credentials are right, as usual, no failures need to be
   * looked up.
   */
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
 * Makes a throttle with no failures yet. `now` returns the time in milliseconds. Each kind of guess has three tables of
 * at most `capacity` entries.
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

// Failures in bounded memory. The oldest entries are evicted, except those that make a caller wait.

/** Rules for a table's values. `now` is in milliseconds. */
export interface FailureRules<Value> {
  /** Whether a value no longer counts. */
  readonly isOver: (value: Value, now: number) => boolean
  /** Whether an entry is at its limit. */
  readonly isAtLimit: (key: string, value: Value, now: number) => boolean
}

/** A map of limited size. It evicts the entry that was set longest ago, but no entry at its limit. */
export class FailureTable<Value> {
  readonly #capacity: number
  readonly #rules: FailureRules<Value>
  /** Entries below their limit when they were set, oldest first. */
  readonly #open = new Map<string, Value>()
  /** Entries at their limit, oldest first. They are removed when they no longer count. */
  readonly #held = new Map<string, Value>()

  constructor(capacity: number, rules: FailureRules<Value>) {
    this.#capacity = capacity
    this.#rules = rules
  }

  /** Number of entries. */
  get size(): number {
    return this.#open.size + this.#held.size
  }

  /** Whether no entry counts any more. */
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

  /** Sets an entry. A new entry is dropped if all others are at their limits. */
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

  /** Whether `set` would keep an entry with this key. */
  canKeep(key: string, now: number): boolean {
    return this.size < this.#capacity || this.get(key) !== undefined || this.#findSpare(now) !== null
  }

  /** Returns the entry to evict for another one; null if all are at their limits. */
  #findSpare(now: number): string | null {
    for (const [key, value] of this.#held) {
      if (this.#rules.isOver(value, now)) return key
      break
    }
    for (const [key, value] of this.#open) {
      if (!this.#rules.isAtLimit(key, value, now)) return key
      // The entry is at its limit, because the limit was lowered after the entry was set.
      this.#open.delete(key)
      this.#held.set(key, value)
    }
    return null
  }
}
