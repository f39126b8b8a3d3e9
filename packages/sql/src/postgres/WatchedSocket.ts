/**
 * A connection to the server that fails when an answer takes too long.
 *
 * Without a time limit, a connection to a frozen server or through a network that drops everything would wait forever.
 * TCP keep-alive does not detect a frozen server, whose kernel still acknowledges packets. The timers use real time,
 * never a test clock.
 */
import type { TcpNetConnectOpts, IpcNetConnectOpts } from "node:net"
import { Socket } from "node:net"
import { Duplex } from "node:stream"

/** Time limit for an answer; null for none, as during migrations. */
export interface Patience {
  millis: number | null
}

/** The server's address. */
export interface Endpoint {
  readonly to: TcpNetConnectOpts | IpcNetConnectOpts
  /** Whether the connection may be encrypted. */
  readonly mayEncrypt: boolean
}

/** Idle time before TCP keep-alive probes, in milliseconds. */
const keepAliveAfter = 10_000

/** Returns the endpoint in a libpq URI, as the client reads it. */
export const endpointOf = (text: string): Endpoint => {
  const url = new URL(text)
  const host = url.searchParams.get("host") ?? (decodeURIComponent(url.hostname).replace(/^\[|\]$/g, "") || "localhost")
  const port = Number(url.searchParams.get("port") ?? (url.port || "5432"))
  const mode = url.searchParams.get("sslmode")
  const mayEncrypt = mode !== null && mode !== "disable"
  return host.startsWith("/")
    ? { to: { path: `${host}/.s.PGSQL.${port}` }, mayEncrypt }
    : { to: { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveAfter }, mayEncrypt }
}

/** `Z`: ReadyForQuery. */
const readyForQuery = 0x5a

/** Length of a message's header (letter and length field), in bytes. */
const headerLength = 5

/**
 * Detects the end of each answer, which is the message ReadyForQuery. A message is one letter, a four-byte length that
 * includes itself, and a body (PostgreSQL documentation, "Frontend/Backend Protocol", "Message Formats").
 */
class ReadyWatch {
  /** Bytes of the current message still to come. */
  private rest = 0
  /** Bytes of the current header received. */
  private header = 0
  private letter = 0
  private length = 0

  /** Returns whether an answer ends within `bytes`, the next bytes of the stream. */
  sees(bytes: Uint8Array): boolean {
    let isReady = false
    for (let at = 0; at < bytes.length;) {
      if (this.rest > 0) {
        const step = Math.min(this.rest, bytes.length - at)
        this.rest -= step
        at += step
        continue
      }
      const byte = bytes[at++] ?? 0
      if (this.header === 0) {
        this.letter = byte
        this.length = 0
      } else {
        this.length = this.length * 256 + byte
      }
      if (++this.header < headerLength) continue
      this.header = 0
      this.rest = Math.max(0, this.length - 4)
      if (this.letter === readyForQuery) isReady = true
    }
    return isReady
  }
}

class WatchedSocket extends Socket {
  private readonly patience: Patience
  /**
   * Detects complete answers; null on an encrypted connection, where only the first bytes of an answer can be detected.
   */
  private readonly ready: ReadyWatch | null
  private awaited = false
  private timer: NodeJS.Timeout | undefined

  constructor(patience: Patience, ready: ReadyWatch | null) {
    super()
    this.patience = patience
    this.ready = ready
  }

  private arm(): void {
    const { millis } = this.patience
    if (millis === null) return
    this.timer ??= setTimeout(() => this.expire(millis), millis).unref()
    this.timer.refresh()
  }

  private expire(millis: number): void {
    // There is no timeout if no request waited when the timer fired. A request sent before the immediate runs has only
    // just begun to wait.
    if (!this.awaited) return
    const { bytesRead } = this
    // If this process was paused for long, a buffered answer is read before the immediate runs.
    setImmediate(() => {
      if (this.awaited && this.bytesRead === bytesRead)
        this.destroy(new Error(`the database server said nothing for ${millis} ms`))
    })
  }

  private sent(): void {
    this.awaited = true
    this.arm()
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.sent()
    super._write(chunk, encoding, callback)
  }

  override _writev(
    chunks: Array<{ readonly chunk: Buffer; readonly encoding: BufferEncoding }>,
    callback: (error?: Error | null) => void
  ): void {
    this.sent()
    super._writev?.(chunks, callback)
  }

  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    if (chunk !== null && (this.ready === null || this.ready.sees(chunk))) this.awaited = false
    else if (this.awaited) this.arm()
    return super.push(chunk, encoding)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.timer)
    super._destroy(error, callback)
  }
}

/** Connects to a server. */
export const connectWatched = ({ mayEncrypt, to }: Endpoint, patience: Patience): Duplex => {
  const socket = new WatchedSocket(patience, mayEncrypt ? null : new ReadyWatch())
  socket.connect(to)
  // TLS on a bare socket would bypass the methods overridden here.
  return mayEncrypt ? Duplex.from({ readable: socket, writable: socket }) : socket
}
