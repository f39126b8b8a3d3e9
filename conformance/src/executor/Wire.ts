/**
 * Requests that are unusual on the wire, or given up on purpose: one connection each, made with Node's own client, which
 * sends header names as they are written and bodies piece by piece.
 */
import { maxExcerptLength } from "@doorhook/core"
import { Clock, Effect } from "effect"
import { request as requestPlain } from "node:http"
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from "node:http"
import { request as requestTls } from "node:https"
import type { Barrier } from "./Barrier.ts"
import { longestHold } from "./Barrier.ts"
import type { HttpRequest } from "../observed/HttpRequest.ts"
import type { Answer, Ending, Exchange } from "../observed/Exchange.ts"
import { answeredOf, endingOf, failedOf, flatHeaders } from "../observed/Exchange.ts"

/** How a request goes over the wire. */
export interface WireForm {
  /** Without `content-length`. */
  readonly chunked: boolean
  /** The body in so many pieces, with a pause of so many milliseconds between them. */
  readonly pieces: number
  readonly pause: number
  /** The body only after the receiver agreed. */
  readonly expect: boolean
  readonly headerCase: "lower" | "upper" | "title"
  readonly close: boolean
  /**
   * Given up after so many bytes of the body (one that stalls says no more, and waits), or so many milliseconds after all
   * of it; null: waits for the answer.
   */
  readonly cut: { readonly bytes: number; readonly stalls: boolean } | { readonly after: number } | null
  /** With its last byte held back until others are as far; null: sent as soon as it can be. */
  readonly held: { readonly barrier: Barrier; readonly place: number } | null
}

export const plainForm: WireForm = {
  chunked: false,
  pieces: 1,
  pause: 0,
  expect: false,
  headerCase: "lower",
  close: false,
  cut: null,
  held: null
}

/** How long a receiver is waited for that never says `100 Continue` (RFC 9110 section 10.1.1), in milliseconds. */
const continuePatience = 1_000

/** How long what was sent is let go out before the suite goes away, in milliseconds. */
const untilGivenUp = 10

const titled = (name: string): string =>
  name.replaceAll(/(^|-)([a-z])/g, (_, dash, letter) => `${dash}${String(letter).toUpperCase()}`)

/** A header's name as a form writes it. */
export const cased = (name: string, headerCase: WireForm["headerCase"]): string =>
  headerCase === "upper" ? name.toUpperCase() : headerCase === "title" ? titled(name) : name

const headersOf = (url: URL, request: HttpRequest, body: Buffer, form: WireForm): OutgoingHttpHeaders => {
  const headers: Record<string, string> = {
    host: url.host,
    connection: form.close ? "close" : "keep-alive",
    ...request.headers
  }
  if (form.expect) headers["expect"] = "100-continue"
  if (form.chunked) headers["transfer-encoding"] = "chunked"
  else if (body.length > 0 || request.method === "POST") headers["content-length"] = String(body.length)
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [cased(name, form.headerCase), value]))
}

const piecesOf = (body: Buffer, count: number): ReadonlyArray<Buffer> => {
  const size = Math.max(1, Math.ceil(body.length / count))
  return Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
    body.subarray(index * size, (index + 1) * size)
  )
}

interface Sight {
  answer: Answer | null
  connected: boolean
  readonly chunks: Array<Buffer>
  bytes: number
}

/** How long the suite itself may take over a request, in milliseconds: timers are late on a busy machine. */
const dawdlingOf = ({ expect, pause, pieces }: WireForm): number =>
  2 * (pieces - 1) * pause + (expect ? continuePatience : 0)

type Done = (exchange: Exchange) => void

/** Milliseconds since the exchange began, which may begin anew. */
interface Watch {
  readonly elapsed: () => number
  readonly restart: () => void
}

interface Sent {
  readonly outgoing: ClientRequest
  readonly stop: () => void
}

const begin = (url: URL, request: HttpRequest, form: WireForm, watch: Watch, sight: Sight, done: Done): Sent => {
  const { elapsed } = watch
  const body = Buffer.from(request.body, request.encoding)
  const make = url.protocol === "https:" ? requestTls : requestPlain
  const outgoing = make(url, { method: request.method, agent: false, headers: headersOf(url, request, body, form) })
  const timers: Array<NodeJS.Timeout> = []
  const later = (milliseconds: number, act: () => void): void => void timers.push(setTimeout(act, milliseconds))
  const end = (ending: Ending, error: unknown): void =>
    done(
      sight.answer === null
        ? failedOf(error, sight.connected, elapsed())
        : answeredOf(sight.answer, sight, ending, error, elapsed())
    )
  const giveUp = (): void => {
    outgoing.destroy()
    done(failedOf(new Error("given up by the suite"), sight.connected, elapsed()))
  }
  const waiting: Array<() => void> = []
  const whenConnected = (act: () => void): void => (sight.connected ? act() : void waiting.push(act))
  const whole = form.cut !== null && "bytes" in form.cut ? body.subarray(0, form.cut.bytes) : body
  const pieces = piecesOf(whole, form.pieces)
  const dawdles = dawdlingOf(form) > 0
  /** Until the last byte is there the receiver can't be asked for an answer: its time counts from then. */
  const countFromHere = (): void => {
    if (sight.answer === null) watch.restart()
  }
  const writeHeld = (barrier: Barrier, place: number): void => {
    outgoing.write(body.subarray(0, -1), () =>
      barrier.arrive(place, () => {
        if (outgoing.destroyed) return
        countFromHere()
        outgoing.end(body.subarray(-1))
      })
    )
  }
  const write = (index: number): void => {
    if (outgoing.destroyed) return
    const piece = pieces[index]
    if (piece !== undefined) {
      if (dawdles && !form.chunked && index === pieces.length - 1) countFromHere()
      outgoing.write(piece, () => later(form.pause, () => write(index + 1)))
    } else if (form.cut !== null && "bytes" in form.cut) {
      // Without a byte of the body nothing tells that the head has gone out, and a far receiver may not be there yet.
      if (!form.cut.stalls) whenConnected(() => later(untilGivenUp, giveUp))
    } else if (form.cut !== null) {
      const { after } = form.cut
      outgoing.end(() => (after === 0 ? giveUp() : later(after, giveUp)))
    } else {
      // Chunks end with one that is empty.
      if (dawdles && form.chunked) countFromHere()
      outgoing.end()
    }
  }
  const { held } = form
  const writeAll = held === null ? () => write(0) : () => writeHeld(held.barrier, held.place)
  outgoing.on("socket", (socket) =>
    socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
      sight.connected = true
      for (const act of waiting) act()
    })
  )
  outgoing.on("error", (error) => end(endingOf(error), error))
  outgoing.on("response", (response: IncomingMessage) => {
    sight.connected = true
    sight.answer = {
      status: response.statusCode ?? 0,
      retry_after: response.headers["retry-after"] ?? null,
      location: response.headers.location ?? null,
      headers_elapsed: elapsed(),
      headers: flatHeaders(response.headers)
    }
    response.on("data", (chunk: Buffer) => {
      if (sight.bytes < maxExcerptLength) sight.chunks.push(chunk)
      sight.bytes += chunk.length
    })
    response.on("end", () => end("complete", null))
    response.on("error", (error) => end(endingOf(error), error))
  })
  if (form.expect) {
    let begun = false
    const go = (): void => {
      if (begun) return
      begun = true
      writeAll()
    }
    outgoing.on("continue", go)
    outgoing.flushHeaders()
    later(continuePatience, () => (sight.answer === null ? go() : undefined))
  } else {
    outgoing.flushHeaders()
    writeAll()
  }
  const stop = (): void => {
    for (const timer of timers) clearTimeout(timer)
    outgoing.destroy()
  }
  return { outgoing, stop }
}

/** One that stalls outlasts what is sent beside it, of which as many as are waited for in vain may come after each other. */
const stallsFor = 10

const limitOf = (form: WireForm, limit: number): number => {
  const { cut, held } = form
  if (held !== null) return limit + longestHold
  return cut !== null && "bytes" in cut && cut.stalls ? stallsFor * limit : limit + dawdlingOf(form)
}

/** Sends a request in a form; waits for the end of the answer at most so many milliseconds. Never fails. */
export const sendAs = Effect.fnUntraced(function* (url: URL, request: HttpRequest, form: WireForm, limit: number) {
  const clock = yield* Clock.Clock
  let startedAt = clock.monotonicTimeNanosUnsafe()
  const elapsed = (): number => Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1_000_000
  const restart = (): void => void (startedAt = clock.monotonicTimeNanosUnsafe())
  const sight: Sight = { answer: null, connected: false, chunks: [], bytes: 0 }
  const exchanged = yield* Effect.callback<Exchange>((resume) => {
    const { outgoing, stop } = begin(url, request, form, { elapsed, restart }, sight, (exchange) => {
      // What comes after the end is nobody's.
      outgoing.removeAllListeners("error").on("error", () => undefined)
      stop()
      resume(Effect.succeed(exchange))
    })
    return Effect.sync(stop)
  }).pipe(Effect.timeoutOption(limitOf(form, limit)))
  if (exchanged._tag === "Some") return exchanged.value
  const waited = new Error(`no end of the answer within ${Math.round(elapsed())} ms`)
  return sight.answer === null
    ? failedOf(Object.assign(waited, { code: "ETIMEDOUT" }), sight.connected, elapsed())
    : answeredOf(sight.answer, sight, "unfinished", waited, elapsed())
})
