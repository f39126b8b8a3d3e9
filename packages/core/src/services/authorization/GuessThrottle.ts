/**
 * Slows down guessing of passwords and of clients' secrets (RFC 6749 sections 2.3.1 and 10.10).
 *
 * After ten failures at one name from one address within fifteen minutes that address waits; others may go on, so that
 * nobody can lock a user or a client out. Once a name has failed a hundred times, from wherever, each address has one
 * failure instead of ten. Where the address is not known nobody is refused: whoever could be would be everybody. Each
 * try is answered later instead. Kept in the memory of one process: a restart forgives.
 */
import { Clock, Context, Effect, Result } from "effect"
import { NetAddress } from "effect/net"
import { RecentMap } from "../../domain/RecentMap.ts"

/** How long a failure counts, in milliseconds. */
const failureWindow = 15 * 60_000

/** Failures of one name from one address before it must wait. */
const failuresPerAddress = 10

/** Failures of one name from anywhere before every address has `failuresUnderAttack` only. */
const failuresPerName = 100
const failuresUnderAttack = 1

/** How much later a try is made that comes from no known address, after ten failures, in milliseconds. */
const pause = 2_000

/** The most names, and pairs of name and address, that are remembered; the oldest are forgotten first. */
const capacity = 20_000

/** What is guessed at, and from where. */
export interface Guess {
  /** A user's password; a client's secret at the token endpoint and its siblings; one in the authorize step. */
  readonly kind: "login" | "client" | "authorize"
  /** The login or the client's id. */
  readonly name: string
  /** The network address it comes from; null when nobody knows. */
  readonly address: string | null
}

/** What became of a guarded attempt. */
export type Guarded<A> =
  | { readonly _tag: "Done"; readonly value: A | null }
  /** Not tried, or tried and not told. `retry_after` is in whole seconds. */
  | { readonly _tag: "Throttled"; readonly retry_after: number }

/** What becomes of a login that is not tried because too many are being tried. */
const tooMany: unique symbol = Symbol("too many at once")

/** Times of failures, oldest first, by what failed. */
class FailureTimes {
  readonly #times = new RecentMap<string, ReadonlyArray<number>>(capacity)

  /** None that is still to come, as it may be where the clock was set back. */
  recent(key: string, now: number): ReadonlyArray<number> {
    return (this.#times.get(key) ?? []).filter((time) => time > now - failureWindow && time <= now)
  }

  add(key: string, now: number, most: number): void {
    this.#times.set(key, [...this.recent(key, now), now].slice(-most))
  }

  forget(key: string): void {
    this.#times.delete(key)
  }
}

/** The key under which a name's failures are counted: spellings of a login that a host may take for one share it. */
const nameKey = ({ kind, name }: Guess): string =>
  `${kind} ${kind === "login" ? name.slice(0, 256).trim().toLowerCase() : name.slice(0, 256)}`

/** What counts as one address: of IPv6 the network of 64 bits, all of which one subscriber has. */
const networkOf = (address: string): string =>
  Result.match(NetAddress.ipFromString(address.split("%")[0] ?? address), {
    onFailure: () => address.slice(0, 64),
    onSuccess: (parsed) => {
      const canonical = NetAddress.toCanonical(parsed)
      return NetAddress.isIpv6Address(canonical)
        ? NetAddress.ipv6ToSegments(canonical).slice(0, 4).join(":")
        : NetAddress.formatIp(canonical)
    }
  })

export class GuessThrottle extends Context.Service<
  GuessThrottle,
  {
    /** Makes an attempt, unless too many failed before. Null is a failure, and so is one that is interrupted; an error is neither. */
    readonly guard: <A, E, R>(guess: Guess, attempt: Effect.Effect<A | null, E, R>) => Effect.Effect<Guarded<A>, E, R>
  }
>()("@doorhook/core/services/authorization/GuessThrottle") {}

/** A throttle without history. */
export const make = (): GuessThrottle["Service"] => {
  const byName = new FailureTimes()
  const byAddress = new FailureTimes()
  /** How many logins are being tried, by pair. */
  const trying = new Map<string, number>()

  const allowedAt = (name: string, now: number): number =>
    byName.recent(name, now).length >= failuresPerName ? failuresUnderAttack : failuresPerAddress

  /** Seconds that an address has to wait; null when it may go on. */
  const waitOf = (name: string, pair: string, now: number): number | null => {
    const blocking = byAddress.recent(pair, now).at(-allowedAt(name, now))
    return blocking === undefined ? null : Math.ceil((blocking + failureWindow - now) / 1_000)
  }

  /** Makes an attempt that costs the host something: no more of them at once than may fail. */
  const bounded = <A, E, R>(
    name: string,
    pair: string,
    now: number,
    attempt: Effect.Effect<A, E, R>
  ): Effect.Effect<A | typeof tooMany, E, R> =>
    Effect.suspend((): Effect.Effect<A | typeof tooMany, E, R> => {
      const before = trying.get(pair) ?? 0
      if (before + byAddress.recent(pair, now).length >= allowedAt(name, now)) return Effect.succeed(tooMany)
      trying.set(pair, before + 1)
      const end = Effect.sync(() => {
        const left = (trying.get(pair) ?? 1) - 1
        if (left === 0) trying.delete(pair)
        else trying.set(pair, left)
      })
      return Effect.ensuring(attempt, end)
    })

  const fail = (name: string, pair: string | null, now: number): void => {
    byName.add(name, now, failuresPerName)
    if (pair !== null) byAddress.add(pair, now, failuresPerAddress)
  }

  const guard: GuessThrottle["Service"]["guard"] = Effect.fnUntraced(function* (guess, attempt) {
    const name = nameKey(guess)
    const pair = guess.address === null ? null : `${networkOf(guess.address)} ${name}`
    const begin = yield* Clock.currentTimeMillis
    if (pair === null) {
      if (byName.recent(name, begin).length >= failuresPerAddress) yield* Effect.sleep(pause)
    } else {
      const wait = waitOf(name, pair, begin)
      if (wait !== null) return { _tag: "Throttled", retry_after: wait }
    }
    const trial = pair !== null && guess.kind === "login" ? bounded(name, pair, begin, attempt) : attempt
    // Who hangs up before a slow no must not guess on for nothing.
    const value = yield* Effect.onInterrupt(trial, () =>
      Effect.map(Clock.currentTimeMillis, (now) => fail(name, pair, now))
    )
    if (value === tooMany) return { _tag: "Throttled", retry_after: 1 }
    const now = yield* Clock.currentTimeMillis
    // Looked at again before anything is told, so that many attempts at once show no more than one after the other.
    const wait = pair === null ? null : waitOf(name, pair, now)
    if (wait !== null) return { _tag: "Throttled", retry_after: wait }
    if (value === null) fail(name, pair, now)
    else if (pair !== null) byAddress.forget(pair)
    return { _tag: "Done", value }
  })

  return GuessThrottle.of({ guard })
}
