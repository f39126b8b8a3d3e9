/**
 * The `Transport` port over undici's `dispatch`, its lowest and fastest interface.
 *
 * One deadline is armed when the request starts and stays armed to the end of the body, so that a receiver can hold a
 * connection no longer by connecting slowly, by dripping headers, or by a body that never ends. Redirects are never
 * followed. Nothing but the given headers is sent: no trace context leaks to third parties.
 */
import type { AddressPolicy, TransportRequest, TransportResult } from "@doorhook/core"
import { maxExcerptLength, Transport } from "@doorhook/core"
import { Effect, Layer } from "effect"
import { IpNetwork } from "effect/net"
import type { Dispatcher } from "undici"
import { Agent } from "undici"
import * as GuardedConnector from "./GuardedConnector.ts"
import { detailOf, outcomeOf } from "./TransportFailure.ts"

const decoder = new TextDecoder()

/** What is kept of a body as text: decoded leniently, and without NUL, which PostgreSQL can't store. */
const excerptOf = (chunks: ReadonlyArray<Buffer>): string =>
  decoder
    .decode(Buffer.concat(chunks).subarray(0, maxExcerptLength))
    .replaceAll("\u0000", "\ufffd")
    .slice(0, maxExcerptLength)

const headerText = (value: string | ReadonlyArray<string> | undefined): string | null =>
  value === undefined ? null : typeof value === "string" ? value : (value[0] ?? null)

/** Makes one request; calls back exactly once. Returns what ends it early. */
const dispatch = (
  agent: Agent,
  request: TransportRequest,
  done: (result: TransportResult) => void
): ((reason: string) => void) => {
  const startedAt = performance.now()
  const elapsed = (): number => performance.now() - startedAt
  const chunks: Array<Buffer> = []
  let received = 0
  let answer: {
    readonly status: number
    readonly retry_after: string | null
    readonly headers_elapsed: number
  } | null = null
  let controller: Dispatcher.DispatchController | undefined
  let finished = false

  const finish = (result: TransportResult): void => {
    if (finished) return
    finished = true
    clearTimeout(timer)
    done(result)
  }
  const abort = (reason: string): void => controller?.abort(new Error(reason))
  const finishAnswered = (): void => {
    if (answer !== null) finish({ _tag: "Answered", ...answer, excerpt: excerptOf(chunks), elapsed: elapsed() })
  }
  const fail = (outcome: (TransportResult & { readonly _tag: "Failed" })["outcome"], detail: string): void =>
    finish({ _tag: "Failed", outcome, detail, elapsed: elapsed() })

  const timer = setTimeout(() => {
    if (answer === null) fail("timeout", `no answer within ${request.deadline} ms`)
    else finishAnswered()
    abort("deadline")
  }, request.deadline)

  const url = new URL(request.url)
  agent.dispatch(
    {
      origin: url.origin,
      path: url.pathname + url.search,
      method: "POST",
      headers: { ...request.headers },
      body: request.body,
      // The deadline above covers what these would.
      headersTimeout: 0,
      bodyTimeout: 0
    },
    {
      onRequestStart(started) {
        controller = started
        // The deadline passed while it still waited for a connection: it must not be sent any more.
        if (finished) abort("deadline")
      },
      onResponseStart(_, status, headers) {
        // 1xx answers announce the real one (RFC 9110 section 15.2).
        if (status < 200) return
        answer = { status, retry_after: headerText(headers["retry-after"]), headers_elapsed: elapsed() }
      },
      onResponseData(_, chunk) {
        received += chunk.length
        if (received - chunk.length < maxExcerptLength) chunks.push(chunk)
        if (received <= maxExcerptLength) return
        finishAnswered()
        abort("enough of the body")
      },
      onResponseEnd() {
        finishAnswered()
      },
      onResponseError(_, error) {
        if (answer === null) fail(outcomeOf(error), detailOf(error))
        // The status and headers were complete: what was to be decided is decided.
        else finishAnswered()
      }
    }
  )
  return (reason) => {
    finished = true
    clearTimeout(timer)
    abort(reason)
  }
}

export interface UndiciTransportOptions {
  /** How long an idle connection is kept for the next delivery, in milliseconds. Default 4,000. */
  readonly keepAlive?: number
}

/** Sends by HTTP/1.1 over pooled connections. Closing the scope closes them. */
export const layer = (options: UndiciTransportOptions = {}): Layer.Layer<Transport> =>
  Layer.effect(
    Transport,
    Effect.gen(function* () {
      // One pool for each allow-list: a connection made under one must not serve another.
      const agents = new Map<string, Agent>()
      yield* Effect.addFinalizer(() =>
        Effect.promise(() => Promise.all(Array.from(agents.values(), (agent) => agent.destroy())))
      )
      const agentFor = (allow: AddressPolicy.AllowList, deadline: number): Agent => {
        const key = `${deadline} ${allow.map(IpNetwork.format).join(" ")}`
        const known = agents.get(key)
        if (known !== undefined) return known
        const agent = new Agent({
          connect: GuardedConnector.make(allow, deadline),
          keepAliveTimeout: options.keepAlive ?? 4_000,
          pipelining: 1
        })
        agents.set(key, agent)
        return agent
      }
      return Transport.of({
        post: (request) =>
          Effect.callback<TransportResult>((resume) => {
            const cancel = dispatch(agentFor(request.allow, request.deadline), request, (result) =>
              resume(Effect.succeed(result))
            )
            return Effect.sync(() => cancel("interrupted"))
          })
      })
    })
  )
