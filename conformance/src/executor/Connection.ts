/**
 * One HTTP/1.1 connection of the suite, made when it is needed and made again when it is gone.
 *
 * The suite's own client rather than doorhook's transport: it must see what a sender need not, like an answer that never
 * ends, bytes after the end of an answer, and whether a broken connection had been used before. Redirects are not
 * followed. An exchange that runs out of time, or is interrupted, closes its connection.
 */
import { maxExcerptLength } from "@doorhook/core"
import { Clock, Effect } from "effect"
import type { Scope } from "effect"
import { Client } from "undici"
import type { HttpRequest } from "../observed/HttpRequest.ts"
import type { Ending, Exchange } from "../observed/Exchange.ts"
import type { Answer } from "../observed/Exchange.ts"
import { answeredOf, endingOf, failedOf, flatHeaders } from "../observed/Exchange.ts"

/** An exchange, and over what kind of connection it went. */
export interface Exchanged {
  readonly exchange: Exchange
  readonly reused: boolean
}

export interface Connection {
  /** Makes one POST; waits for the end of the answer at most so many milliseconds. Never fails. */
  readonly post: (request: HttpRequest, limit: number) => Effect.Effect<Exchanged>
  /** Closes the connection, so that the next request makes a new one. */
  readonly renew: Effect.Effect<void>
}

const headerText = (value: string | ReadonlyArray<string> | undefined): string | null =>
  value === undefined ? null : typeof value === "string" ? value : (value[0] ?? null)

/** What has been seen of an exchange so far. Times are in milliseconds from its start. */
interface Sighting {
  connected: boolean
  answer: Answer | null
  readonly chunks: Array<Buffer>
  bytes: number
}

const afterTurns = (turns: number, then: () => void): void => {
  setImmediate(turns === 1 ? then : () => afterTurns(turns - 1, then))
}

/** Sends; calls `done` once when the answer has ended or the connection broke. */
const begin = (
  client: Client,
  path: string,
  request: HttpRequest,
  elapsed: () => number,
  sighting: Sighting,
  done: (ending: Ending, error: unknown, at: number) => void
): void => {
  let stray: unknown = null
  const onDisconnect = (_origin: URL, _targets: ReadonlyArray<unknown>, error: Error): void => {
    if (endingOf(error) === "malformed") stray = error
  }
  client.once("disconnect", onDisconnect)
  client.dispatch(
    {
      path,
      method: request.method,
      headers: { ...request.headers },
      body: request.body === "" ? null : Buffer.from(request.body, request.encoding),
      headersTimeout: 0,
      bodyTimeout: 0
    },
    {
      onRequestStart() {
        sighting.connected = true
      },
      onResponseStart(_, status, headers) {
        // 1xx answers announce the real one (RFC 9110 section 15.2).
        if (status < 200) return
        sighting.answer = {
          status,
          retry_after: headerText(headers["retry-after"]),
          location: headerText(headers.location),
          headers_elapsed: elapsed(),
          headers: flatHeaders(headers)
        }
      },
      onResponseData(_, chunk) {
        if (sighting.bytes < maxExcerptLength) sighting.chunks.push(chunk)
        sighting.bytes += chunk.length
      },
      onResponseEnd() {
        const at = elapsed()
        // Bytes beyond the end come in the same read; they break the connection some turns of the event loop later.
        afterTurns(3, () => {
          client.off("disconnect", onDisconnect)
          if (stray === null) done("complete", null, at)
          else done("malformed", new Error("more bytes came than the answer had announced"), at)
        })
      },
      onResponseError(_, error) {
        client.off("disconnect", onDisconnect)
        done(endingOf(error), error, elapsed())
      }
    }
  )
}

const exchangeOf = (sighting: Sighting, ending: Ending, error: unknown, at: number): Exchange => {
  if (sighting.answer !== null) return answeredOf(sighting.answer, sighting, ending, error, at)
  const failed = failedOf(error, sighting.connected, at)
  return ending === "unfinished" && failed._tag === "Failed" ? { ...failed, outcome: "timeout" } : failed
}

/** A connection to where `url` leads. Closing the scope closes it. */
export const open = Effect.fnUntraced(function* (url: URL): Effect.fn.Return<Connection, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  let client: Client | null = null

  const current = (): Client => {
    client ??= new Client(url.origin, { allowH2: false, connectTimeout: 0, pipelining: 1 })
    return client
  }
  const renew = Effect.suspend(() => {
    const old = client
    client = null
    return old === null ? Effect.void : Effect.promise(() => old.destroy())
  })
  yield* Effect.addFinalizer(() => renew)

  const post = (request: HttpRequest, limit: number): Effect.Effect<Exchanged> =>
    Effect.gen(function* () {
      const startedAt = clock.monotonicTimeNanosUnsafe()
      const elapsed = (): number => Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1_000_000
      const sighting: Sighting = { connected: false, answer: null, chunks: [], bytes: 0 }
      const used = current()
      const reused = used.stats.connected
      const ended = yield* Effect.callback<Exchange>((resume) => {
        begin(used, url.pathname + url.search, request, elapsed, sighting, (ending, error, at) =>
          resume(Effect.succeed(exchangeOf(sighting, ending, error, at)))
        )
        // Only an exchange without an end is interrupted: its connection is good for nothing any more.
        return renew
      }).pipe(Effect.timeoutOption(limit))
      if (ended._tag === "Some") return { exchange: ended.value, reused }
      const at = elapsed()
      const waited = new Error(`no end of the answer within ${Math.round(at)} ms`)
      return { exchange: exchangeOf(sighting, "unfinished", waited, at), reused }
    })

  return { post, renew }
})
