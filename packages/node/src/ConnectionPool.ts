/**
 * Open connections, and those that are idle until the next request to the same origin.
 *
 * A connection is an undici client with one request at a time. Giving up on a request therefore closes its connection,
 * and no late answer is left that the next request could take for its own. A connection serves only requests under the
 * allow-list that it was opened under. Beyond `maxIdle`, the connection that has been idle longest is closed. A connection that
 * is older than `maxAge` is not kept: its name may resolve to another address by now.
 */
import type { AddressPolicy } from "@doorhook/core"
import { Cause, Effect, Exit } from "effect"
import { IpNetwork } from "effect/net"
import type { Socket } from "node:net"
import { Client } from "undici"
import * as GuardedConnector from "./GuardedConnector.ts"

export interface PoolOptions {
  /** The longest time that a connection stays idle, in milliseconds. */
  readonly keepAlive: number
  /** How long a connection serves further requests, in milliseconds since it was made. */
  readonly maxAge: number
  /** The most idle connections, over all origins. */
  readonly maxIdle: number
}

/** Where a connection leads. */
export interface Destination {
  readonly origin: string
  /** Destinations with equal keys share connections: the same origin under an equal allow-list. */
  readonly key: string
}

/** The longest head of an answer, in bytes. */
const maxHeaderSize = 16 * 1024

const ignore = (): void => undefined

/** One connection, open or being opened. */
export class Connection {
  readonly client: Client
  readonly key: string
  /** By `performance.now()`. */
  readonly madeAt = performance.now()
  /** How far opening it has come; null once it is open. */
  stage: GuardedConnector.Stage | null = null
  /** The first error of its socket; null without one. undici may report a later error that only follows from it. */
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
      // A receiver may ask for less by `keep-alive: timeout=`, not for more.
      keepAliveMaxTimeout: keepAlive,
      // The deadline of each request covers what these would.
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

  /** The bytes that its socket has received, without those of TLS itself; null before it was open. */
  get received(): number | null {
    return this.#socket?.bytesRead ?? null
  }

  /** Ends it at once, whatever it is doing. */
  destroy(): Promise<void> {
    this.#stopOpening()
    return this.client.destroy()
  }
}

export class ConnectionPool {
  readonly #ways: GuardedConnector.Ways
  readonly #options: PoolOptions
  readonly #open = new Set<Connection>()
  /** All idle connections, the one that has been idle longest first. */
  readonly #idle = new Set<Connection>()
  /** The idle connections of each key that has open connections; the one that has been idle longest first. */
  readonly #idleByKey = new Map<string, Array<Connection>>()
  readonly #allowTexts = new WeakMap<AddressPolicy.AllowList, string>()

  constructor(ways: GuardedConnector.Ways, options: PoolOptions) {
    this.#ways = ways
    this.#options = options
  }

  /** The key of an origin under an allow-list. Keep it with the URL: building it takes longer than taking a connection. */
  keyOf(origin: string, allow: AddressPolicy.AllowList): string {
    const text = this.#allowTexts.get(allow) ?? allow.map(IpNetwork.format).join(" ")
    this.#allowTexts.set(allow, text)
    return `${origin} ${text}`
  }

  /** A connection for one request: the one that has been idle shortest, or a new one. */
  take(destination: Destination, purpose: GuardedConnector.Purpose): Connection {
    const idle = this.#idleByKey.get(destination.key)?.pop()
    if (idle === undefined) return this.takeNew(destination, purpose)
    this.#idle.delete(idle)
    return idle
  }

  /** A new connection for one request. */
  takeNew(destination: Destination, purpose: GuardedConnector.Purpose): Connection {
    const connection = new Connection(destination, purpose, this.#ways, this.#options.keepAlive)
    this.#open.add(connection)
    connection.client.on("disconnect", () => {
      if (this.#idle.has(connection)) this.close(connection)
    })
    return connection
  }

  /** Keeps a connection whose answer has ended at `now`, by `performance.now()`. */
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

  /** Closes a connection at once, whatever it is doing. */
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
