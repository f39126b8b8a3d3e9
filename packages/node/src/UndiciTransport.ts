/**
 * The `Transport` port over undici's `dispatch`, its lowest and fastest interface.
 *
 * One deadline is armed when the request starts and stays armed to the end of the body, so that a receiver can hold a
 * connection no longer by connecting slowly, by dripping headers, or by a body that never ends. Redirects are never
 * followed, bodies are never decompressed. Nothing but the given headers is sent: no trace context leaks to third parties.
 *
 * A receiver that closes idle connections may close one just when it is used again. So where a kept connection ends before
 * a byte of the answer has come, the request is made once more on a new one, within the same deadline.
 */
import type { TransportRequest, TransportResult } from "@doorhook/core"
import { isRedirect, maxExcerptLength, Transport, TransportBusy, TransportUnavailable } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { ConnectionPool } from "./ConnectionPool.ts"
import type { EgressProxy } from "./EgressProxy.ts"
import * as GuardedConnector from "./GuardedConnector.ts"
import * as NameLookup from "./NameLookup.ts"
import { ofCongestion, ofError, ofStatus, ofTimeout, ofUrl } from "./TransportFailure.ts"
import type { TransportFailure } from "./TransportFailure.ts"

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** What is kept of a body as text, decoded leniently. */
const excerptOf = (chunks: ReadonlyArray<Buffer>): string => {
  const text = decoder.decode(Buffer.concat(chunks).subarray(0, maxExcerptLength))
  if (Buffer.byteLength(text) <= maxExcerptLength) return text
  // Each byte that could not be decoded became three.
  return text.slice(0, encoder.encodeInto(text, new Uint8Array(maxExcerptLength)).read)
}

const headerText = (value: string | ReadonlyArray<string> | undefined): string | null =>
  value === undefined ? null : typeof value === "string" ? value : (value[0] ?? null)

/** What a timer of Node's can't wait for is over at once; in milliseconds. */
const longestTimer = 2 ** 31 - 1

/**
 * How late, in milliseconds, the deadline timer must fire for the event loop to count as blocked. A response that is readable
 * then counts as in time, because its arrival time is unknown.
 */
const blockedFor = 100

/** How many interim answers (status 1xx, RFC 9110 section 15.2) may come before the real one. */
const maxInterim = 16

/** What is known of an answer once its headers are complete. */
type Head = Pick<
  TransportResult & { readonly _tag: "Answered" },
  "status" | "retry_after" | "location" | "headers_elapsed"
>

type Ending = Effect.Effect<TransportResult, TransportUnavailable | TransportBusy>

const failed = (failure: TransportFailure, elapsed: number): Ending => {
  switch (failure._tag) {
    case "EgressFailure":
      return Effect.fail(new TransportUnavailable({ message: failure.message }))
    case "CongestionFailure":
      return Effect.fail(new TransportBusy({ message: failure.message }))
    case "AttemptFailure":
      return Effect.succeed({ _tag: "Failed", outcome: failure.outcome, detail: failure.message, elapsed })
  }
}

/** Makes one request and calls back once. Returns what ends the request without calling back. */
const send = (
  pool: ConnectionPool,
  url: URL,
  request: TransportRequest,
  done: (ending: Ending) => void
): (() => void) => {
  const startedAt = performance.now()
  const elapsed = (): number => performance.now() - startedAt
  let connection = pool.take(url.origin, request)
  /** What a kept connection had received before this request; null of a new one. */
  const receivedBefore = connection.received()
  let isRepeated = false
  const chunks: Array<Buffer> = []
  let received = 0
  let interim = 0
  let head: Head | null = null
  let isOpen = true

  const leave = (isReusable: boolean): void => {
    if (!isOpen) return
    isOpen = false
    clearTimeout(timer)
    clearImmediate(lastLook)
    if (isReusable) pool.giveBack(connection)
    else pool.close(connection)
  }
  const finish = (ending: Ending, isReusable: boolean): void => {
    if (!isOpen) return
    leave(isReusable)
    done(ending)
  }
  const fail = (failure: TransportFailure): void => finish(failed(failure, elapsed()), false)
  const report = (known: Head, isReusable: boolean): void =>
    finish(Effect.succeed({ _tag: "Answered", ...known, excerpt: excerptOf(chunks), elapsed: elapsed() }), isReusable)
  /** Once the headers are complete, what is to be decided is decided: the body may break off or never end. */
  const giveUp = (failure: () => TransportFailure): void => (head === null ? fail(failure()) : report(head, false))

  const timedOut = (): TransportFailure => {
    const stage = connection.stage()
    // Once the name is looked up, the receiver had its chance, however long the wait was.
    return stage === "queue"
      ? ofCongestion(url.hostname, `it had to wait for others until the deadline of ${request.deadline} ms was over`)
      : ofTimeout(request.deadline, stage)
  }

  let lastLook: NodeJS.Immediate | undefined
  const timer = setTimeout(
    () => {
      // Timers run before sockets are read: after a block, answers may be there that nobody has read.
      if (elapsed() - request.deadline < blockedFor) giveUp(timedOut)
      else lastLook = setImmediate(giveUp, timedOut)
    },
    Math.min(request.deadline, longestTimer)
  )

  /** Whether to repeat the request: it was sent on a kept connection, nothing has come back, and there is time left. */
  const isRepeatable = (): boolean =>
    isOpen &&
    !isRepeated &&
    receivedBefore !== null &&
    connection.received() === receivedBefore &&
    elapsed() < request.deadline

  const dispatch = (): void => {
    connection.client.dispatch(
      { path: url.pathname + url.search, method: "POST", headers: { ...request.headers }, body: request.body },
      {
        onRequestStart: () => undefined,
        onResponseStart(_, status, headers) {
          if (status >= 200) {
            const at = elapsed()
            head = {
              status,
              retry_after: headerText(headers["retry-after"]),
              ...(isRedirect(status) && { location: headerText(headers["location"]) }),
              headers_elapsed: at - request.deadline < blockedFor ? at : request.deadline
            }
          } else if (status < 100 || ++interim > maxInterim) fail(ofStatus(status))
        },
        onResponseData(_, chunk) {
          if (received < maxExcerptLength) chunks.push(chunk)
          received += chunk.length
          if (received > maxExcerptLength && head !== null) report(head, false)
        },
        onResponseEnd() {
          if (head !== null) report(head, true)
        },
        onResponseError(_, error) {
          if (!isRepeatable()) return giveUp(() => ofError(connection.fault() ?? error))
          isRepeated = true
          pool.close(connection)
          connection = pool.takeNew(url.origin, { ...request, deadline: request.deadline - elapsed() })
          return dispatch()
        }
      }
    )
  }
  dispatch()
  return () => leave(false)
}

export interface UndiciTransportOptions {
  /** How long an idle connection is kept for the next delivery, in milliseconds. Default 4,000. */
  readonly keepAlive?: number
  /**
   * For how long a connection serves further requests, in milliseconds: after it, a name is looked up anew. Default five
   * minutes.
   */
  readonly maxAge?: number
  /** How many idle connections are kept, over all receivers. Default 256. */
  readonly maxIdle?: number
  /** Certificates of authorities, in PEM, that are trusted beside those that Node trusts. Default none. */
  readonly authorities?: ReadonlyArray<string>
  /** A forward proxy that requests leave through, as `EgressProxy.parse` reads it. Default none. */
  readonly proxy?: EgressProxy
  /** How names are looked up. Default the system's resolver. */
  readonly lookup?: NameLookup.NameLookup
}

/** Sends by HTTP/1.1 over connections that are kept for a while. Closing the scope closes them. */
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
      return Transport.of({
        post: (request) => {
          const url = URL.parse(request.url)
          if (url === null || !/^https?:$/.test(url.protocol)) return failed(ofUrl(), 0)
          return Effect.callback<TransportResult, TransportUnavailable | TransportBusy>((resume) =>
            Effect.sync(send(pool, url, request, resume))
          )
        }
      })
    })
  )
