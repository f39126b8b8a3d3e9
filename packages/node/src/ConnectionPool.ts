/**
 * Pool of open connections, including idle ones for later requests to the same origin.
 *
 * A connection is an undici client with one request at a time. Cancelling a request closes its connection, so that a
 * late answer can't be mistaken for the answer to the next request. A connection is reused only for requests with an
 * equal allow-list. If more than `maxIdle` connections are idle, the one that has been idle longest is closed. A
 * connection older than `maxAge` is not kept, because its name might now resolve to another address.
 */
import type { AddressPolicy } from "@doorhook/core"
import { Cause, Effect, Exit } from "effect"
import { IpNetwork } from "effect/net"
import type { Socket } from "node:net"
import { Client } from "undici"
import * as GuardedConnector from "./GuardedConnector.ts"
import type { Stage } from "./TransportFailure.ts"

export interface PoolOptions {
  /** Maximum idle time of a connection, in milliseconds. */
  readonly keepAlive: number
  /** Maximum age at which a connection takes another request, in milliseconds. */
  readonly maxAge: number
  /** Maximum number of idle connections over all origins. */
  readonly maxIdle: number
}

/** The destination of a connection. */
export interface Destination {
  readonly origin: string
  /** Identifies the origin and the allow-list. Destinations with equal keys share connections. */
  readonly key: string
}

/** Maximum size of an answer's status line and headers, in bytes. */
const maxHeaderSize = 16 * 1024

const ignore = (): void => undefined

/** One connection, open or opening. */
export class Connection {
  readonly client: Client
  readonly key: string
  /** Creation time by `performance.now()`. */
  readonly madeAt = performance.now()
  /** The current stage of opening; null once it is open. */
  stage: Stage | null = null
  /**
   * The first error of the socket; null if there was none. undici might report a later error that only follows from the
   * first.
   */
  fault: Error | null = null
  #socket: Socket | null = null
  #stopOpening = ignore

  constructor(
    { key, origin }: Destination,
    purpose: GuardedConnector.Purpose,
    ways: GuardedConnector.Ways,
    keepAlive: number
  ) {
    this.key = key
    this.client = new Client(origin, {
      pipelining: 1,
      allowH2: false,
      maxHeaderSize,
      keepAliveTimeout: keepAlive,
      // The receiver can shorten this with `keep-alive: timeout=`, but not extend it.
      keepAliveMaxTimeout: keepAlive,
      // 0 disables these limits; each request has its own deadline.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (to, callback) => {
        this.fault = null
        const opening = GuardedConnector.open(ways, purpose, to, (reached) => (this.stage = reached))
        this.#stopOpening = Effect.runCallback(opening, {
          onExit: (exit) => {
            this.stage = null
            if (Exit.isSuccess(exit)) {
              this.#socket = exit.value.once("error", (error) => (this.fault = error))
              return callback(null, exit.value)
            }
            const error = Cause.squash(exit.cause)
            return callback(error instanceof Error ? error : new Error(String(error)), null)
          }
        })
      }
    })
  }

  /** Number of bytes received by the socket, without TLS overhead; null before the connection is open. */
  get received(): number | null {
    return this.#socket?.bytesRead ?? null
  }

  /** Closes the connection immediately, even during a request. */
  destroy(): Promise<void> {
    this.#stopOpening()
    return this.client.destroy()
  }
}

export class ConnectionPool {
  readonly #ways: GuardedConnector.Ways
  readonly #options: PoolOptions
  readonly #open = new Set<Connection>()
  /** All idle connections, longest idle first. */
  readonly #idle = new Set<Connection>()
  /** Idle connections by key, longest idle first. Only keys with open connections are stored. */
  readonly #idleByKey = new Map<string, Array<Connection>>()
  readonly #allowTexts = new WeakMap<AddressPolicy.AllowList, string>()

  constructor(ways: GuardedConnector.Ways, options: PoolOptions) {
    this.#ways = ways
    this.#options = options
  }

  /**
   * Returns the `key` for an origin and an allow-list. Callers should cache it, because building a key takes longer
   * than taking a connection.
   */
  keyOf(origin: string, allow: AddressPolicy.AllowList): string {
    const text = this.#allowTexts.get(allow) ?? allow.map(IpNetwork.format).join(" ")
    this.#allowTexts.set(allow, text)
    return `${origin} ${text}`
  }

  /** Takes a connection for one request: the most recently used idle one, or a new one. */
  take(destination: Destination, purpose: GuardedConnector.Purpose): Connection {
    const idle = this.#idleByKey.get(destination.key)?.pop()
    if (idle === undefined) return this.takeNew(destination, purpose)
    this.#idle.delete(idle)
    return idle
  }

  /** Opens a new connection for one request. */
  takeNew(destination: Destination, purpose: GuardedConnector.Purpose): Connection {
    const connection = new Connection(destination, purpose, this.#ways, this.#options.keepAlive)
    this.#open.add(connection)
    connection.client.on("disconnect", () => {
      if (this.#idle.has(connection)) this.close(connection)
    })
    return connection
  }

  /** Returns a connection to the pool. `now` is when the answer ended, by `performance.now()`. */
  release(connection: Connection, now: number): void {
    if (now - connection.madeAt >= this.#options.maxAge) return this.close(connection)
    this.#idle.add(connection)
    const others = this.#idleByKey.get(connection.key)
    if (others === undefined) this.#idleByKey.set(connection.key, [connection])
    else others.push(connection)
    if (this.#idle.size <= this.#options.maxIdle) return
    const [longest] = this.#idle
    if (longest !== undefined) this.close(longest)
  }

  /** Closes a connection immediately, even during a request. */
  close(connection: Connection): void {
    this.#destroy(connection).catch(ignore)
  }

  closeAll(): Promise<unknown> {
    return Promise.all(Array.from(this.#open, (connection) => this.#destroy(connection)))
  }

  #destroy(connection: Connection): Promise<void> {
    this.#open.delete(connection)
    const sameKey = this.#idleByKey.get(connection.key) ?? []
    if (this.#idle.delete(connection)) sameKey.splice(sameKey.indexOf(connection), 1)
    if (sameKey.length === 0) this.#idleByKey.delete(connection.key)
    return connection.destroy()
  }
}
