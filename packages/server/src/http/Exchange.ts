/**
 * A request in the form that handlers use. The original comes from `node:http`, a web request, or an Effect router.
 */
import { Effect, Exit } from "effect"
import type { IncomingMessage } from "node:http"
import type { BodyError, RequestFailure } from "./Failures.ts"
import { BodyUnreadable } from "./Failures.ts"

/** The result of reading a body. */
export type BodyExit = Exit.Exit<Uint8Array, BodyError>

/** The source of a body. */
export interface BodySource {
  /** Length from `Content-Length`, in bytes; null without one. */
  readonly declared: number | null
  /** `Content-Encoding`; undefined without one, or if the host has decoded the body. */
  readonly coding: string | undefined
  /**
   * Starts reading. `chunk` returns false when no more bytes are needed. `end` is called at most once, with false if
   * the body was cut off. Returns a function that stops reading.
   */
  readonly start: (chunk: (bytes: Uint8Array) => boolean, end: (isWhole: boolean) => void) => () => void
}

export interface Exchange {
  /** The request id, which appears in the answer's headers, its error objects and the log. */
  readonly id: string
  /** The method; GET for HEAD requests. */
  readonly method: string
  /** The path as the client sent it, without the query. */
  readonly path: string
  /** The query as the client sent it, without the question mark. Empty if there is none. */
  readonly query: string
  /** The client's address: the peer's address, or the address that trusted proxies report. Null if unknown. */
  readonly address: string | null
  /** The address at the other end of the connection; null if unknown. */
  readonly peer: string | null
  /** Returns a header by its lower-case name. Repeated headers are joined by commas. */
  readonly header: (name: string) => string | undefined
  /** All headers by their lower-case names. */
  readonly headers: () => Readonly<Record<string, string>>
  /**
   * The client whose budget of unread answers this answer counts against: the address, or the grant of its token. Null
   * if only the budget of the process applies.
   */
  client: string | null
  /** Returns the refusal if the client has no budget for an answer in pieces; null otherwise. */
  readonly piecesRefusal: () => RequestFailure | null
  /** Additional headers of the answer, which are sent even if the request fails. */
  also: Readonly<Record<string, string>>
  /** Reads the body, at most `limit` bytes. Calls `done` once. The returned function stops reading. */
  readonly read: (limit: number, done: (body: BodyExit) => void) => () => void
}

/** A body that the host has already read. `type` is its media type, which may be empty. */
export interface ReadBody {
  readonly type: string
  readonly content: Uint8Array
}

/** The parts of a request from which an `Exchange` is made. */
export interface Incoming {
  readonly method: string
  /** Path and query, as the client sent them. */
  readonly target: string
  readonly peer: string | null
  header(name: string): string | undefined
  headers(): Readonly<Record<string, string>>
  /** The values of all `Authorization` headers; empty if the source joins repeated headers. */
  authorizations(): ReadonlyArray<string>
  body(): BodySource
}

/** Reads the bytes of the body. */
const readBytes = (x: Exchange, limit: number): Effect.Effect<Uint8Array, BodyError> =>
  Effect.callback((resume) => {
    const stop = x.read(limit, resume)
    return Effect.sync(stop)
  })

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Decodes UTF-8. Refuses invalid bytes, because the stored text must equal the sent text. */
export const decodeText = (bytes: Uint8Array): Exit.Exit<string, BodyUnreadable> => {
  try {
    return Exit.succeed(utf8.decode(bytes))
  } catch {
    return Exit.fail(new BodyUnreadable({ why: "not_utf8" }))
  }
}

/** Reads the body as text. */
export const readText = (x: Exchange, limit: number): Effect.Effect<string, BodyError> =>
  Effect.flatMap(readBytes(x, limit), decodeText)

const nameOfAuthorization = "authorization"

/**
 * Returns the values of the `Authorization` headers in `rawHeaders` of `node:http`, which alternates names and values.
 */
export const authorizationsIn = (rawHeaders: ReadonlyArray<string>): ReadonlyArray<string> => {
  const values: Array<string> = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ""
    if (name.length === nameOfAuthorization.length && name.toLowerCase() === nameOfAuthorization)
      values.push(rawHeaders[at + 1] ?? "")
  }
  return values
}

const text = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof value === "object" ? value.join(", ") : value

/** Returns the declared length of a body; null if the body is chunked or missing. */
export const declaredLength = (header: string | undefined): number | null =>
  header === undefined ? null : Number(header)

/** Headers that describe the encoding of the original body. They don't apply to a body that was already read. */
const bodyHeaders: ReadonlySet<string> = new Set(["content-length", "content-encoding", "transfer-encoding"])

/** Removes scheme and host, which doorhook ignores, from a target (RFC 9112 section 3.2.2). */
export const originForm = (target: string): string =>
  target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?]*(?=\/)/i, "")

/** A `node:http` request. A class, because streams keep their requests, and closures would take more memory. */
export class NodeRequest implements Incoming {
  readonly method: string
  readonly target: string
  readonly peer: string | null
  readonly #request: IncomingMessage
  readonly #read: ReadBody | undefined

  /** `read` is the request's body if the host has already read it. */
  constructor(request: IncomingMessage, read?: ReadBody) {
    this.method = request.method ?? "GET"
    this.target = originForm(request.url ?? "/")
    this.peer = request.socket.remoteAddress ?? null
    this.#request = request
    this.#read = read
  }

  header(name: string): string | undefined {
    if (this.#read !== undefined && name === "content-type") return this.#read.type === "" ? undefined : this.#read.type
    return text(this.#request.headers[name])
  }

  headers(): Readonly<Record<string, string>> {
    const all: Record<string, string> = {}
    for (const [name, value] of Object.entries(this.#request.headers)) {
      if (this.#read === undefined || !bodyHeaders.has(name)) all[name] = text(value) ?? ""
    }
    return all
  }

  authorizations(): ReadonlyArray<string> {
    return authorizationsIn(this.#request.rawHeaders)
  }

  body(): BodySource {
    return this.#read === undefined ? nodeBody(this.#request) : readBody(this.#read.content)
  }
}

/** Makes a source for a body that is already in memory. */
const readBody = (content: Uint8Array): BodySource => ({
  declared: content.length,
  coding: undefined,
  start: (chunk, end) => {
    let isStopped = false
    queueMicrotask(() => {
      if (!isStopped && chunk(content)) end(true)
    })
    return () => {
      isStopped = true
    }
  }
})

const nodeBody = (request: IncomingMessage): BodySource => ({
  declared: declaredLength(request.headers["content-length"]),
  coding: request.headers["content-encoding"],
  start: (chunk, end) => {
    const stop = () => {
      request.off("data", onData).off("end", onEnd).off("close", onClose)
      if (!request.readableEnded) request.pause()
    }
    const onData = (bytes: Buffer) => {
      if (!chunk(bytes)) stop()
    }
    const onEnd = () => {
      stop()
      end(true)
    }
    // A lost connection closes the request without an `end` event.
    const onClose = () => {
      stop()
      end(false)
    }
    if (request.readableEnded) queueMicrotask(() => end(true))
    else if (request.destroyed) queueMicrotask(() => end(false))
    else request.on("data", onData).on("end", onEnd).on("close", onClose)
    return stop
  }
})

/** Converts a web request. `peer` is the address at the other end of the connection, which a `Request` lacks. */
export const fromWeb = (request: Request, peer: string | null): Incoming => {
  // The path as the client sent it, except for dot segments, which `URL` resolves.
  const { pathname, search } = new URL(request.url)
  const { headers } = request
  return {
    method: request.method,
    target: pathname + search,
    peer,
    header: (name) => headers.get(name) ?? (name === "host" ? new URL(request.url).host : undefined),
    headers: () => Object.fromEntries(headers),
    authorizations: () => [],
    body: () => ({
      declared: declaredLength(headers.get("content-length") ?? undefined),
      coding: headers.get("content-encoding") ?? undefined,
      start: (chunk, end) => {
        const reader = request.body?.getReader()
        let isStopped = false
        const stop = () => {
          isStopped = true
          // Errors during cancellation don't matter.
          void reader?.cancel().catch(() => undefined)
        }
        const pull = async () => {
          for (;;) {
            const next = await reader?.read()
            if (isStopped) return
            if (next === undefined || next.done) return end(true)
            if (!chunk(next.value)) return stop()
          }
        }
        pull().catch(() => {
          if (!isStopped) end(false)
        })
        return stop
      }
    })
  }
}
