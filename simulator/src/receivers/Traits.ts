/**
 * The ways in which receivers are known to fail, each as a trait.
 */
import { chance } from "../random/Distribution.ts"
import type { Trait } from "./Receiver.ts"
import { answered, failed, refusalTime } from "./Receiver.ts"

/** A part of each day, or of one day, in minutes of the receiver's clock. May run over midnight. */
export interface DownTime {
  readonly from: number
  readonly to: number
  /** `2026-03-03`; null for every day. */
  readonly on: string | null
}

export const allDay: DownTime = { from: 0, to: 24 * 60, on: null }

const nextDay = (date: string): string =>
  new Date(Date.parse(`${date}T12:00:00Z`) + 24 * 3_600_000).toISOString().slice(0, 10)

/** Whether a moment of the receiver's clock is within a down time. */
const isWithin = ({ from, on, to }: DownTime, minute: number, date: string): boolean => {
  if (from < to) return minute >= from && minute < to && (on === null || on === date)
  const evening = minute >= from && (on === null || on === date)
  return evening || (minute < to && (on === null || nextDay(on) === date))
}

/** Nobody listens: connections are refused. */
export const down =
  (time: DownTime) =>
  (): Trait =>
  ({ local }) =>
    isWithin(time, local.minute, local.date) ? failed("connection_refused", refusalTime, false) : null

/** Gone for good, from a time after the beginning on: 410. */
export const gone =
  (after: number) =>
  (): Trait =>
  ({ sinceStart }) =>
    sinceStart >= after ? answered(410, refusalTime, false) : null

/** Some requests meet a server error or a broken connection. */
export const flaky =
  (share: number) =>
  (): Trait =>
  ({ deadline }, { latency, rng }) => {
    if (!chance(rng, share)) return null
    const elapsed = Math.min(latency(), deadline)
    return chance(rng, 0.7)
      ? answered(rng.below(2) === 0 ? 500 : 502, elapsed, false)
      : failed("connection_reset", elapsed, false)
  }

/** Some events are processed, and the answer is lost on the way: the sender must send them again. */
export const acknowledgementLost =
  (share: number) =>
  (): Trait =>
  ({ deadline }, { latency, rng }) =>
    chance(rng, share) ? failed("connection_reset", Math.min(latency(), deadline), true) : null

/** Some answers come when the sender has given up waiting: processed, and sent again. */
export const late =
  (share: number) =>
  (): Trait =>
  ({ deadline }, { rng }) =>
    chance(rng, share) ? failed("timeout", deadline, true) : null

/** So many requests in each period, and 429 to the others, with when to come back. Counted in whole periods. */
export const rateLimited = (limit: number, period: number, retryAfter: number | null) => (): Trait => {
  let current = 0
  let taken = 0
  return ({ now }) => {
    const place = Math.floor(now / period)
    if (place !== current) {
      current = place
      taken = 0
    }
    if (++taken <= limit) return null
    const wait = retryAfter ?? period - (now % period)
    return answered(429, refusalTime, false, `${Math.max(1, Math.ceil(wait / 1_000))}`)
  }
}
