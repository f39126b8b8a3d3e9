/**
 * Receivers that do what a case says, and ways to send to them. Core opens no sockets: whoever runs the suite brings them.
 */
import type { Scope } from "effect"
import { Context, Effect } from "effect"
import { IpNetwork } from "effect/net"
import type { TransportRequest, TransportResult } from "../../ports/Transport.ts"
import { Transport } from "../../ports/Transport.ts"
import { expectEqual, RuleBroken } from "../SuiteCase.ts"

/** What a receiver does next with a connection. */
export type ReceiverStep =
  /** Writes bytes; text is in UTF-8. */
  | { readonly write: string | Uint8Array }
  /** Does nothing for some milliseconds. */
  | { readonly wait: number }
  /** Ends the connection in order. */
  | "end"
  /** Breaks it off (TCP RST). */
  | "reset"

export interface ReceiverScript {
  /** As soon as the connection is there. */
  readonly onConnection?: ReadonlyArray<ReceiverStep>
  /** When a request has arrived whole. */
  readonly onRequest?: (request: ReceivedRequest) => ReadonlyArray<ReceiverStep>
}

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Read as UTF-8. */
  readonly body: string
  /** Which request on its connection it is, from 1. */
  readonly nth: number
}

/** A receiver that listens on 127.0.0.1. */
export interface ScriptedReceiver {
  readonly port: number
  /** The requests that have arrived whole. */
  readonly received: Effect.Effect<ReadonlyArray<ReceivedRequest>>
  /** Returns once a request has arrived whole. */
  readonly hasReceived: Effect.Effect<void>
  /** How many connections it has accepted. */
  readonly accepted: Effect.Effect<number>
  /** Returns once none of them is open, by whoever closed them. */
  readonly allClosed: Effect.Effect<void>
}

/** Starts receivers, each gone with its scope. */
export class ScriptedReceivers extends Context.Service<
  ScriptedReceivers,
  {
    readonly start: (script: ReceiverScript) => Effect.Effect<ScriptedReceiver, never, Scope.Scope>
  }
>()("@doorhook/core/testing/ScriptedReceivers") {}

export const start = Effect.fnUntraced(function* (script: ReceiverScript) {
  return yield* (yield* ScriptedReceivers).start(script)
})

/** A receiver that carries out the same steps for each request. */
export const answering = (...steps: ReadonlyArray<ReceiverStep>) => start({ onRequest: () => steps })

/** An answer of HTTP/1.1 whose body has the length that it says. */
export const answer = (status: number, body = "", ...headers: ReadonlyArray<string>): ReceiverStep => {
  const lines = [`HTTP/1.1 ${status} Status`, ...headers]
  // RFC 9110 section 8.6: an answer without content says no length.
  if (status !== 204) lines.push(`content-length: ${new TextEncoder().encode(body).length}`)
  return { write: `${lines.join("\r\n")}\r\n\r\n${body}` }
}

export const ok = answer(200, "ok")

/** Long enough for any answer that comes at once, in milliseconds. */
export const patience = 60_000

/** Secrets are in every place where a request has any. */
const path = "/hook?token=url-secret"

const loopback = [IpNetwork.fromStringUnsafe("127.0.0.0/8")]

/** What is posted unless a case says otherwise. */
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

/** A request to a receiver at 127.0.0.1. */
export const to = ({ port }: Pick<ScriptedReceiver, "port">, fields: Partial<TransportRequest> = {}) =>
  requestTo(`127.0.0.1:${port}`, fields)

/** Posts to a receiver at 127.0.0.1. */
export const postTo = (...[receiver, fields]: Parameters<typeof to>) => post(to(receiver, fields))

/** The status, or the outcome where none came. */
export const outcomeOf = (result: TransportResult) => (result._tag === "Failed" ? result.outcome : result.status)

type Failure = TransportResult & { readonly _tag: "Failed" }

/** Fails unless a request failed so, and its detail is one line that holds nothing secret. */
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

/** Fails unless no connection to a receiver is left after a while. */
export const expectClosed = (what: string, { allClosed }: ScriptedReceiver) =>
  Effect.timeoutOrElse(allClosed, {
    duration: "10 seconds",
    orElse: () => Effect.fail(new RuleBroken({ what, expected: "closed connections", actual: "open ones" }))
  })
