/**
 * Scripted receivers, and helpers to send requests to them. Core opens no sockets, so the caller of the suite provides
 * the receivers.
 */
import type { Scope } from "effect"
import { Context, Effect } from "effect"
import { IpNetwork } from "effect/net"
import type { TransportRequest, TransportResult } from "../../ports/Transport.ts"
import { Transport } from "../../ports/Transport.ts"
import { expectEqual, RuleBroken } from "../SuiteCase.ts"

/** An action of a receiver on a connection. */
export type ReceiverStep =
  /** Writes bytes. Text is encoded as UTF-8. */
  | { readonly write: string | Uint8Array }
  /** Waits for this many milliseconds. */
  | { readonly wait: number }
  /** Ends the connection normally. */
  | "end"
  /** Resets the connection (TCP RST). */
  | "reset"

export interface ReceiverScript {
  /** Actions when a connection opens. */
  readonly onConnection?: ReadonlyArray<ReceiverStep>
  /** Actions when a request is complete. */
  readonly onRequest?: (request: ReceivedRequest) => ReadonlyArray<ReceiverStep>
}

/** A received request. */
export interface ReceivedRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Read as UTF-8. */
  readonly body: string
  /** Number of the request on its connection, counted from 1. */
  readonly nth: number
}

/** A receiver that listens on 127.0.0.1. */
export interface ScriptedReceiver {
  readonly port: number
  /** All complete requests received so far. */
  readonly received: Effect.Effect<ReadonlyArray<ReceivedRequest>>
  /** Completes once a complete request has arrived. */
  readonly hasReceived: Effect.Effect<void>
  /** Number of accepted connections. */
  readonly accepted: Effect.Effect<number>
  /** Completes once all connections are closed, by either side. */
  readonly allClosed: Effect.Effect<void>
}

/** Starts receivers, each of which stops when its scope closes. */
export class ScriptedReceivers extends Context.Service<
  ScriptedReceivers,
  {
    readonly start: (script: ReceiverScript) => Effect.Effect<ScriptedReceiver, never, Scope.Scope>
  }
>()("@doorhook/core/testing/ScriptedReceivers") {}

export const start = Effect.fnUntraced(function* (script: ReceiverScript) {
  return yield* (yield* ScriptedReceivers).start(script)
})

/** Starts a receiver that performs the same steps for each request. */
export const answering = (...steps: ReadonlyArray<ReceiverStep>) => start({ onRequest: () => steps })

/** Writes an HTTP/1.1 answer with the right content length. */
export const answer = (status: number, body = "", ...headers: ReadonlyArray<string>): ReceiverStep => {
  const lines = [`HTTP/1.1 ${status} Status`, ...headers]
  // An answer without content has no length (RFC 9110 section 8.6).
  if (status !== 204) lines.push(`content-length: ${new TextEncoder().encode(body).length}`)
  return { write: `${lines.join("\r\n")}\r\n\r\n${body}` }
}

export const ok = answer(200, "ok")

/** A deadline that no immediate answer exceeds, in milliseconds. */
export const patience = 60_000

/** Each part of a request that could hold a secret contains the word `secret`. */
const path = "/hook?token=url-secret"

const loopback = [IpNetwork.fromStringUnsafe("127.0.0.0/8")]

/** Makes a request with default values. */
export const requestTo = (host: string, fields: Partial<TransportRequest> = {}): TransportRequest => ({
  url: `http://${host}${path}`,
  headers: { "content-type": "application/json", "webhook-id": "evt_1", "x-secret": "header-secret" },
  body: '{"event":"body-secret","name":"Café “Ü” \u{1f511}"}',
  deadline: patience,
  allow: loopback,
  client: "client",
  ...fields
})

export const post = Effect.fnUntraced(function* (request: TransportRequest) {
  return yield* (yield* Transport).post(request)
})

/** Makes a request to a receiver at 127.0.0.1. */
export const to = ({ port }: Pick<ScriptedReceiver, "port">, fields: Partial<TransportRequest> = {}) =>
  requestTo(`127.0.0.1:${port}`, fields)

/** Posts to a receiver at 127.0.0.1. */
export const postTo = (...[receiver, fields]: Parameters<typeof to>) => post(to(receiver, fields))

/** Returns the status of an answer, or the outcome of a failure. */
export const outcomeOf = (result: TransportResult) => (result._tag === "Failed" ? result.outcome : result.status)

type Failure = TransportResult & { readonly _tag: "Failed" }

/** Fails unless a request failed with one of these outcomes and its detail is one line without secrets. */
export const expectFailed = Effect.fnUntraced(function* (
  what: string,
  result: TransportResult,
  ...outcomes: ReadonlyArray<Failure["outcome"]>
) {
  const isExpected = result._tag === "Failed" && outcomes.includes(result.outcome)
  if (!isExpected) return yield* new RuleBroken({ what, expected: outcomes, actual: result })
  yield* expectEqual(`${what}: one line`, /^[^\u0000-\u001f\u2028\u2029]+$/.test(result.detail), true)
  return yield* expectEqual(`${what}: secrets in ${result.detail}`, result.detail.includes("secret"), false)
})

/** Fails if a connection to a receiver stays open. */
export const expectClosed = (what: string, { allClosed }: ScriptedReceiver) =>
  Effect.timeoutOrElse(allClosed, {
    duration: "10 seconds",
    orElse: () => Effect.fail(new RuleBroken({ what, expected: "closed connections", actual: "open ones" }))
  })
