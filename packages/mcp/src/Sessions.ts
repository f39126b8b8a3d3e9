/**
 * The open sessions of protocol revisions that have them. Each belongs to one grant: a session id without a token of that
 * grant opens nothing.
 */
import type { GrantId } from "@doorhook/core"

interface Session {
  readonly grant: GrantId
  /** When it was last used, in milliseconds since the epoch. */
  readonly usedAt: number
}

/** Limits of sessions. */
export interface SessionLimits {
  /** Sessions of one grant. One more ends the one that was not used for longest. */
  readonly perGrant: number
  /** Sessions of this process. */
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

  /** Whether no more sessions may begin. */
  isFull(): boolean {
    return this.#sessions.size >= this.#limits.all
  }

  /** Adds a session. Returns the ids of sessions that end because the grant has too many. */
  add(id: string, grant: GrantId, now: number): ReadonlyArray<string> {
    const own = [...this.#sessions].flatMap(([other, session]) => (session.grant === grant ? [other] : []))
    const ended = own.slice(0, Math.max(0, own.length + 1 - this.#limits.perGrant))
    for (const other of ended) this.#sessions.delete(other)
    this.#sessions.set(id, { grant, usedAt: now })
    return ended
  }

  /** Whether a grant has this session. If so, the session counts as used. */
  use(id: string, grant: GrantId, now: number): boolean {
    if (this.#sessions.get(id)?.grant !== grant) return false
    this.#sessions.delete(id)
    this.#sessions.set(id, { grant, usedAt: now })
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
