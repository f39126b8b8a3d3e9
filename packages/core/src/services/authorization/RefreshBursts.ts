/**
 * Which refresh tokens several workers of one client are refreshing at once.
 *
 * A rotated token is retired when what came for it is first used. Workers that share a token and refresh together would
 * then end their own grant: the first to be answered uses its access token while the others' requests are still under
 * way, and these look like a replay. So a token that came several times within a moment is retired some seconds later.
 * Somebody who stole the token gains those seconds only, and would have had them before anyway. Kept in the memory of one
 * process: requests that other processes took do not count here.
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
}

export class RefreshBursts extends Context.Service<
  RefreshBursts,
  {
    /** Counts a refresh that was granted. */
    readonly note: (token: string, now: number) => void
    /** Whether workers are refreshing the token, so that it must not be retired yet. */
    readonly isUnderWay: (token: string, now: number) => boolean
  }
>()("@doorhook/core/services/authorization/RefreshBursts") {}

/** Knows of no refreshes. */
export const make = (): RefreshBursts["Service"] => {
  const refreshes = new RecentMap<string, Refreshes>(capacity)
  return RefreshBursts.of({
    note: (token, now) => {
      const before = refreshes.get(token)
      const times = [...(before?.times ?? []).filter((time) => time > now - burstWindow), now].slice(-burstSize)
      const keptUntil = times.length === burstSize ? now + burstGrace : (before?.keptUntil ?? 0)
      refreshes.set(token, { times, keptUntil })
    },
    isUnderWay: (token, now) => now < (refreshes.get(token)?.keptUntil ?? 0)
  })
}
