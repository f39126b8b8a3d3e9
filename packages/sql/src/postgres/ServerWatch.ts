/**
 * Detects that connections of a pool lead to the wrong server, and closes them.
 *
 * After a failover, connections to the former primary may stay open: as a standby, it refuses all changes; frozen or cut
 * off, it says nothing. The client library keeps them, because no statement failed for the connection's sake. The name
 * or address in the URL already leads to the new primary, so a new connection shows where the old ones should lead.
 *
 * Plain state with times of the monotonic clock, in milliseconds. `PostgresDatabase` makes the new connections.
 */

/** A connection of the pool. */
export interface WatchedConnection {
  readonly openedAt: number
  /** Since when an answer, or its next part, is awaited; null while the connection is idle. */
  readonly awaitedSince: number | null
  /** Closes the connection as soon as it is idle outside a transaction. */
  readonly retire: () => void
  readonly destroy: (cause: Error) => void
}

/** What a new connection has found. */
export interface FoundServer {
  /** Identifies the server process. It differs between a primary and its standby, and after a restart. */
  readonly identity: string
  readonly readOnly: boolean
}

/** Time without an answer after which a new connection checks the server. Most statements take a few milliseconds. */
const silence = 1_000

/** Smallest pause between two rounds that close connections after an error. */
const roundPause = 1_000

const readOnlyState = "25006"

/**
 * SQLSTATEs of errors that are about the connection or its server, not about the statement (PostgreSQL, Appendix A): the
 * server is read-only, shuts down or ends the session; the connection failed; the session lacks a prepared statement or
 * has it already, as with some poolers.
 */
const connectionStates = new Set([readOnlyState, "57P01", "57P02", "57P03", "57P05", "26000", "42P05"])

/**
 * Whether an error is about the connection. `routine` is the server's function that reported it, because the code of a cached plan whose
 * result type has changed (0A000) is also that of other unsupported features.
 */
const isAboutConnection = (state: string, routine: string): boolean =>
  connectionStates.has(state) || state.startsWith("08") || (state === "0A000" && routine === "RevalidateCachedQuery")

export class ServerWatch {
  readonly #connections = new Set<WatchedConnection>()
  /** Called when there is something to check. */
  #onDoubt: () => void = () => undefined
  /** When the check began that found another server. */
  #movedAt = Number.NEGATIVE_INFINITY
  #roundAt = Number.NEGATIVE_INFINITY
  #refusesChanges = false
  #server: string | null = null
  #timer: NodeJS.Timeout | undefined

  /** Begins to report doubts about the server that a first connection has found. */
  begin({ identity }: FoundServer, onDoubt: () => void): void {
    this.#server = identity
    this.#onDoubt = onDoubt
  }

  opened(connection: WatchedConnection): void {
    this.#connections.add(connection)
    this.#timer ??= setInterval(() => this.#look(), silence / 2).unref()
  }

  /** Notes that a connection has ended. `isLost`: the server or the network ended it. */
  closed(connection: WatchedConnection, isLost: boolean): void {
    this.#connections.delete(connection)
    if (this.#connections.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    if (isLost) this.#onDoubt()
  }

  /** Notes an error that a server reported. */
  reported(state: string, routine: string): void {
    if (!isAboutConnection(state, routine)) return
    if (state === readOnlyState) this.#refusesChanges = true
    const now = performance.now()
    if (now - this.#roundAt < roundPause) return
    this.#roundAt = now
    this.#retire(now)
    this.#onDoubt()
  }

  /** Whether the server refused a change because it is read-only, and no check has found that it accepts changes. */
  get refusesChanges(): boolean {
    return this.#refusesChanges
  }

  /**
   * Compares the server that a new connection has found. If it is another one, ends the connections that lead elsewhere:
   * at once if they are silent, otherwise when they are idle. `askedAt`: when the new connection was begun.
   * Returns whether the server is another one than before.
   */
  found({ identity, readOnly }: FoundServer, askedAt: number): boolean {
    const isOther = identity !== this.#server
    this.#server = identity
    if (isOther) this.#movedAt = askedAt
    if (isOther || (this.#refusesChanges && !readOnly)) this.#retire(askedAt)
    if (!readOnly) this.#refusesChanges = false
    this.#endFormer()
    return isOther
  }

  /** Ends the silent connections to the former server. Those that were opened since it was found to be another one stay. */
  #endFormer(): void {
    for (const each of this.#silent())
      if (each.openedAt <= this.#movedAt) each.destroy(new Error("the database's address leads to another server now"))
  }

  #silent(): ReadonlyArray<WatchedConnection> {
    const before = performance.now() - silence
    return [...this.#connections].filter(({ awaitedSince }) => awaitedSince !== null && awaitedSince <= before)
  }

  #look(): void {
    this.#endFormer()
    if (this.#silent().length > 0) this.#onDoubt()
  }

  /** Closes all connections that were opened until a time, the busy ones when they become idle. */
  #retire(until: number): void {
    for (const each of this.#connections) if (each.openedAt <= until) each.retire()
  }
}
