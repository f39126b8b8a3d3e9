/**
 * The suite's HTTP client, on node:http and node:https: one connection at a time, kept alive or not.
 *
 * It detects what a sender may ignore: an answer that never ends, bytes after the end of an answer, and whether a
 * broken connection had been used before. It can change the case of header names and send bodies piece by piece. It
 * does not follow redirects and never repeats a request.
 */
import { maxExcerptLength, UrlPolicy } from "@doorhook/core"
import { Clock, Effect } from "effect"
import type { Scope } from "effect"
import { createServer, request as requestPlain } from "node:http"
import type { IncomingMessage, OutgoingHttpHeaders, Server } from "node:http"
import { request as requestTls } from "node:https"
import { connect as connectPlain, isIP } from "node:net"
import type { Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import { answeredOf, endingOf, failedOf, flatHeaders } from "../evidence/Exchange.ts"
import type { Answer, Ending, Exchange, HttpRequest } from "../evidence/Exchange.ts"
import { plainForm } from "../history/Variations.ts"
import type { Form } from "../history/Variations.ts"
import { portOf } from "./Ask.ts"

/** How one request is sent. */
export interface Sending extends Form {
  /**
   * Longest wait for the end of the answer, in milliseconds. The suite adds the pauses in the request, and the time
   * during which it was itself stalled.
   */
  readonly limit: number
  /**
   * Hangs up after this many bytes of the body, or this many milliseconds after the end of the body. With `stalls`,
   * sends no more but stays connected. Null waits for the answer.
   */
  readonly cut: { readonly bytes: number; readonly stalls: boolean } | { readonly after: number } | null
  /** Holds back the last byte at a barrier; null sends it immediately. */
  readonly held: { readonly barrier: Barrier; readonly place: number } | null
}

/** Returns the settings of a plain request that waits for its answer. */
export const plainSending = (limit: number): Sending => ({ ...plainForm, limit, cut: null, held: null })

/** An exchange, and whether its connection had carried a request before. */
export interface Exchanged {
  readonly exchange: Exchange
  readonly reused: boolean
}

export interface Connection {
  /** Sends one request. Never fails. Interruption closes the connection. */
  readonly send: (request: HttpRequest, sending: Sending) => Effect.Effect<Exchanged>
  /** Closes an idle connection, so that the next request makes a new one. */
  readonly renew: Effect.Effect<void>
}

/** Longest wait for `100 Continue` (RFC 9110 section 10.1.1), in milliseconds. */
const continuePatience = 1_000

/** Time for written bytes to leave this machine before the suite hangs up, in milliseconds. */
const untilGivenUp = 10

/** A stalled request lasts this many times the usual limit, to outlast several unanswered requests in sequence. */
const stallsFor = 10

const titled = (name: string): string =>
  name.replaceAll(/(^|-)([a-z])/g, (_, dash, letter) => `${dash}${String(letter).toUpperCase()}`)

/** Writes a header's name in this case. */
export const cased = (name: string, headerCase: Form["headerCase"]): string =>
  headerCase === "upper" ? name.toUpperCase() : headerCase === "title" ? titled(name) : name

const headersOf = (url: URL, request: HttpRequest, body: Buffer, form: Form): OutgoingHttpHeaders => {
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

/**
 * Time that the suite itself may take to send a request, in milliseconds. Pauses count twice, because timers are late
 * on a busy machine.
 */
const ownTimeOf = ({ expect, pause, pieces }: Form): number =>
  2 * (pieces - 1) * pause + (expect ? continuePatience : 0)

const limitOf = (sending: Sending): number => {
  const { cut, held, limit } = sending
  if (held !== null) return limit + longestHold
  return cut !== null && "bytes" in cut && cut.stalls ? stallsFor * limit : limit + ownTimeOf(sending)
}

const afterTurns = (turns: number, then: () => void): void => {
  setImmediate(turns === 1 ? then : () => afterTurns(turns - 1, then))
}

/** A connection that is open or being made, and its state. */
interface TrackedSocket {
  readonly socket: Socket
  connected: boolean
  /** Whether a request is in flight. Bytes that arrive at any other time are not part of an answer. */
  busy: boolean
  strayed: boolean
  used: boolean
}

const connectTo = (url: URL): TrackedSocket => {
  const host = UrlPolicy.hostOf(url)
  const port = portOf(url)
  const secure = url.protocol === "https:"
  const socket = secure
    ? connectTls({ host, port, ALPNProtocols: ["http/1.1"], ...(isIP(host) === 0 ? { servername: host } : {}) })
    : connectPlain({ host, port, noDelay: true })
  const tracked: TrackedSocket = { socket, connected: false, busy: true, strayed: false, used: false }
  socket.once(secure ? "secureConnect" : "connect", () => (tracked.connected = true))
  socket.on("data", () => {
    if (tracked.busy) return
    tracked.strayed = true
    socket.destroy()
  })
  // Between requests, this is the only listener for errors.
  socket.on("error", () => undefined)
  return tracked
}

/** The part of an answer that has arrived so far. */
interface Sighting {
  answer: Answer | null
  readonly chunks: Array<Buffer>
  bytes: number
}

/** Counts the milliseconds since the exchange began. The count can be restarted. */
interface Watch {
  readonly elapsed: () => number
  readonly restart: () => void
}

type Done = (exchange: Exchange, keeps: boolean) => void

/**
 * Sends over a connection. Calls `done` with the exchange and whether the connection can carry another request. Returns
 * a function that stops timers and listeners.
 */
const begin = (
  url: URL,
  request: HttpRequest,
  sending: Sending,
  tracked: TrackedSocket,
  watch: Watch,
  sight: Sighting,
  done: Done
): (() => void) => {
  const { elapsed } = watch
  const { cut, held } = sending
  const { socket } = tracked
  const body = Buffer.from(request.body)
  const make = url.protocol === "https:" ? requestTls : requestPlain
  const outgoing = make(url, {
    method: request.method,
    createConnection: () => socket,
    headers: headersOf(url, request, body, sending)
  })
  outgoing.setNoDelay(true)
  const timers: Array<NodeJS.Timeout> = []
  const later = (milliseconds: number, act: () => void): void => void timers.push(setTimeout(act, milliseconds))

  const end = (ending: Ending, error: unknown, at = elapsed(), keeps = false): void =>
    done(
      sight.answer === null
        ? failedOf(error, tracked.connected, at)
        : answeredOf(sight.answer, sight, ending, error, at),
      keeps
    )
  const giveUp = (): void => {
    outgoing.destroy()
    done(failedOf(new Error("given up by the suite"), tracked.connected, elapsed()), false)
  }
  const whenConnected = (act: () => void): void => {
    if (tracked.connected) act()
    else socket.once(url.protocol === "https:" ? "secureConnect" : "connect", act)
  }

  const whole = cut !== null && "bytes" in cut ? body.subarray(0, cut.bytes) : body
  const pieces = piecesOf(whole, sending.pieces)
  const takesItsTime = ownTimeOf(sending) > 0
  /** Restarts the watch, because the receiver's time counts from the last byte. */
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
  /** Sends the end of the request: the last announced byte, or the empty chunk. */
  const finish = (last: Buffer): void => {
    if (takesItsTime) countFromHere()
    if (cut === null || "bytes" in cut) return void outgoing.end(last)
    outgoing.end(last, () => (cut.after === 0 ? giveUp() : later(cut.after, giveUp)))
  }
  const breaksOff = cut !== null && "bytes" in cut
  const write = (index: number): void => {
    if (outgoing.destroyed) return
    const piece = pieces[index] ?? Buffer.alloc(0)
    if (index < pieces.length - (breaksOff || sending.chunked ? 0 : 1)) {
      outgoing.write(piece, () => later(sending.pause, () => write(index + 1)))
    } else if (!breaksOff) {
      finish(piece)
    } else if (!cut.stalls) {
      // The callback of a write does not show that the headers were sent: the connection may not be open yet.
      whenConnected(() => later(untilGivenUp, giveUp))
    }
  }
  const writeAll = (): void => (held === null ? write(0) : writeHeld(held.barrier, held.place))

  outgoing.on("error", (error) => end(endingOf(error), error))
  outgoing.on("response", (response: IncomingMessage) => {
    let finished = false
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
    response.on("end", () => {
      const at = elapsed()
      finished = true
      tracked.busy = false
      // Bytes after the end of the answer arrive in the same read, but break the connection only some turns of the
      // event loop later.
      afterTurns(3, () => {
        const keeps = outgoing.shouldKeepAlive && !socket.destroyed && outgoing.writableFinished
        const doubled = outgoing.shouldKeepAlive && socket.destroyed && !socket.readableEnded
        if (!tracked.strayed && !doubled) end("complete", null, at, keeps)
        else end("malformed", new Error("more bytes arrived than the answer announced"), at)
      })
    })
    response.on("error", (error) => (finished ? undefined : end(endingOf(error), error)))
  })

  if (sending.expect) {
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
  return () => {
    for (const timer of timers) clearTimeout(timer)
    outgoing.removeAllListeners("error").on("error", () => undefined)
  }
}

/**
 * Returns a connection to the host of a URL, which the first request opens. Closing the scope closes the connection.
 */
export const open = Effect.fnUntraced(function* (url: URL): Effect.fn.Return<Connection, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  let idle: TrackedSocket | null = null
  const take = (): TrackedSocket => {
    const tracked = idle
    idle = null
    return tracked === null || tracked.socket.destroyed || tracked.socket.readableEnded ? connectTo(url) : tracked
  }
  const renew = Effect.sync(() => {
    idle?.socket.destroy()
    idle = null
  })
  yield* Effect.addFinalizer(() => renew)

  const send: Connection["send"] = (request, sending) =>
    Effect.gen(function* () {
      if (sending.close) yield* renew
      let startedAt = clock.monotonicTimeNanosUnsafe()
      const elapsed = (): number => Number(clock.monotonicTimeNanosUnsafe() - startedAt) / 1_000_000
      const stalls = stallWatch.start()
      let stalledBefore = 0
      const restart = (): void => {
        startedAt = clock.monotonicTimeNanosUnsafe()
        stalledBefore = stalls.since()
      }
      const withStalls = (exchange: Exchange): Exchange => {
        const stalled = stalls.since() - stalledBefore
        return stalled > 0 ? { ...exchange, stalled } : exchange
      }
      const timeIsUp = Effect.gen(function* () {
        yield* Effect.sleep(limitOf(sending))
        let granted = 0
        while (granted < stalls.since()) {
          const more = stalls.since() - granted
          granted += more
          yield* Effect.sleep(more)
        }
      })
      const sight: Sighting = { answer: null, chunks: [], bytes: 0 }
      const tracked = take()
      const reused = tracked.used
      tracked.busy = true
      tracked.used = true
      const ended = yield* Effect.callback<Exchange>((resume) => {
        let done = false
        const stop = begin(url, request, sending, tracked, { elapsed, restart }, sight, (exchange, keeps) => {
          if (done) return
          done = true
          stop()
          if (keeps && idle === null) idle = tracked
          else tracked.socket.destroy()
          resume(Effect.succeed(withStalls(exchange)))
        })
        // Only an unfinished exchange is interrupted, and its connection can't be used again.
        return Effect.sync(() => {
          stop()
          tracked.socket.destroy()
        })
      }).pipe(Effect.raceFirst(timeIsUp), Effect.ensuring(Effect.sync(stalls.stop)))
      if (ended !== undefined) return { exchange: ended, reused }
      const at = elapsed()
      const waited = Object.assign(new Error(`no end of the answer within ${Math.round(at)} ms`), { code: "ETIMEDOUT" })
      const exchange =
        sight.answer === null
          ? failedOf(waited, tracked.connected, at)
          : answeredOf(sight.answer, sight, "unfinished", waited, at)
      return { exchange: withStalls(exchange), reused }
    })

  return { send, renew }
})

/** The URL of a server that answers 200 as soon as it has received the body. */
const echo: Effect.Effect<URL, never, Scope.Scope> = Effect.acquireRelease(
  Effect.callback<Server>((resume) => {
    const server = createServer((request, response) => {
      request.resume().once("end", () => response.end("ok"))
    })
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) =>
    Effect.callback<void>((resume) => {
      server.close(() => resume(Effect.void))
      server.closeAllConnections()
    })
).pipe(
  Effect.map((server) => {
    const address = server.address()
    const port = address === null || typeof address === "string" ? 0 : address.port
    return new URL(`http://127.0.0.1:${port}/`)
  })
)

/** Longest wait for an answer of the echo server, in milliseconds. */
const echoPatience = 60_000

/**
 * Opens a connection to an echo server in this process. Returns an effect that measures the time of one exchange, in
 * milliseconds: the delay that the suite itself adds to every answer.
 */
export const openEcho: Effect.Effect<Effect.Effect<number>, never, Scope.Scope> = Effect.gen(function* () {
  const connection = yield* open(yield* echo)
  const request = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" } as const
  return Effect.map(connection.send(request, plainSending(echoPatience)), ({ exchange }) => exchange.elapsed)
})

/**
 * Longest time that the first request waits for the others, in milliseconds. Limited, because a receiver might not
 * accept all connections.
 */
const patience = 500

/** Pause that lets the receiver read what was sent before the last bytes are written, in milliseconds. */
const lull = 8

/** Longest time that a request is held, in milliseconds. */
const longestHold = patience + lull

/**
 * Holds requests until all of them are sent except for the last byte. Then writes all last bytes in one turn of the
 * event loop, so that only the receiver decides their order.
 */
export interface Barrier {
  /** Registers a request and the function that continues it. Requests continue in the order of `place`. */
  readonly arrive: (place: number, goOn: () => void) => void
}

/** Makes a barrier for this many requests. Once it is open, later requests continue immediately. */
export const makeBarrier = (count: number): Barrier => {
  const waiting = new Map<number, () => void>()
  let open = false
  let timer: NodeJS.Timeout | undefined
  const release = (): void => {
    open = true
    const inOrder = [...waiting].toSorted(([a], [b]) => a - b)
    for (const [, goOn] of inOrder) goOn()
  }
  const releaseIn = (milliseconds: number): void => {
    clearTimeout(timer)
    timer = setTimeout(release, milliseconds)
  }
  return {
    arrive: (place, goOn) => {
      if (open) return goOn()
      waiting.set(place, goOn)
      if (waiting.size === count) releaseIn(lull)
      else if (waiting.size === 1) releaseIn(patience)
    }
  }
}

/** Interval of the checks for stalls, and how late a check may be without counting as a stall, in milliseconds. */
const tick = 50
const mostLate = 50

/**
 * Time during which the suite's own process was stalled, because the machine was busy or something in the process
 * blocked the event loop, such as a receiver in the same process. Answers that arrive during that time are noticed
 * late. One watch serves all exchanges, of which hundreds may be open.
 */
class StallWatch {
  #users = 0
  #last = 0
  #total = 0
  #timer: NodeJS.Timeout | undefined

  /** Watches until `stop`. `since` returns the milliseconds during which the process was stalled since then. */
  start(): { readonly since: () => number; readonly stop: () => void } {
    if (this.#users++ === 0) {
      this.#last = performance.now()
      this.#timer = setInterval(() => this.#look(), tick)
    }
    const before = this.#look()
    return {
      since: () => Math.round(this.#look() - before),
      stop: () => {
        if (--this.#users === 0) clearInterval(this.#timer)
      }
    }
  }

  #look(): number {
    const at = performance.now()
    const late = at - this.#last - tick
    this.#last = at
    if (late > mostLate) this.#total += late
    return this.#total
  }
}

const stallWatch = new StallWatch()
