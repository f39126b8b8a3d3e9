/**
 * Slows down guessing of passwords (RFC 6749 section 10.10).
 *
 * After ten failures of one account from one address within fifteen minutes that address waits; others may go on, so
 * that nobody can lock a user out. Once an account has failed a hundred times, from wherever, each address has one
 * failure instead of ten. Kept in the memory of one process: a restart forgives.
 */
import { Clock, Effect, Exit } from "effect"

/** How long a failure counts, in milliseconds. */
const failureWindow = 15 * 60_000

/** Failures of one account from one address before it must wait. */
const failuresPerAddress = 10

/** Failures of one account from anywhere before every address has `failuresUnderAttack` only. */
const failuresPerAccount = 100
const failuresUnderAttack = 1

/** The most accounts, and pairs of account and address, that are remembered; the oldest are forgotten first. */
const capacity = 20_000

/** Times of failures, oldest first, by what failed. */
class FailureLog {
  readonly #times = new Map<string, ReadonlyArray<number>>()

  recent(key: string, now: number): ReadonlyArray<number> {
    return (this.#times.get(key) ?? []).filter((time) => time > now - failureWindow)
  }

  replace(key: string, times: ReadonlyArray<number>): void {
    this.#times.delete(key)
    if (times.length > 0) this.#times.set(key, times)
    const oldest = this.#times.keys().next()
    if (this.#times.size > capacity && oldest.done !== true) this.#times.delete(oldest.value)
  }

  add(key: string, now: number, most: number): void {
    this.replace(key, [...this.recent(key, now), now].slice(-most))
  }

  /** Takes back one failure at a time. */
  remove(key: string, time: number, now: number): void {
    const times = this.recent(key, now)
    const at = times.indexOf(time)
    if (at !== -1) this.replace(key, times.toSpliced(at, 1))
  }
}

/** The name under which an account's failures are counted: spellings that a host may take for one share it. */
const accountKey = (login: string): string => login.slice(0, 256).trim().toLowerCase()

/** What became of a guarded attempt. */
export type Guarded<A> =
  | { readonly _tag: "Done"; readonly value: A | null }
  /** Not tried. `retry_after` is in whole seconds. */
  | { readonly _tag: "Throttled"; readonly retry_after: number }

export interface LoginThrottle {
  /** Tries to log in, unless too many tries failed before. Null is a failure; an error is neither. */
  readonly guard: <A, E, R>(
    who: { readonly login: string; readonly address: string },
    attempt: Effect.Effect<A | null, E, R>
  ) => Effect.Effect<Guarded<A>, E, R>
}

/** A throttle without history. */
export const make = (): LoginThrottle => {
  const byAccount = new FailureLog()
  const byAddress = new FailureLog()

  const guard: LoginThrottle["guard"] = Effect.fnUntraced(function* (who, attempt) {
    const now = yield* Clock.currentTimeMillis
    const account = accountKey(who.login)
    const pair = `${who.address} ${account}`
    const failures = byAddress.recent(pair, now)
    const attacked = byAccount.recent(account, now).length >= failuresPerAccount
    const allowed = attacked ? failuresUnderAttack : failuresPerAddress
    const blocking = failures.at(-allowed)
    if (blocking !== undefined) {
      return { _tag: "Throttled", retry_after: Math.ceil((blocking + failureWindow - now) / 1_000) }
    }
    // Counted before the outcome is known, so that many attempts at once are not one.
    byAddress.add(pair, now, failuresPerAddress)
    byAccount.add(account, now, failuresPerAccount)
    const exit = yield* Effect.exit(attempt)
    const later = yield* Clock.currentTimeMillis
    if (Exit.isSuccess(exit) && exit.value === null) return { _tag: "Done", value: null }
    byAccount.remove(account, now, later)
    if (Exit.isSuccess(exit)) byAddress.replace(pair, [])
    else byAddress.remove(pair, now, later)
    return { _tag: "Done", value: yield* exit }
  })

  return { guard }
}
