/**
 * Answers that their clients have not read yet: budgets for the memory that they occupy, and a deadline for clients that
 * read nothing.
 */
import { maxDataBytes, partBytes } from "@doorhook/core"
import { Metric } from "effect"
import { readFile } from "node:fs/promises"
import type { Socket } from "node:net"
import type { RequestFailure } from "./Failures.ts"
import { failure } from "./Failures.ts"
import type { HttpSettingsShape } from "./HttpSettings.ts"
import type { Answer } from "./Route.ts"
import { isPieces } from "./Route.ts"

/** Size up to which a body is written at once and not counted, in bytes. A connection has at most one such answer. */
export const smallBody = 64 * 1024

/** Bytes that an answer in pieces occupies: a part of a list, which may exceed its size by an event. */
export const costOfPieces = partBytes + maxDataBytes

/** Returns how many bytes an answer occupies until its client has read it; 0 for a small one. */
export const costOf = ({ body }: Answer): number => {
  if (body === null) return 0
  if (isPieces(body)) return body.live === undefined ? costOfPieces : 0
  return body.length > smallBody ? body.length : 0
}

const refused = Metric.counter("doorhook_http_answers_refused_total", {
  description: "Large answers refused because too many others were unread, by budget: of the client, or of the process",
  incremental: true
})
const refusedBy = {
  client: Metric.withAttributes(refused, { budget: "client" }),
  process: Metric.withAttributes(refused, { budget: "process" })
}

const closed = Metric.counter("doorhook_http_unread_closed_total", {
  description: "Connections closed because the client did not read its answer",
  incremental: true
})

const retry = { "retry-after": "5" } as const

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20)

/** Counts the bytes of open answers per client and in this process. */
export class OpenAnswers {
  readonly #settings: Pick<HttpSettingsShape, "unreadBytes" | "unreadBytesPerClient">
  readonly #update: (metric: Metric.Metric<number, unknown>, value: number) => void
  readonly #byClient = new Map<string, number>()
  #all = 0

  constructor(settings: HttpSettingsShape, update: (metric: Metric.Metric<number, unknown>, value: number) => void) {
    this.#settings = settings
    this.#update = update
    for (const metric of [refusedBy.client, refusedBy.process, closed]) update(metric, 0)
  }

  /** Returns the refusal of an answer that exceeds a budget; null if it may be sent. */
  refusalOf(client: string | null, bytes: number): RequestFailure | null {
    const { unreadBytes, unreadBytesPerClient } = this.#settings
    // A client may always have one answer, whatever its size.
    const own = client === null ? 0 : (this.#byClient.get(client) ?? 0)
    if (own > 0 && own + bytes > unreadBytesPerClient) {
      this.#update(refusedBy.client, 1)
      const detail = `You have more than ${mebibytes(unreadBytesPerClient)} MiB of answers that you have not read. Read them first, or close their connections, then try again.`
      return failure(429, { code: "unread_answers", title: "Too many unread answers", detail }, retry)
    }
    if (this.#all === 0 || this.#all + bytes <= unreadBytes) return null
    this.#update(refusedBy.process, 1)
    const detail = "Too many large answers are waiting for clients that read slowly. Try again in a few seconds."
    return failure(503, { code: "unread_answers", title: "Too many unread answers", detail }, retry)
  }

  /** Counts an answer. The returned function ends it, and may be called more than once. */
  open(client: string | null, bytes: number): () => void {
    const add = (more: number): void => {
      this.#all += more
      if (client === null) return
      const own = (this.#byClient.get(client) ?? 0) + more
      if (own === 0) this.#byClient.delete(client)
      else this.#byClient.set(client, own)
    }
    add(bytes)
    let isOpen = true
    return () => {
      if (isOpen) add(-bytes)
      isOpen = false
    }
  }

  /** Counts a connection that was closed because its client read nothing. */
  countClosed(): void {
    this.#update(closed, 1)
  }
}

/** Bytes that wait for a client. */
interface Waiting {
  /** The connection; null if its send queue says nothing about these bytes. */
  readonly socket: Socket | null
  readonly close: () => void
  /** When the client last took bytes, in milliseconds of the monotonic clock. */
  movedAt: number
  /** Length of the connection's send queue; undefined if not known. */
  queued: number | undefined
}

/** How much longer doorhook waits for a client if it does not know the length of the connection's send queue. */
const unknownFactor = 4

/**
 * Closes connections whose clients have taken no bytes for a time. A send buffer of the system may contain minutes of a
 * slow client's answer, and accepts no more bytes in the meantime, so the length of its queue is compared too.
 */
export class ReadDeadline {
  readonly #timeout: number
  readonly #waiting = new Set<Waiting>()
  #timer: NodeJS.Timeout | undefined
  #isLooking = false

  constructor(timeout: number) {
    this.#timeout = timeout
  }

  /** Begins to wait for a client. The returned function ends it. */
  begin(socket: Socket | null, close: () => void): () => void {
    const waiting: Waiting = { socket, close, movedAt: performance.now(), queued: undefined }
    this.#waiting.add(waiting)
    this.#timer ??= setInterval(() => void this.#look(), this.#timeout / 6).unref()
    return () => {
      this.#waiting.delete(waiting)
      if (this.#waiting.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  async #look(): Promise<void> {
    const now = performance.now()
    const late = [...this.#waiting].filter(({ movedAt }) => now - movedAt >= this.#timeout / 6)
    if (late.length === 0 || this.#isLooking) return
    this.#isLooking = true
    const queues = late.some(({ socket }) => socket !== null) ? await sendQueues() : new Map<string, number>()
    this.#isLooking = false
    for (const waiting of late) {
      const { queued, socket } = waiting
      waiting.queued = socket === null ? undefined : queues.get(`${socket.localPort} ${socket.remotePort}`)
      const timeout = waiting.queued === undefined ? this.#timeout * unknownFactor : this.#timeout
      if (queued !== undefined && queued !== waiting.queued) waiting.movedAt = now
      else if (now - waiting.movedAt >= timeout && this.#waiting.has(waiting)) waiting.close()
    }
  }
}

/** Matches the ports and the length of the send queue in a line of `/proc/net/tcp`. */
const tcpLine = /:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/g

/** Returns the lengths of all TCP send queues, by local and remote port. Only Linux has these files. */
const sendQueues = async (): Promise<ReadonlyMap<string, number>> => {
  const queues = new Map<string, number>()
  if (process.platform !== "linux") return queues
  for (const family of ["tcp", "tcp6"]) {
    const lines = await readFile(`/proc/self/net/${family}`, "latin1").catch(() => "")
    for (const [, local = "", remote = "", queue = ""] of lines.matchAll(tcpLine)) {
      const ports = `${Number.parseInt(local, 16)} ${Number.parseInt(remote, 16)}`
      queues.set(ports, (queues.get(ports) ?? 0) + Number.parseInt(queue, 16))
    }
  }
  return queues
}
