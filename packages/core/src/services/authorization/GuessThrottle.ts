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
import { Clock, Context, Effect, Result, Semaphore } from "effect"
import { NetAddress } from "effect/net"
import { FailureTable } from "./FailureTable.ts"

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
export interface Guess {
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
const nameKey = ({ kind, name }: Guess): string =>
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

const sourceOf = (guess: Guess): Source => {
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

export class GuessThrottle extends Context.Service<
  GuessThrottle,
  {
    /**
     * Makes an attempt, unless too many failed before. Null is a failure, and so is one that is interrupted; an error is
     * neither.
     */
    readonly guard: <A, E, R>(guess: Guess, attempt: Effect.Effect<A | null, E, R>) => Effect.Effect<Guarded<A>, E, R>
  }
>()("@doorhook/core/services/authorization/GuessThrottle") {}

/** A throttle of one kind of guess. */
const makeFor = (kind: Guess["kind"], capacity: number): GuessThrottle["Service"] => {
  const counts = makeCounts(capacity)
  const { bounded, inTurn } = makeTurns(counts)
  const isLogin = kind === "login"

  /** Counts what became of an attempt, and says what to disclose of it: many at once show no more than one after the other. */
  const settle = <A>(source: Source, value: A | null, now: number): Guarded<A> => {
    const wait = counts.waitOf(source, now)
    if (wait !== null) return throttled(wait)
    if (value !== null) {
      counts.succeed(source)
      return { _tag: "Done", value }
    }
    const slow = counts.addressWaitOf(source, now)
    counts.fail(source, now)
    return slow === null ? { _tag: "Done", value } : throttled(slow)
  }

  const guard: GuessThrottle["Service"]["guard"] = Effect.fnUntraced(function* (guess, attempt) {
    const begin = yield* Clock.currentTimeMillis
    // Most requests present what is right while nothing has failed: they cost no look-up.
    const source = isLogin || !counts.isEmpty(begin) ? sourceOf(guess) : null
    if (source !== null) {
      const wait = counts.waitOf(source, begin) ?? (isLogin ? counts.addressWaitOf(source, begin) : null)
      if (wait !== null) return throttled(wait)
      if (counts.isPaced(source, begin)) yield* Effect.sleep(pause)
    }
    const trial = isLogin && source !== null ? bounded(source, begin, attempt) : attempt
    // A client that hangs up before a slow answer must not guess on without being counted.
    const value = yield* Effect.onInterrupt(trial, () =>
      Effect.map(Clock.currentTimeMillis, (now) => counts.fail(source ?? sourceOf(guess), now))
    )
    if (value === tooMany) return throttled(1)
    const now = yield* Clock.currentTimeMillis
    if (source === null && value !== null && counts.isEmpty(now)) return { _tag: "Done", value }
    return settle(source ?? sourceOf(guess), value, now)
  })

  return { guard: isLogin ? (guess, attempt) => inTurn(sourceOf(guess), guard(guess, attempt)) : guard }
}

/** A throttle without history. Each kind of guess has three tables of at most `capacity` entries. */
export const make = (capacity = defaultCapacity): GuessThrottle["Service"] => {
  const kinds: Record<Guess["kind"], GuessThrottle["Service"]> = {
    login: makeFor("login", capacity),
    client: makeFor("client", capacity),
    authorize: makeFor("authorize", capacity),
    operator: makeFor("operator", capacity)
  }
  return GuessThrottle.of({ guard: (guess, attempt) => Effect.suspend(() => kinds[guess.kind].guard(guess, attempt)) })
}
