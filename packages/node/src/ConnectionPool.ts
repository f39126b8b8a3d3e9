/**
 * Connections, and those of them that wait for the next request to the same origin.
 *
 * A connection is an undici client with one request at a time. So giving up on a request can close its connection,
 * however far that has come, and no late answer is left that the next request could take for its own. A connection
 * serves only requests under the allow-list that it was opened under. When too many wait, the one that has waited
 * longest is closed. One that has served for some minutes is not kept: its name may lead elsewhere by now.
 */
import type { AddressPolicy } from "@doorhook/core"
import { Cause, Effect, Exit } from "effect"
import { IpNetwork } from "effect/net"
import type { Socket } from "node:net"
import { Client } from "undici"
import * as GuardedConnector from "./GuardedConnector.ts"

export interface PoolOptions {
  /** How long a connection waits at most, in milliseconds. */
  readonly keepAlive: number
  /** For how long a connection serves further requests, in milliseconds since it was made. */
  readonly maxAge: number
  /** How many connections wait at most, over all origins. */
  readonly maxIdle: number
}

export interface Connection {
  readonly client: Client
  /** Requests to the same origin under the same allow-list have the same key. */
  readonly key: string
  /** When it was made, by a clock that nobody sets, in milliseconds. */
  readonly madeAt: number
  /** How far opening it has come; null once it is open. */
  readonly stage: () => GuardedConnector.Stage | null
  /** How many bytes its socket has received, without TLS's own; null before it was open. */
  readonly received: () => number | null
  /** The first error of its socket, null when there was none. undici may report a later one that only follows from it. */
  readonly fault: () => Error | null
  readonly close: () => Promise<void>
}

/** The longest head of an answer, in bytes. */
const maxHeaderSize = 16 * 1024

const ignore = (): void => undefined

export class ConnectionPool {
  readonly #ways: GuardedConnector.Ways
  readonly #options: PoolOptions
  readonly #open = new Set<Connection>()
  /** Those that wait, the one that has waited longest first. */
  readonly #idle = new Set<Connection>()
  readonly #idleByKey = new Map<string, Array<Connection>>()
  readonly #allowKeys = new WeakMap<AddressPolicy.AllowList, string>()

  constructor(ways: GuardedConnector.Ways, options: PoolOptions) {
    this.#ways = ways
    this.#options = options
  }

  /** A connection for one request: the one that has waited shortest, or a new one. */
  take(origin: string, purpose: GuardedConnector.Purpose): Connection {
    const key = this.#keyOf(origin, purpose.allow)
    const known = this.#idleByKey.get(key)?.at(-1)
    if (known === undefined) return this.#make(origin, purpose, key)
    this.#wake(known)
    return known
  }

  /** A new connection for one request. */
  takeNew(origin: string, purpose: GuardedConnector.Purpose): Connection {
    return this.#make(origin, purpose, this.#keyOf(origin, purpose.allow))
  }

  /** Keeps a connection whose answer has ended. */
  giveBack(connection: Connection): void {
    if (performance.now() - connection.madeAt >= this.#options.maxAge) return this.close(connection)
    this.#idle.add(connection)
    const others = this.#idleByKey.get(connection.key)
    if (others === undefined) this.#idleByKey.set(connection.key, [connection])
    else others.push(connection)
    const [longest] = this.#idle
    if (longest !== undefined && this.#idle.size > this.#options.maxIdle) this.close(longest)
  }

  /** Closes a connection at once, whatever it is doing. */
  close(connection: Connection): void {
    connection.close().catch(ignore)
  }

  closeAll(): Promise<unknown> {
    return Promise.all(Array.from(this.#open, (connection) => connection.close()))
  }

  #keyOf(origin: string, allow: AddressPolicy.AllowList): string {
    const known = this.#allowKeys.get(allow) ?? allow.map(IpNetwork.format).join(" ")
    this.#allowKeys.set(allow, known)
    return `${origin} ${known}`
  }

  /** Takes a connection from those that wait. */
  #wake(connection: Connection): void {
    if (!this.#idle.delete(connection)) return
    const others = this.#idleByKey.get(connection.key) ?? []
    others.splice(others.indexOf(connection), 1)
    if (others.length === 0) this.#idleByKey.delete(connection.key)
  }

  #make(origin: string, purpose: GuardedConnector.Purpose, key: string): Connection {
    let stage: GuardedConnector.Stage | null = null
    let socket: Socket | null = null
    let fault: Error | null = null
    let stopOpening: () => void = ignore
    const client = new Client(origin, {
      pipelining: 1,
      allowH2: false,
      maxHeaderSize,
      keepAliveTimeout: this.#options.keepAlive,
      // A receiver may ask for less by `keep-alive: timeout=`, not for more.
      keepAliveMaxTimeout: this.#options.keepAlive,
      // The deadline of each request covers what these would.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (to, callback) => {
        fault = null
        const opening = GuardedConnector.open(this.#ways, purpose, to, (reached) => (stage = reached))
        stopOpening = Effect.runCallback(opening, {
          onExit: (exit) => {
            stage = null
            if (Exit.isSuccess(exit)) {
              socket = exit.value.once("error", (error) => (fault = error))
              return callback(null, exit.value)
            }
            const error = Cause.squash(exit.cause)
            return callback(error instanceof Error ? error : new Error(String(error)), null)
          }
        })
      }
    })
    const connection: Connection = {
      client,
      key,
      madeAt: performance.now(),
      stage: () => stage,
      received: () => socket?.bytesRead ?? null,
      fault: () => fault,
      close: () => {
        this.#wake(connection)
        this.#open.delete(connection)
        stopOpening()
        return client.destroy()
      }
    }
    this.#open.add(connection)
    client.on("disconnect", () => {
      if (this.#idle.has(connection)) this.close(connection)
    })
    return connection
  }
}
