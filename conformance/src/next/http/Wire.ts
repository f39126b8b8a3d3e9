/**
 * The suite's HTTP client, on node:http and node:https alone: one connection at a time, kept alive or not, that sees what
 * a sender need not: an answer that never ends, bytes after its end, whether a broken connection had been used before. It
 * sends header names as they are written and bodies piece by piece. Redirects are not followed.
 *
 * It never sends again by itself: `Execution` does, where a kept connection turns out to be closed, and records both.
 */
import type { Effect, Scope } from "effect"
import type { Exchange } from "../evidence/Exchange.ts"
import type { HttpRequest } from "../evidence/HttpRequest.ts"
import type { Form } from "../history/Variations.ts"
import type { Barrier } from "./Barrier.ts"

/** How one request is sent. */
export interface Sending extends Form {
  /** Waits for the end of the answer at most this long, in milliseconds; pauses of the form are added. */
  readonly limit: number
  /**
   * Given up after this many bytes of the body (one that stalls sends no more, and waits), or this many milliseconds
   * after all of it; null: waits for the answer.
   */
  readonly cut: { readonly bytes: number; readonly stalls: boolean } | { readonly after: number } | null
  /** With its last byte held back until others are as far; null: sent as soon as it can be. */
  readonly held: { readonly barrier: Barrier; readonly place: number } | null
}

/** An exchange, and over what kind of connection it went. */
export interface Exchanged {
  readonly exchange: Exchange
  readonly reused: boolean
}

export interface Connection {
  /** Sends one request. Never fails; interrupting it closes the connection. */
  readonly send: (request: HttpRequest, sending: Sending) => Effect.Effect<Exchanged>
  /** Closes the connection, so that the next request makes a new one. */
  readonly renew: Effect.Effect<void>
}

/** A connection to where a URL leads. Closing the scope closes it. */
export declare const open: (url: URL) => Effect.Effect<Connection, never, Scope.Scope>

/** A request to the receiver's probe or control, outside of what is tested: status and body, within the time. */
export declare const ask: (
  url: URL,
  method: "GET" | "POST",
  limit: number
) => Effect.Effect<{ readonly status: number; readonly body: string }, Error>

/** A header's name as a form writes it. */
export declare const cased: (name: string, headerCase: Form["headerCase"]) => string
