/**
 * A connection to a PostgreSQL server: encrypted as `sslmode` demands, and closed if an answer takes too long.
 *
 * The client library would verify certificates in all modes, and could not fall back. Encryption therefore happens below
 * it, as libpq does it (PostgreSQL documentation, "SSL Support" and "SSL Session Encryption").
 *
 * Without a time limit for answers, a connection to a frozen server or through a network that drops everything would
 * wait forever. TCP keep-alive does not detect a frozen server, whose kernel still acknowledges packets. The timers use
 * real time, never a test clock.
 */
import { Predicate } from "effect"
import { once } from "node:events"
import type { Socket } from "node:net"
import { connect, isIP } from "node:net"
import { Duplex } from "node:stream"
import * as Tls from "node:tls"
import type { PostgresUrl } from "./PostgresUrl.ts"
import { isSocket } from "./PostgresUrl.ts"
import type { Trust } from "./PostgresTls.ts"
import { readTrust, TlsUnusable } from "./PostgresTls.ts"
import type { ServerWatch, WatchedConnection } from "./ServerWatch.ts"
import type { TransactionSettings } from "./TransactionSettings.ts"
import { letters, MessageReader } from "./TransactionSettings.ts"

/** Time limit for an answer; null for none, as during migrations. */
interface Patience {
  millis: number | null
}

/** What all connections of a pool share. */
export interface Link {
  readonly url: PostgresUrl
  readonly patience: Patience
  readonly watch: ServerWatch
  /** How the last connection was made; null before the first. */
  last: {
    readonly isEncrypted: boolean
    /** Whether the server's certificate is from a trusted authority. */
    readonly isVerified: boolean
    /** Whether it leads to another machine. */
    readonly isRemote: boolean
    /** Why the connection is not encrypted although the server offers TLS. */
    readonly failure: Error | null
  } | null
}

/** Idle time before TCP keep-alive probes, in milliseconds. */
const keepAliveAfter = 3_000

/** Answers to SSLRequest: `S` and `N`. */
const willEncrypt = 0x53
const refusesTls = 0x4e

/** SSLRequest: the length, and the code of the request. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** Maximum length of the part of an error that is read, in bytes. */
const maxError = 65_536

/** Reads the fields of an ErrorResponse: each is a letter and a text that ends with a zero byte. */
const fieldsOf = (body: Buffer): ReadonlyMap<string, string> =>
  new Map(
    body
      .toString()
      .split("\0")
      .filter((field) => field !== "")
      .map((field) => [field.slice(0, 1), field.slice(1)])
  )

/** Detects the end of each answer, which is the message ReadyForQuery, and errors. */
class AnswerReader extends MessageReader {
  /** Whether the session is outside a transaction, as the last complete answer said. */
  isIdle = false
  private isReady = false
  private readonly onError: (fields: ReadonlyMap<string, string>) => void
  /** Parts of the current error. */
  private error: Array<Uint8Array> = []
  private errorLength = 0

  constructor(onError: (fields: ReadonlyMap<string, string>) => void) {
    super()
    this.onError = onError
  }

  /** Returns whether an answer ends within `bytes`, the next bytes of the stream. */
  sees(bytes: Uint8Array): boolean {
    this.isReady = false
    this.read(bytes)
    return this.isReady
  }

  protected override part(letter: number, part: Uint8Array, isLast: boolean): void {
    if (letter === letters.readyForQuery) {
      this.isIdle = part[0] === letters.idle
      this.isReady = true
    } else if (letter === letters.error) this.readError(part, isLast)
  }

  private readError(part: Uint8Array, isLast: boolean): void {
    if (this.errorLength < maxError) this.error.push(Uint8Array.from(part))
    this.errorLength += part.length
    if (!isLast) return
    const fields = fieldsOf(Buffer.concat(this.error))
    this.error = []
    this.errorLength = 0
    this.onError(fields)
  }
}

const loopback = /^(?:127\.|::1$|::ffff:127\.)/

type Encryption = "plain" | "tls"

/** Returns what to try, in this order. `allow` begins with what the server accepted last. */
const attemptsOf = ({ last, url }: Link): ReadonlyArray<Encryption> => {
  if (isSocket(url)) return ["plain"]
  switch (url.tls.mode) {
    case "disable":
      return ["plain"]
    case "allow":
      return last?.isEncrypted === true ? ["tls", "plain"] : ["plain", "tls"]
    case "prefer":
      return ["tls", "plain"]
    default:
      return ["tls"]
  }
}

/** Starts to connect to the server's address. */
const startSocket = (url: PostgresUrl): Socket => {
  const { address, host, port } = url
  const socket = isSocket(url)
    ? connect({ path: `${host.replace(/^@/, "\0")}/.s.PGSQL.${port}` })
    : connect({ host: address ?? host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveAfter })
  // Errors of a socket that was left for another attempt.
  return socket.on("error", () => undefined)
}

/** Asks whether the server encrypts. Bytes after its answer would come from someone in between. */
const asksForTls = async (socket: Socket): Promise<boolean> => {
  socket.write(sslRequest)
  const [answer]: ReadonlyArray<unknown> = await Promise.race([once(socket, "data"), once(socket, "close")])
  socket.pause()
  if (!(answer instanceof Uint8Array)) {
    throw new TlsUnusable({
      message: "the server closed the connection when asked for TLS. Check that PostgreSQL listens there."
    })
  }
  if (answer.length === 1 && answer[0] === willEncrypt) return true
  if (answer.length === 1 && answer[0] === refusesTls) return false
  throw new TlsUnusable({
    message: "the server's answer to the request for TLS is not PostgreSQL's. Check that PostgreSQL listens there."
  })
}

const encrypt = async (socket: Socket, { host, tls }: PostgresUrl, { context, isVerified }: Trust): Promise<Socket> => {
  const secure = Tls.connect({
    socket,
    host,
    secureContext: context,
    servername: tls.sni && isIP(host) === 0 ? host : "",
    ALPNProtocols: ["postgresql"],
    rejectUnauthorized: isVerified,
    ...(tls.mode !== "verify-full" && { checkServerIdentity: () => undefined })
  })
  await once(secure, "secureConnect")
  return secure
}

const noTls = ({ tls }: PostgresUrl): string =>
  `the server offers no TLS, and sslmode=${tls.mode} demands it. Turn ssl on at the server. Only where nobody can read or change the traffic, use sslmode=disable instead.`

class ServerConnection extends Duplex implements WatchedConnection {
  readonly openedAt = performance.now()
  awaitedSince: number | null = null
  /** Whether to close the connection when it becomes idle. */
  private isRetired = false
  /** Whether the server or the network has ended the connection. */
  private isLost = false
  private readonly link: Link
  /** Settings to send with each transaction; null if the session has them. */
  private readonly settings: TransactionSettings | null
  /** What to try if the server refuses the current attempt. */
  private untried: ReadonlyArray<Encryption>
  /** Null while the connection is being made. */
  private socket: Socket | null = null
  private isEncrypted = false
  private isVerified = false
  /** The socket that is being connected. */
  private pending: Socket | null = null
  /** Continues the write that waits for the connection. */
  private resumeWrite: (() => void) | null = null
  /** The first packet, for another attempt; null once the server has accepted it. */
  private startup: Buffer | null = null
  private isAccepted = false
  /** The server's refusal of an earlier attempt. */
  private refusal: Buffer | null = null
  /** Why an attempt with TLS failed. */
  private failure: Error | null = null
  private readonly answers = new AnswerReader((fields) =>
    this.link.watch.reported(fields.get("C") ?? "", fields.get("R") ?? "")
  )
  private received = 0
  private timer: NodeJS.Timeout | undefined

  constructor(link: Link, settings: TransactionSettings | null) {
    super({ allowHalfOpen: false })
    this.link = link
    this.settings = settings
    this.untried = attemptsOf(link)
    link.watch.opened(this)
    this.begin()
  }

  // ---- Connecting

  private begin(): void {
    this.open().then(
      () => {
        if (this.startup !== null) this.socket?.write(this.startup)
        this.resumeWrite?.()
      },
      (error: Error) => this.giveUp(error)
    )
  }

  /** Makes the next attempt, and another one if TLS fails and may be left out. */
  private async open(): Promise<void> {
    const { url } = this.link
    const [encryption, ...untried] = this.untried
    this.untried = untried
    const trust = encryption === "tls" ? readTrust(url.tls) : null
    const socket = startSocket(url)
    this.pending = socket
    // A failure to connect is final, because every attempt has the same address.
    await once(socket, "connect")
    if (trust === null) return this.adopt(socket, false)
    try {
      if (url.tls.negotiation === "direct" || (await asksForTls(socket))) {
        return this.adopt(await encrypt(socket, url, trust), true, trust.isVerified)
      }
    } catch (error) {
      socket.destroy()
      if (this.destroyed || this.untried.length === 0) throw error
      this.failure = Predicate.isError(error) ? error : null
      return await this.open()
    }
    if (!this.untried.includes("plain")) throw new TlsUnusable({ message: noTls(url) })
    this.untried = []
    this.adopt(socket, false)
  }

  private adopt(socket: Socket, isEncrypted: boolean, isVerified = false): void {
    this.socket = socket
    this.isEncrypted = isEncrypted
    this.isVerified = isVerified
    const ifCurrent =
      <Args extends ReadonlyArray<unknown>>(act: (...args: Args) => void) =>
      (...args: Args): void => {
        if (this.socket === socket) act(...args)
      }
    socket.on(
      "data",
      ifCurrent((chunk: Buffer) => this.receive(chunk))
    )
    socket.on(
      "error",
      ifCurrent((error: Error) => this.giveUp(error))
    )
    socket.on(
      "end",
      ifCurrent(() => {
        this.isLost = true
        this.push(null)
      })
    )
    socket.on(
      "close",
      ifCurrent(() => void (socket.readableEnded || this.lose()))
    )
    socket.resume()
    if (this.destroyed) socket.destroy()
  }

  /** Leaves the current socket for the next attempt. */
  private retreat(): void {
    const { socket } = this
    this.socket = null
    socket?.destroy()
    this.begin()
  }

  /** Ends without a connection. A refusal by the server says more than the failure of a second attempt. */
  private giveUp(error: Error): void {
    if (this.refusal === null) this.lose(error)
    else this.push(this.refusal)
  }

  private lose(error?: Error): void {
    this.isLost = true
    this.destroy(error)
  }

  // ---- Receiving

  private receive(chunk: Buffer): void {
    this.received += chunk.length
    if (!this.isAccepted && chunk[0] === letters.error) return this.refuse(chunk)
    if (!this.isAccepted) {
      const { failure, isEncrypted, isVerified, link } = this
      this.isAccepted = true
      this.startup = null
      link.last = { isEncrypted, isVerified, isRemote: !loopback.test(this.socket?.remoteAddress ?? "127."), failure }
    }
    if (this.answers.sees(chunk)) this.awaitedSince = null
    else if (this.awaitedSince !== null) {
      this.awaitedSince = performance.now()
      this.arm()
    }
    const wanted = this.settings === null ? chunk : this.settings.receive(chunk)
    if (wanted.length > 0 && !this.push(wanted)) this.socket?.pause()
    if (this.isRetired && this.isUnused) this.destroy()
  }

  private get isUnused(): boolean {
    return this.answers.isIdle && this.awaitedSince === null
  }

  /** A client with many statements may never leave the connection idle, so the second call closes it at once. */
  retire(): void {
    if (this.isUnused) this.destroy()
    else if (this.isRetired) this.destroy(new Error("the database server refuses the statements of this connection"))
    else this.isRetired = true
  }

  /** The server refuses the startup. Of two refusals, that of the encrypted attempt is shown. */
  private refuse(chunk: Buffer): void {
    const shown = this.refusal !== null && !this.isEncrypted ? this.refusal : chunk
    if (this.untried.length === 0) return void this.push(shown)
    this.refusal = shown
    this.retreat()
  }

  override _read(): void {
    this.socket?.resume()
  }

  // ---- Waiting for answers

  private arm(): void {
    const { millis } = this.link.patience
    if (millis === null) return
    this.timer ??= setTimeout(() => this.expire(millis), millis).unref()
    this.timer.refresh()
  }

  private expire(millis: number): void {
    // There is no timeout if no request waited when the timer fired. A request sent before the immediate runs has only
    // just begun to wait.
    if (this.awaitedSince === null) return
    const { received } = this
    // If this process was paused for long, a buffered answer is read before the immediate runs.
    setImmediate(() => {
      if (this.awaitedSince !== null && this.received === received)
        this.lose(new Error(`the database server said nothing for ${millis} ms`))
    })
  }

  // ---- Sending

  override _write(chunk: Buffer, _: string, callback: (error?: Error | null) => void): void {
    this.awaitedSince ??= performance.now()
    this.arm()
    if (!this.isAccepted) this.startup = this.startup === null ? chunk : Buffer.concat([this.startup, chunk])
    if (this.socket !== null) return void this.socket.write(this.settings?.send(chunk) ?? chunk, callback)
    // The first packet is written when the connection is made.
    this.resumeWrite = () => {
      this.resumeWrite = null
      callback()
    }
  }

  override _writev(
    chunks: Array<{ readonly chunk: Buffer; readonly encoding: BufferEncoding }>,
    callback: (error?: Error | null) => void
  ): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "buffer", callback)
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.socket === null) callback()
    else this.socket.end(callback)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.timer)
    this.link.watch.closed(this, this.isLost)
    this.pending?.destroy()
    this.socket?.destroy()
    callback(error)
  }
}

/** Connects to a server. */
export const connectServer = (link: Link, settings: TransactionSettings | null = null): Duplex =>
  new ServerConnection(link, settings)
