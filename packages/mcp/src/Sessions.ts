/**
 * The open sessions of protocol revisions that have them. Each belongs to one grant: a session id without a token of that
 * grant opens nothing.
 */
import type { Principal } from "@doorhook/core"

type Owner = Pick<Principal, "grant_id" | "user_id">

interface Session {
  readonly owner: Owner
  /** When it was last used, in milliseconds since the epoch. */
  readonly usedAt: number
}

/** Limits of sessions. */
export interface SessionLimits {
  /** Sessions of one grant. One more ends the one that was not used for longest. */
  readonly perGrant: number
  /** Sessions of this process. One more ends one of the user who has the most. */
  readonly all: number
  /** Time after which an unused session ends, in milliseconds. */
  readonly idle: number
}

export class Sessions {
  readonly #limits: SessionLimits
  /** By id, the session that was not used for longest first. */
  readonly #sessions = new Map<string, Session>()

  constructor(limits: SessionLimits) {
    this.#limits = limits
  }

  /** Adds a session. Returns the ids of those that end because there are too many. */
  add(id: string, owner: Owner, now: number): ReadonlyArray<string> {
    const open = [...this.#sessions]
    const own = open.filter(([, other]) => other.owner.grant_id === owner.grant_id)
    const byUser = [...Map.groupBy(open, ([, other]) => other.owner.user_id).values()]
    const most = byUser.reduce((a, b) => (b.length > a.length ? b : a), [])
    const [ended] = own.length >= this.#limits.perGrant ? own : open.length >= this.#limits.all ? most : []
    if (ended !== undefined) this.#sessions.delete(ended[0])
    this.#sessions.set(id, { owner, usedAt: now })
    return ended === undefined ? [] : [ended[0]]
  }

  /** Whether a grant has this session. If so, the session counts as used. */
  use(id: string, owner: Owner, now: number): boolean {
    if (this.#sessions.get(id)?.owner.grant_id !== owner.grant_id) return false
    this.#sessions.delete(id)
    this.#sessions.set(id, { owner, usedAt: now })
    return true
  }

  delete(id: string): void {
    this.#sessions.delete(id)
  }

  /** Removes the sessions that were not used for too long, and returns their ids. */
  takeIdle(now: number): ReadonlyArray<string> {
    const idle = [...this.#sessions].flatMap(([id, { usedAt }]) => (now - usedAt >= this.#limits.idle ? [id] : []))
    for (const id of idle) this.#sessions.delete(id)
    return idle
  }
}
