/**
 * A request, as handlers see it: from `node:http`, from the web, or from a router of Effect's.
 */
import { Effect, Exit } from "effect"
import type { IncomingMessage } from "node:http"
import type { BodyError } from "./Failures.ts"
import { BodyUnreadable } from "./Failures.ts"

/** The outcome of reading a body. */
export type BodyExit = Exit.Exit<Uint8Array, BodyError>

/** What a body is read from. */
export interface BodySource {
  /** Length from `Content-Length`, in bytes; null without one. */
  readonly declared: number | null
  /**
   * Starts reading. `chunk` returns false once no more is wanted; `end` is called at most once, with false where the body
   * broke off. Returns what stops reading.
   */
  readonly start: (chunk: (bytes: Uint8Array) => boolean, end: (isWhole: boolean) => void) => () => void
}

export interface Exchange {
  /** The request id: in the answer, in its error objects and in the log. */
  readonly id: string
  /** HEAD counts as GET. */
  readonly method: string
  /** The path as the client wrote it, without the query. */
  readonly path: string
  /** The query as the client wrote it, without the question mark; empty when there is none. */
  readonly query: string
  /** Address of the client: the peer's, or the one that trusted proxies report; null when it is unknown. */
  readonly address: string | null
  /** Address of the connection's other end; null when it is unknown. */
  readonly peer: string | null
  /** A header by its name in lower case; several of one name are one text with commas. */
  readonly header: (name: string) => string | undefined
  /** All headers, by their names in lower case. */
  readonly headers: () => Readonly<Record<string, string>>
  /** Headers that the answer has besides its own, failures included. */
  also: Readonly<Record<string, string>>
  /** Reads the body, at most `limit` bytes of it. Calls back once, and returns what stops reading. */
  readonly read: (limit: number, done: (body: BodyExit) => void) => () => void
}

/** A body that was read before, and its media type; an empty type for none. */
export interface ReadBody {
  readonly type: string
  readonly content: Uint8Array
}

/** What the surface needs of a request before it becomes an exchange. */
export interface Incoming {
  readonly method: string
  /** Path and query, as the client wrote them. */
  readonly target: string
  readonly peer: string | null
  readonly header: (name: string) => string | undefined
  readonly headers: () => Readonly<Record<string, string>>
  /** The values of all `Authorization` headers, as far as the source tells them apart. */
  readonly authorizations: () => ReadonlyArray<string>
  readonly body: () => BodySource
}

/** The bytes of the body. */
const readBytes = (x: Exchange, limit: number): Effect.Effect<Uint8Array, BodyError> =>
  Effect.callback((resume) => {
    const stop = x.read(limit, resume)
    return Effect.sync(stop)
  })

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Bytes as text. What is not UTF-8 is refused: what is stored must be what was sent. */
export const decodeText = (bytes: Uint8Array): Exit.Exit<string, BodyUnreadable> => {
  try {
    return Exit.succeed(utf8.decode(bytes))
  } catch {
    return Exit.fail(new BodyUnreadable({ why: "not_utf8" }))
  }
}

/** The body as text. */
export const readText = (x: Exchange, limit: number): Effect.Effect<string, BodyError> =>
  Effect.flatMap(readBytes(x, limit), decodeText)

const nameOfAuthorization = "authorization"

/** The values of the `Authorization` headers in a list of names and values in turns, as `node:http` has it. */
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

/** The declared length of a body; null when it is chunked or has none. */
export const declaredLength = (header: string | undefined): number | null =>
  header === undefined ? null : Number(header)

/** Headers of the body as it was sent. */
const bodyHeaders: ReadonlySet<string> = new Set(["content-length", "content-encoding", "transfer-encoding"])

/** A target without the host that it may name (RFC 9112 section 3.2.2), which says nothing here. */
export const originForm = (target: string): string =>
  target.startsWith("/") ? target : target.replace(/^https?:\/\/[^/?]*(?=\/)/i, "")

/** A request of `node:http`, and its body where something else has read it. */
export const fromNode = (request: IncomingMessage, read?: ReadBody): Incoming => ({
  method: request.method ?? "GET",
  target: originForm(request.url ?? "/"),
  peer: request.socket.remoteAddress ?? null,
  header: (name) => {
    if (read !== undefined && name === "content-type") return read.type === "" ? undefined : read.type
    return text(request.headers[name])
  },
  headers: () => {
    const all: Record<string, string> = {}
    for (const [name, value] of Object.entries(request.headers)) {
      if (read === undefined || !bodyHeaders.has(name)) all[name] = text(value) ?? ""
    }
    return all
  },
  authorizations: () => authorizationsIn(request.rawHeaders),
  body: () => (read === undefined ? nodeBody(request) : readBody(read.content))
})

/** A body that is there already. */
const readBody = (content: Uint8Array): BodySource => ({
  declared: content.length,
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
    // A connection that is gone closes the request without an end.
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

/** A request of the web. Its connection is known to the caller alone. */
export const fromWeb = (request: Request, peer: string | null): Incoming => {
  // The target as it is written: `URL` has resolved dots and nothing else.
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
      start: (chunk, end) => {
        const reader = request.body?.getReader()
        let isStopped = false
        const stop = () => {
          isStopped = true
          // What the stream says of being cancelled is of no interest any more.
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
