/**
 * Writes answers to their connections, and makes web responses of them. Large bodies are written as their clients read
 * them.
 */
import { Cause, Effect, Exit } from "effect"
import type { Fiber } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { TLSSocket } from "node:tls"
import type { Exchange } from "./Exchange.ts"
import type { KnownError } from "./Failures.ts"
import { logRefusal, outcomeOf } from "./Failures.ts"
import { ReadDeadline, smallBody } from "./OpenAnswers.ts"
import type { Answer, Pieces } from "./Route.ts"
import { isPieces } from "./Route.ts"

export const requestIdHeader = "x-request-id"

/** An answer with all its headers. A large body is a stream. */
export interface WebAnswer extends Omit<Answer, "body"> {
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null
}

/** An answer to send. */
export interface Outgoing {
  readonly answer: Answer
  readonly x: Exchange
  /** Frees what the answer occupies, after it was sent or dropped. */
  readonly close: () => void
}

/** An answer that waits to be written to its connection. */
interface Queued extends Outgoing {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Returns the headers of an answer, including the common headers. */
const headersOf = ({ headers }: Answer, { also, id }: Exchange): Readonly<Record<string, string>> => ({
  ...also,
  ...headers,
  [requestIdHeader]: id,
  "x-content-type-options": "nosniff"
})

const lengthOf = (body: string | Uint8Array): number =>
  typeof body === "string" ? Buffer.byteLength(body) : body.length

/** Whether answers with a status have neither body nor length (RFC 9110 sections 8.6 and 15.3.5). */
const isBodiless = (status: number): boolean => status === 204 || status === 304

/** Size of the pieces in which a large body is written, in bytes. Each one shows that the client still reads. */
const writeSize = 64 * 1_024

const noBytes = new Uint8Array()

const bytesOf = (piece: string | Uint8Array): Uint8Array => (typeof piece === "string" ? Buffer.from(piece) : piece)

/** Returns an effect that takes the next bytes of a body; null at the end. */
const reader = (body: string | Uint8Array | Pieces): Effect.Effect<Uint8Array | null, KnownError> => {
  const next = isPieces(body) ? body.next : Exit.succeed(null)
  let bytes: Uint8Array = isPieces(body) ? noBytes : bytesOf(body)
  let at = 0
  const take = (): Uint8Array => bytes.subarray(at, (at += writeSize))
  return Effect.suspend(() => {
    if (at < bytes.length) return Exit.succeed(take())
    // Drops the previous piece while the next one is read.
    bytes = noBytes
    return Effect.map(next, (piece) => {
      if (piece === null) return null
      bytes = bytesOf(piece)
      at = 0
      return take()
    })
  })
}

/** Whether a response can't be sent any more. A closed stream of HTTP/2 has no socket; its response has no `destroyed`. */
const isClosed = (request: IncomingMessage, { destroyed, socket }: ServerResponse): boolean =>
  destroyed || (request.httpVersionMajor === 2 && (socket ?? null) === null)

/** Closes a connection without sending what waits in the system's buffers, which would occupy them for minutes. */
const reset = (request: IncomingMessage, response: ServerResponse): void => {
  const { socket } = request
  const isPlain = request.httpVersionMajor === 1 && socket instanceof Socket && !(socket instanceof TLSSocket)
  if (isPlain && socket.remotePort !== undefined) socket.resetAndDestroy()
  else response.destroy()
}

export class AnswerWriter {
  readonly #deadline: ReadDeadline
  readonly #fork: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
  readonly #countClosed: () => void
  #queue: Array<Queued> = []

  constructor(timeout: number, fork: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>, countClosed: () => void) {
    this.#deadline = new ReadDeadline(timeout)
    this.#fork = fork
    this.#countClosed = countClosed
  }

  /**
   * Writes all answers of an event loop turn together at the end of the turn. Therefore a reader on the same machine,
   * like a proxy, wakes up once per turn. A wake-up for each answer would cost more than most requests.
   */
  send(request: IncomingMessage, response: ServerResponse, given: Outgoing): void {
    if (this.#queue.push({ request, response, ...given }) === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const all = this.#queue
    this.#queue = []
    for (const each of all) {
      try {
        this.#write(each)
      } catch (error) {
        each.close()
        // The error is thrown later, so that the other answers are still written.
        process.nextTick(() => {
          throw error
        })
      }
    }
  }

  #write({ answer, close, request, response, x }: Queued): void {
    // The host may have answered already, for example after a timeout.
    if (response.headersSent || isClosed(request, response)) return close()
    const { body, headers, status } = answer
    const list: Array<string | number> = []
    for (const name in x.also) list.push(name, x.also[name] ?? "")
    for (const name in headers) list.push(name, headers[name] ?? "")
    list.push(requestIdHeader, x.id, "x-content-type-options", "nosniff")
    if (!isBodiless(status) && !(body !== null && isPieces(body)))
      list.push("content-length", body === null ? 0 : lengthOf(body))
    if (!request.complete) {
      // Only HTTP/1 connections are closed. An HTTP/2 stream ends with its answer and shares its connection with other
      // streams.
      const isLast = request.httpVersionMajor === 1 && (isTooLong(request) || status === 413)
      if (isLast) {
        if (headers["connection"] === undefined) list.push("connection", "close")
        closesGently(request.socket)
      } else response.prependOnceListener("finish", () => discardRest(request))
    }
    response.writeHead(status, list)
    if (body === null || request.method === "HEAD") this.#end(request, response)
    else if (isPieces(body) || lengthOf(body) > smallBody) return this.#stream(request, response, body, x, close)
    else this.#end(request, response, body)
    close()
  }

  /** Ends an answer. Closes the connection unless the client takes what the system's buffers did not take. */
  #end(request: IncomingMessage, response: ServerResponse, rest?: string | Uint8Array): void {
    response.end(rest)
    if (response.writableLength > 0) response.once("close", this.#expectRead(request, response))
  }

  /** Closes the connection unless the client reads. The returned function ends this. */
  #expectRead(request: IncomingMessage, response: ServerResponse, last?: string): () => void {
    // The queue of an HTTP/2 connection belongs to all of its streams.
    return this.#deadline.begin(request.httpVersionMajor === 1 ? request.socket : null, () => {
      this.#countClosed()
      if (last === undefined || response.writableEnded) return reset(request, response)
      response.end(last)
      const timer = setTimeout(() => reset(request, response), closeGrace)
      response.once("close", () => clearTimeout(timer))
    })
  }

  /**
   * Writes a large body. Takes the next bytes when the system has taken the previous ones. This waits for `drain`, because
   * a host's compression passes it on but may ignore the callback of a write.
   */
  #stream(
    request: IncomingMessage,
    response: ServerResponse,
    body: string | Uint8Array | Pieces,
    { id }: Exchange,
    close: () => void
  ): void {
    const read = reader(body)
    const live = isPieces(body) ? body.live : undefined
    const write = (bytes: Uint8Array) =>
      Effect.callback<void>((resume) => {
        if (response.write(bytes)) return resume(Effect.void)
        const end = this.#expectRead(request, response, live?.tooSlow)
        const drained = (): void => {
          end()
          resume(Effect.void)
        }
        response.once("drain", drained)
        return Effect.sync(() => {
          end()
          response.off("drain", drained)
        })
      })
    const finish = () => this.#end(request, response)
    const all = Effect.gen(function* () {
      for (let bytes = yield* read; bytes !== null; bytes = yield* read) yield* write(bytes)
      finish()
    })
    const fiber = this.#fork(Effect.annotateLogs(logged(all), "request_id", id))
    response.once("close", () => {
      close()
      fiber.interruptUnsafe()
    })
    // Without its end, the client sees that the answer is incomplete.
    fiber.addObserver((exit) => {
      if (Exit.isFailure(exit) && !response.closed) response.destroy()
    })
  }

  webResponse(request: Request, given: Outgoing): Response {
    const isHead = request.method === "HEAD"
    const { body, ...rest } = this.webAnswer(given, isHead)
    return new Response(isHead || isBodiless(rest.status) ? null : body, rest)
  }

  /** The answer to HEAD includes its body, for its length, unless it is in pieces. It is no stream, which nobody reads. */
  webAnswer({ answer, close, x }: Outgoing, isHead: boolean): WebAnswer {
    const { body, status } = answer
    const rest = { status, headers: headersOf(answer, x) }
    if (body !== null && !isHead && (isPieces(body) || lengthOf(body) > smallBody))
      return { ...rest, body: this.#webStream(reader(body), close) }
    close()
    if (body === null || isPieces(body)) return { ...rest, body: null }
    return { ...rest, body: typeof body === "string" ? body : new Uint8Array(body) }
  }

  /** Makes a stream that takes bytes when its consumer reads, and fails if the consumer stops reading. */
  #webStream(read: Effect.Effect<Uint8Array | null, KnownError>, close: () => void): ReadableStream<Uint8Array> {
    let end = (): void => undefined
    const expectRead = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
      end = this.#deadline.begin(null, () => {
        end()
        close()
        this.#countClosed()
        controller.error(new Error("The answer was not read in time."))
      })
    }
    let isCancelled = false
    let stop = (): void => undefined
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) =>
      new Promise<void>((resolve, reject) => {
        end()
        const fiber = this.#fork(logged(read))
        stop = () => fiber.interruptUnsafe()
        fiber.addObserver((exit) => {
          if (isCancelled) return resolve()
          if (Exit.isSuccess(exit) && exit.value !== null) {
            controller.enqueue(exit.value)
            expectRead(controller)
            return resolve()
          }
          close()
          if (Exit.isFailure(exit)) return reject(new Error("The rest of the answer can't be read."))
          controller.close()
          resolve()
        })
      })
    const cancel = (): void => {
      isCancelled = true
      end()
      stop()
      close()
    }
    return new ReadableStream<Uint8Array>({ start: expectRead, pull, cancel }, { highWaterMark: 0 })
  }
}

/** Logs a failure after which an answer can't be continued. */
const logged = <A>(effect: Effect.Effect<A, KnownError>): Effect.Effect<A> =>
  Effect.catchCause(effect, (cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
    const { why } = outcomeOf(cause)
    return Effect.andThen(why === null ? Effect.void : logRefusal(why), Effect.interrupt)
  })

/** How much of an unread body is discarded to keep the connection usable, in bytes. */
const maxDiscarded = 64 * 1_024

/** How long a client has to read an answer before its connection is closed, in milliseconds. */
const closeGrace = 1_000

/** Closes a connection gently: a client that is still sending can read the answer. */
const closeGently = (socket: Socket): void => {
  if (socket.destroyed) return
  socket.end()
  const timer = setTimeout(() => socket.destroy(), closeGrace)
  socket.once("close", () => clearTimeout(timer))
}

/**
 * Makes Node close the connection with `closeGently` after the answer. By default Node closes it immediately, and a
 * client that is still sending could miss the answer.
 */
const closesGently = (socket: Socket): void => {
  socket.destroySoon = () => closeGently(socket)
}

/** Whether the rest of a body is too long to be discarded. */
const isTooLong = ({ headers }: IncomingMessage): boolean => Number(headers["content-length"] ?? 0) > maxDiscarded

/** Discards the rest of a body to keep the connection usable. If the rest is too long, closes the connection. */
const discardRest = (request: IncomingMessage): void => {
  if (request.complete || request.destroyed) return
  // Marks the body as read. Otherwise Node would discard all of it, whatever its length.
  request.read(0)
  let discarded = 0
  request.on("data", (bytes: Buffer) => {
    discarded += bytes.length
    if (discarded <= maxDiscarded) return
    request.pause()
    closeGently(request.socket)
  })
  request.resume()
}
