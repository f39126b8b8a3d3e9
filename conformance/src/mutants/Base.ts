/**
 * The receiver that wrong ones are made of: `@doorhook/receiver` with the parts that a change replaces, as an HTTP server
 * with the hook under `/hook` and below, a probe, and a control.
 */
import { createReceiver, nodeRequest, sendAnswer, sqliteStore } from "@doorhook/receiver"
import type { Answer, Delivery, ReceivedRequest, ReceiverParts } from "@doorhook/receiver"
import { once } from "node:events"
import { createServer, IncomingMessage } from "node:http"
import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { openLedger, shownOf } from "./Ledger.ts"
import type { Ledger } from "./Ledger.ts"

/** What the sender allows, in milliseconds. */
export const deadline = 5_000

/** What a receiver has, for as long as its process lives. */
export interface Box {
  readonly ledger: Ledger
  /** Its clock, which the control can advance; milliseconds since the epoch. */
  readonly now: () => number
  /** Signatures are checked when there is one. */
  readonly secret: string | null
  /** Marks a key as seen; whether it was not marked before. */
  readonly mark: (key: string) => boolean
  /** Acts on a delivery; `stored` is the body that is kept. */
  readonly act: (delivery: Delivery, request: ReceivedRequest, stored?: string) => void
  /** Both or neither; resolves to whether the key was new. */
  readonly once: (key: string, delivery: Delivery, request: ReceivedRequest, stored?: string) => Promise<boolean>
}

/** The parts of the server around the kit's receiver. */
interface Around {
  /** What happens before the first request. */
  readonly start: () => void | Promise<void>
  /** Looks at a request that waits for `100 Continue`: an answer refuses it, `ignore` lets it wait. */
  readonly expect: (request: IncomingMessage) => Answer | "ignore" | null
  readonly send: (answer: Answer, request: IncomingMessage, response: ServerResponse) => void
  /** How many effects the probe counts. */
  readonly count: (id: string, scope: string | null) => number
}

type Parts = ReceiverParts & Around

/** How a receiver differs from the correct one. */
export type Change = (correct: Parts, box: Box) => Partial<Parts>

export const plain = (status: number, body = "", headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { "content-type": "text/plain; charset=utf-8", ...headers },
  body
})

export const acknowledged = plain(200, "ok")

/** The URL's path that a request came to. */
export const scopeOf = ({ url }: ReceivedRequest): string => url.split("?")[0] ?? url

export const socketOf = ({ source }: ReceivedRequest): Socket => incoming(source).socket

export const incoming = (source: unknown): IncomingMessage => {
  if (source instanceof IncomingMessage) return source
  throw new TypeError("expected a request of node:http")
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds))

/** A probe may be asked for a URL as it was given or for its path. */
const scopeAsked = (given: string | null): string | null =>
  given === null || given.startsWith("/") ? given : new URL(given).pathname

const json = (value: unknown): Answer => plain(200, JSON.stringify(value), { "content-type": "application/json" })

const operate = (
  { pathname, searchParams }: URL,
  { count }: Around,
  ledger: Ledger,
  clock: { ahead: number }
): Answer | null => {
  const id = searchParams.get("id") ?? ""
  const scope = scopeAsked(searchParams.get("endpoint"))
  switch (pathname) {
    case "/probe": {
      const read = ledger.stored(id, scope)
      return json({ effects: count(id, scope), ...(read === null ? {} : shownOf(read)) })
    }
    case "/control":
      return json({ ops: ["advance"] })
    case "/control/double":
      ledger.act({ id, scope: scope ?? "/hook", stored: ledger.stored(id, scope) ?? "{}" })
      return json({ doubled: id })
    case "/control/advance":
      clock.ahead += Number(searchParams.get("ms") ?? 0)
      return json({ ahead: clock.ahead })
    case "/ready":
      return plain(200, "ready")
    default:
      return pathname.startsWith("/hook") ? null : plain(404)
  }
}

export interface ServerOptions {
  /** 0 takes any free one. */
  readonly port: number
  /** A file, or `:memory:`. */
  readonly database: string
  readonly secret: string | null
  readonly change: Change
}

export interface RunningServer {
  readonly port: number
  /** Ends the server and every connection, as a process that dies does. */
  readonly die: () => Promise<void>
}

/** Starts a receiver that is correct but for a change. */
export const startServer = async ({ change, database, port, secret }: ServerOptions): Promise<RunningServer> => {
  const clock = { ahead: 0 }
  const now = (): number => Date.now() + clock.ahead
  const ledger = openLedger(database)
  const store = sqliteStore(ledger.database)
  const act: Box["act"] = ({ body, id }, request, stored = body) => ledger.act({ id, scope: scopeOf(request), stored })
  const box: Box = {
    ledger,
    now,
    secret,
    mark: (key) => ledger.mark(key, now()),
    act,
    once: (key, delivery, ...given) => store.keep(key, delivery, () => act(delivery, ...given), null)
  }
  const usual: Around = { start: () => undefined, expect: () => null, send: sendAnswer, count: ledger.count }
  let around = usual
  const receiver = createReceiver({
    secrets: secret === null ? "allow_unsigned" : [secret],
    store,
    now,
    // A part that takes too long takes its time: the kit would answer in its place.
    answerWithinMs: 3_600_000,
    onProblem: () => undefined,
    parts: (standard) => {
      const correct: Parts = {
        ...standard,
        ...usual,
        identify: ({ id }, request) => `${scopeOf(request)} ${id}`,
        keep: (key, delivery, request) => box.once(key, delivery, request)
      }
      const parts: Parts = { ...correct, ...change(correct, box) }
      around = parts
      return parts
    }
  })
  await around.start()

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const operated = operate(new URL(request.url ?? "/", "http://receiver"), around, ledger, clock)
    if (operated !== null) {
      response.writeHead(operated.status, operated.headers).end(operated.body)
      return
    }
    void receiver.handle(nodeRequest(request)).then((given) => around.send(given, request, response))
  }
  // A sender may be slow, and keeps its connections for as long as it likes.
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, listener)
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    const refusal = around.expect(request)
    if (refusal === null) {
      response.writeContinue()
      listener(request, response)
    } else if (refusal !== "ignore") {
      response.writeHead(refusal.status, { ...refusal.headers, connection: "close" }).end(refusal.body)
    }
  })
  server.listen(port, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    port: address !== null && typeof address === "object" ? address.port : port,
    die: async () => {
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, "close")
      ledger.close()
    }
  }
}
