/**
 * The `Transport` port on undici's `dispatch`, its lowest-level and fastest interface.
 *
 * One deadline covers a request from its start to the end of the answer's body. A receiver can't extend the deadline by
 * connecting slowly, sending headers slowly, or sending an endless body. Redirects are not followed, and bodies are not
 * decompressed. Only the given headers are sent: no trace context leaks to third parties.
 *
 * A receiver might close an idle connection just when it is used again. Therefore, if a kept-alive connection ends
 * before the first byte of the answer, the request is repeated once on a new connection within the same deadline.
 *
 * This is a hot path: it runs once per attempt. A request is one object, which is also undici's handler, and has no
 * timer of its own. Parsed URLs are cached.
 */
import type { AddressPolicy, TransportReport, TransportRequest } from "@doorhook/core"
import { isRedirect, maxExcerptLength, RecentMap, Transport, TransportBusy, TransportUnavailable } from "@doorhook/core"
import { Effect, Layer } from "effect"
import type { Dispatcher } from "undici"
import type { Connection, Destination } from "./ConnectionPool.ts"
import { ConnectionPool } from "./ConnectionPool.ts"
import { Deadlines } from "./Deadlines.ts"
import type { Expiring } from "./Deadlines.ts"
import type { EgressProxy } from "./EgressProxy.ts"
import * as GuardedConnector from "./GuardedConnector.ts"
import * as NameLookup from "./NameLookup.ts"
import { ofCongestion, ofError, ofStatus, ofTimeout, ofUrl } from "./TransportFailure.ts"
import type { TransportFailure } from "./TransportFailure.ts"

export interface UndiciTransportOptions {
  /** How long to keep an idle connection for later requests, in milliseconds. Default 4,000. */
  readonly keepAlive?: number
  /**
   * Maximum age at which a connection takes another request, in milliseconds. Later requests open a new connection and
   * resolve the name again. Default five minutes.
   */
  readonly maxAge?: number
  /** Maximum number of idle connections over all receivers. Default 256. */
  readonly maxIdle?: number
  /** Certificates of authorities, in PEM, that are trusted in addition to Node's own. Default none. */
  readonly authorities?: ReadonlyArray<string>
  /** The forward proxy, from `EgressProxy.parse`. Default none. */
  readonly proxy?: EgressProxy
  /** Resolves names. Default: the system's resolver. */
  readonly lookup?: NameLookup.NameLookup
}

/** Sends with HTTP/1.1 over kept-alive connections. Closing the scope closes the connections. */
export const layer = (options: UndiciTransportOptions = {}): Layer.Layer<Transport> =>
  Layer.effect(
    Transport,
    Effect.gen(function* () {
      const ways = GuardedConnector.makeWays(
        options.lookup ?? NameLookup.system,
        options.proxy ?? null,
        options.authorities ?? []
      )
      const pool = new ConnectionPool(ways, {
        keepAlive: options.keepAlive ?? 4_000,
        maxAge: options.maxAge ?? 300_000,
        maxIdle: options.maxIdle ?? 256
      })
      yield* Effect.addFinalizer(() => Effect.promise(() => pool.closeAll()))
      const targets = new Targets(pool)
      const deadlines = new Deadlines()
      return Transport.make({
        send: (request, done) => {
          const target = targets.of(request)
          if (target === null) {
            done(reportOf(ofUrl(), 0))
            return noop
          }
          const exchange = new Exchange(pool, deadlines, target, request, done)
          exchange.start()
          return () => exchange.cancel()
        }
      })
    })
  )

const noop = (): void => undefined

/** A parsed URL with its allow-list. */
interface Target extends Destination {
  readonly allow: AddressPolicy.AllowList
  readonly hostname: string
  readonly path: string
}

/** Maximum number of cached URLs. Parsing a URL again costs little. */
const maxTargets = 4_096

class Targets {
  readonly #pool: ConnectionPool
  readonly #byUrl = new RecentMap<string, Target>(maxTargets)

  constructor(pool: ConnectionPool) {
    this.#pool = pool
  }

  /** Returns the target of a request; null if the URL is neither http nor https. */
  of({ allow, url }: TransportRequest): Target | null {
    const known = this.#byUrl.get(url)
    if (known?.allow === allow) return known
    const parsed = URL.parse(url)
    if (parsed === null || !/^https?:$/.test(parsed.protocol)) return null
    const { hostname, origin, pathname, search } = parsed
    const target = { origin, key: this.#pool.keyOf(origin, allow), allow, hostname, path: pathname + search }
    this.#byUrl.set(url, target)
    return target
  }
}

type Answered = Extract<TransportReport, { readonly _tag: "Answered" }>

/** Maximum number of interim answers (status 1xx, RFC 9110 section 15.2) before the final one. */
const maxInterim = 16

/** A request, from its start until it is reported to `done` or cancelled. */
class Exchange implements Dispatcher.DispatchHandler, Expiring {
  readonly deadline: number
  readonly dueAt: number
  readonly #pool: ConnectionPool
  readonly #deadlines: Deadlines
  readonly #target: Target
  readonly #request: TransportRequest
  readonly #done: (report: TransportReport) => void
  readonly #startedAt: number
  #isOpen = true
  #connection: Connection
  /** Bytes that a kept-alive connection had received before this request; null for a new connection. */
  #receivedBefore: number | null
  #interim = 0
  /** 0 until the headers of the answer are complete. The fields below are set at the same time. */
  #status = 0
  #retryAfter: string | null = null
  #location: string | null = null
  #headers: Answered["headers"]
  #headersElapsed = 0
  #chunks: Array<Buffer> | null = null
  #received = 0

  constructor(
    pool: ConnectionPool,
    deadlines: Deadlines,
    target: Target,
    request: TransportRequest,
    done: (report: TransportReport) => void
  ) {
    this.#pool = pool
    this.#deadlines = deadlines
    this.#target = target
    this.#request = request
    this.#done = done
    this.deadline = request.deadline
    this.#startedAt = performance.now()
    this.dueAt = this.#startedAt + request.deadline
    this.#connection = pool.take(target, request)
    this.#receivedBefore = this.#connection.received
  }

  start(): void {
    this.#deadlines.add(this, this.#startedAt)
    this.#dispatch()
  }

  cancel(): void {
    if (this.#isOpen) this.#leave(null)
  }

  expire(): void {
    this.#giveUp(() => {
      const { stage } = this.#connection
      // Once the name is resolved, a timeout is the receiver's fault, however long the lookup waited.
      return stage === "queue"
        ? ofCongestion(this.#target.hostname, `it waited for other lookups until the deadline of ${this.deadline} ms`)
        : ofTimeout(this.deadline, stage)
    })
  }

  onRequestStart(): void {}

  onResponseStart(
    _: unknown,
    status: number,
    headers: Readonly<Record<string, string | Array<string> | undefined>>
  ): void {
    if (!this.#isOpen) return
    if (status < 200) {
      if (status < 100 || ++this.#interim > maxInterim) this.#fail(ofStatus(status))
      return
    }
    const now = performance.now()
    const isLate = now >= this.dueAt
    // After a block of the event loop, an answer counts as in time, because its arrival time is unknown.
    if (isLate && !this.#deadlines.isCatchingUp(now)) return this.expire()
    this.#status = status
    this.#retryAfter = headerText(headers["retry-after"])
    if (this.#request.method === "GET") this.#headers = headers
    if (isRedirect(status)) this.#location = headerText(headers["location"])
    this.#headersElapsed = isLate ? this.deadline : now - this.#startedAt
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (!this.#isOpen) return
    if (this.#received < maxExcerptLength) {
      if (this.#chunks === null) this.#chunks = [chunk]
      else this.#chunks.push(chunk)
    }
    this.#received += chunk.length
    if (this.#received > maxExcerptLength) this.#report(false)
  }

  onResponseEnd(): void {
    if (this.#isOpen) this.#report(true)
  }

  onResponseError(_: unknown, error: Error): void {
    if (!this.#isOpen) return
    const left = this.dueAt - performance.now()
    if (!this.#isRepeatable(left)) {
      const isUnanswered = this.#target.origin.startsWith("http:") && this.#isSilent()
      return this.#giveUp(() => ofError(this.#connection.fault ?? error, isUnanswered))
    }
    const { allow, client } = this.#request
    this.#receivedBefore = null
    this.#pool.close(this.#connection)
    this.#connection = this.#pool.takeNew(this.#target, { allow, client, deadline: left })
    this.#dispatch()
  }

  /** Whether to repeat the request: it used a kept-alive connection, nothing was received, and there is time left. */
  #isRepeatable(left: number): boolean {
    return this.#receivedBefore !== null && this.#isSilent() && left > 0
  }

  /** Whether the connection has received nothing since the request. */
  #isSilent(): boolean {
    return this.#connection.received === (this.#receivedBefore ?? 0)
  }

  #dispatch(): void {
    const { body, headers, method = "POST" } = this.#request
    const content = method === "GET" ? null : body
    this.#connection.client.dispatch({ path: this.#target.path, method, headers, body: content }, this)
  }

  /** Ends the request after a failure. Once the headers are complete, the answer counts even if the body fails. */
  #giveUp(failure: () => TransportFailure): void {
    if (this.#status === 0) this.#fail(failure())
    else this.#report(false)
  }

  #fail(failure: TransportFailure): void {
    this.#leave(null)
    this.#done(reportOf(failure, performance.now() - this.#startedAt))
  }

  #report(isReusable: boolean): void {
    const now = performance.now()
    const status = this.#status
    this.#leave(isReusable ? now : null)
    this.#done({
      _tag: "Answered",
      status,
      retry_after: this.#retryAfter,
      location: this.#location,
      ...(this.#headers !== undefined && { headers: this.#headers }),
      excerpt: this.#chunks === null ? "" : excerptOf(this.#chunks),
      headers_elapsed: this.#headersElapsed,
      elapsed: now - this.#startedAt
    })
  }

  /**
   * Ends the request. `reusableAt` is when the connection became free, by `performance.now()`; null if it must be
   * closed.
   */
  #leave(reusableAt: number | null): void {
    this.#isOpen = false
    this.#deadlines.delete(this)
    if (reusableAt === null) this.#pool.close(this.#connection)
    else this.#pool.release(this.#connection, reusableAt)
  }
}

const reportOf = (failure: TransportFailure, elapsed: number): TransportReport => {
  switch (failure._tag) {
    case "EgressFailure":
      return new TransportUnavailable({ message: failure.message })
    case "CongestionFailure":
      return new TransportBusy({ message: failure.message })
    case "AttemptFailure":
      return { _tag: "Failed", outcome: failure.outcome, detail: failure.message, elapsed }
  }
}

const headerText = (value: string | ReadonlyArray<string> | undefined): string | null =>
  value === undefined ? null : typeof value === "string" ? value : (value[0] ?? null)

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** Returns the beginning of a body as text, with invalid bytes replaced. */
const excerptOf = (chunks: ReadonlyArray<Buffer>): string => {
  const bytes = (chunks.length === 1 ? chunks[0] : undefined) ?? Buffer.concat(chunks)
  const text = decoder.decode(bytes.subarray(0, maxExcerptLength))
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (text.length * 3 <= maxExcerptLength || Buffer.byteLength(text) <= maxExcerptLength) return text
  // Each replaced byte became three bytes, so the text is cut again.
  return text.slice(0, encoder.encodeInto(text, new Uint8Array(maxExcerptLength)).read)
}
