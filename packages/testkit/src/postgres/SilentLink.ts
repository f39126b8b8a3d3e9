/**
 * A network link to PostgreSQL that goes silent at a chosen statement, as when a machine vanishes: nothing passes in
 * either direction, and neither side sees a closed connection.
 *
 * The link reads the messages of both sides (PostgreSQL documentation, "Frontend/Backend Protocol"), so connections
 * through it can't be encrypted.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Socket } from "node:net"
import { connect, createServer } from "node:net"
import { listen } from "../ListeningServer.ts"

/** A transaction whose link went silent after the server had executed a statement. */
export interface Caught {
  readonly statement: string
  /** Process id of the server's side. */
  readonly pid: number
}

export interface SilentLink {
  /** The URL of the database through this link. */
  readonly url: string
  /** The statements that the server has answered inside a transaction. A test may empty it. */
  readonly seen: Set<string>
  /** Goes silent once the server has executed a matching statement inside a transaction. */
  readonly catchAfter: (statement: RegExp) => Promise<Caught>
  /** Passes on what was held back, and everything else from now on. */
  readonly heal: () => void
  /** Closes all connections, then passes on everything again. */
  readonly cut: () => void
}

/** Calls `handle` with each complete message: its letter, and its body. A startup message has no letter. */
class Messages {
  private rest = Buffer.alloc(0)
  private isStarting: boolean
  private readonly handle: (letter: string, body: Buffer) => void

  constructor(isStarting: boolean, handle: (letter: string, body: Buffer) => void) {
    this.isStarting = isStarting
    this.handle = handle
  }

  read(chunk: Buffer): void {
    this.rest = Buffer.concat([this.rest, chunk])
    for (;;) {
      const header = this.isStarting ? 0 : 1
      if (this.rest.length < header + 4) return
      const end = header + this.rest.readInt32BE(header)
      if (this.rest.length < end) return
      const body = this.rest.subarray(header + 4, end)
      // Protocol 3. A request for encryption has another number, and a startup message follows it.
      if (this.isStarting) this.isStarting = body.readInt16BE(0) !== 3
      else this.handle(String.fromCharCode(this.rest[0] ?? 0), body)
      this.rest = this.rest.subarray(end)
    }
  }
}

const texts = (body: Buffer): ReadonlyArray<string> => body.toString("utf8").split("\0")

/**
 * Lengthens the limit for idle transactions, so that tests need not be faster than it. The message keeps its length.
 */
const withoutLimit = (chunk: Buffer): Buffer =>
  Buffer.from(
    chunk.toString("latin1").replace(/(idle_in_transaction_session_timeout\W+(?:TO\W+)?)5000/, "$1  9h"),
    "latin1"
  )

interface LinkOptions {
  /** Whether the server ends the transactions of a silent client. */
  readonly hasLimit?: boolean
}

const open = async (database: string, { hasLimit = true }: LinkOptions) => {
  const target = new URL(database)
  const seen = new Set<string>()
  const sockets = new Set<Socket>()
  const held: Array<() => void> = []
  let isSilent = false
  let isLengthened = false
  let wanted: { readonly statement: RegExp; readonly caught: (caught: Caught) => void } | null = null

  const pass = (to: Socket, chunk: Buffer): void => {
    if (isSilent) held.push(() => to.write(chunk))
    else to.write(chunk)
  }

  const server = createServer((client) => {
    const backend = connect(Number(target.port), target.hostname)
    const names = new Map<string, string>()
    /** The statements of each request that the server has not answered yet. */
    const requests: Array<Array<string>> = []
    let request: Array<string> = []
    let pid = 0
    const sent = new Messages(true, (letter, body) => {
      const [first = "", second = ""] = texts(body)
      if (letter === "P") names.set(first, second)
      if (letter === "B") request.push(names.get(second) ?? "")
      if (letter === "Q") request.push(first)
      if (letter !== "S" && letter !== "Q") return
      requests.push(request)
      request = []
    })
    const answered = new Messages(false, (letter, body) => {
      if (letter === "K") pid = body.readInt32BE(0)
      if (letter !== "Z") return
      const statements = requests.shift() ?? []
      if (body.toString("latin1") !== "T") return
      for (const statement of statements) {
        seen.add(statement)
        if (wanted?.statement.test(statement) !== true) continue
        isSilent = true
        const { caught } = wanted
        wanted = null
        caught({ statement, pid })
      }
    })
    for (const [socket, other] of [
      [client, backend],
      [backend, client]
    ] as const) {
      sockets.add(socket)
      socket.on("error", () => undefined)
      socket.on("close", () => {
        sockets.delete(socket)
        if (isSilent) held.push(() => other.destroy())
        else other.destroy()
      })
    }
    client.on("data", (chunk: Buffer) => {
      const passed = hasLimit ? chunk : withoutLimit(chunk)
      isLengthened ||= !passed.equals(chunk)
      sent.read(passed)
      pass(backend, passed)
    })
    // An encrypted connection is refused with a single letter, before any message.
    let isGreeted = false
    backend.on("data", (chunk: Buffer) => {
      const isRefusal = !isGreeted && chunk.length === 1
      isGreeted = true
      if (!isRefusal) answered.read(chunk)
      pass(client, chunk)
    })
  })
  const { close, port } = await listen(server)
  const url = new URL(database)
  url.port = String(port)
  url.hostname = "127.0.0.1"

  const heal = (): void => {
    isSilent = false
    for (const late of held.splice(0)) late()
  }
  const link: SilentLink = {
    url: url.href,
    seen,
    catchAfter: (statement) =>
      new Promise((resolve, reject) => {
        if (!hasLimit && !isLengthened) reject(new Error("the sessions set no limit that this link can lengthen"))
        wanted = { statement, caught: resolve }
      }),
    heal,
    cut: () => {
      held.length = 0
      for (const socket of sockets) socket.destroy()
      isSilent = false
    }
  }
  return { link, close }
}

/** Opens a link to a database for the lifetime of the scope. */
export const silentLink = (
  database: string,
  options: LinkOptions = {}
): Effect.Effect<SilentLink, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() => open(database, options)),
      ({ close, link }) =>
        Effect.promise(() => {
          link.cut()
          return close()
        })
    ),
    ({ link }) => link
  )
