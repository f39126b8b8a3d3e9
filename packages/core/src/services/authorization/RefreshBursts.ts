/**
 * Which refresh tokens several workers of one client are refreshing at once.
 *
 * A rotated token is retired when what came for it is first used. Workers that share a token and refresh together would
 * then end their own grant: the first to be answered uses its access token while the others' requests are still under
 * way, and these look like a replay. So a token that came several times within a moment is retired some seconds later.
 * Somebody who stole the token gains those seconds only, and would have had them before anyway. Kept in the memory of one
 * process: requests that other processes took do not count here.
 *
 * Remembers as well which tokens it has retired, so that a read writes no more than once for a token.
 */
import { Context } from "effect"
import { RecentMap } from "../../domain/RecentMap.ts"

/** So many refreshes of one token within `burstWindow` milliseconds are workers, and not a client that tries again. */
const burstSize = 3
const burstWindow = 1_000

/** How long after the last of them the token is kept, in milliseconds. */
const burstGrace = 10_000

/** The most tokens that are remembered; the oldest are forgotten first. */
const capacity = 10_000

interface Refreshes {
  /** The last times, oldest first. */
  readonly times: ReadonlyArray<number>
  /** Until when the token is not retired. */
  readonly keptUntil: number
  /** Whether what came for it was used before. */
  readonly isUsed: boolean
}

export class RefreshBursts extends Context.Service<
  RefreshBursts,
  {
    /** Counts a refresh that was granted. */
    readonly note: (token: string, now: number) => void
    /** Notes that what came for the token is used; says whether workers are refreshing it, so that it must not be retired yet. */
    readonly use: (token: string, now: number) => boolean
    /** Notes that the token is retired; false when it is known to be. */
    readonly retire: (token: string) => boolean
    /** Takes that back: it could not be stored. */
    readonly forgetRetired: (token: string) => void
    /** Whether the token should be retired by now, because what came for it was used while workers were refreshing it. */
    readonly isOver: (token: string, now: number) => boolean
  }
>()("@doorhook/core/services/authorization/RefreshBursts") {}

/** Knows of no refreshes. */
export const make = (): RefreshBursts["Service"] => {
  const refreshes = new RecentMap<string, Refreshes>(capacity)
  const retired = new RecentMap<string, true>(capacity)
  return RefreshBursts.of({
    note: (token, now) => {
      const before = refreshes.get(token)
      const times = [...(before?.times ?? []).filter((time) => time > now - burstWindow), now].slice(-burstSize)
      const keptUntil = times.length === burstSize ? now + burstGrace : (before?.keptUntil ?? 0)
      refreshes.set(token, { times, keptUntil, isUsed: before?.isUsed === true })
    },
    use: (token, now) => {
      const known = refreshes.get(token)
      if (known === undefined || now >= known.keptUntil) return false
      if (!known.isUsed) refreshes.set(token, { ...known, isUsed: true })
      return true
    },
    retire: (token) => {
      if (retired.get(token) !== undefined) return false
      retired.set(token, true)
      return true
    },
    forgetRetired: (token) => retired.delete(token),
    isOver: (token, now) => {
      const known = refreshes.get(token)
      return known !== undefined && known.isUsed && now >= known.keptUntil
    }
  })
}
