/**
 * A bundled receiver as an HTTP server: the hook under `/hook` and below, the probe, the control and a page to see
 * whether it is ready.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { nodeRequest } from "@doorhook/receiver"
import type { Answer } from "@doorhook/receiver"
import { storedDigest } from "./Digest.ts"
import type { Ledger } from "./Ledger.ts"
import { correctParts, plain } from "./Parts.ts"
import type { Parts, Setting } from "./Parts.ts"

/** How a receiver differs from the correct one. */
export type Change = (correct: Parts, setting: Setting) => Partial<Parts>

export interface ServerOptions {
  /** 0 takes any free one. */
  readonly port: number
  readonly ledger: Ledger
  readonly secret: string | null
  readonly deadline: number
  readonly change: Change
}

export interface RunningServer {
  readonly port: number
  /** Ends the server and every connection, as a process that dies does. */
  readonly die: () => Promise<void>
}

const json = (value: unknown): Answer => plain(200, JSON.stringify(value), { "content-type": "application/json" })

/** Answers one delivery. Rejects when the sender goes away while it is read. */
const deliver = async (parts: Parts, request: IncomingMessage, scope: string): Promise<() => Promise<Answer>> => {
  const refusal = parts.arrived(request)
  if (refusal !== null) {
    request.resume()
    return async () => refusal
  }
  const bytes = await parts.read(request)
  return async () => {
    if (!Buffer.isBuffer(bytes)) return bytes
    const { headers } = nodeRequest(request)
    if (!parts.isGenuine(headers, bytes)) return plain(401, "the signature does not fit")
    const id = headers["webhook-id"]
    if (!id) return plain(400, "the header webhook-id is missing")
    const understood = parts.understand(bytes, headers)
    if ("wrong" in understood) return plain(400, understood.wrong)
    const { body, event } = understood
    const basis = { id, scope, request, event, body }
    const message = { ...basis, key: parts.key(basis), stored: parts.stored(basis) }
    return parts.answer(message, await parts.keep(message))
  }
}

const scopeOf = (given: string | null): string | null =>
  given === null ? null : given.startsWith("/") ? given : new URL(given).pathname

/** The clock of a receiver, which its control advances. */
interface Clock {
  ahead: number
}

const operate = (parts: Parts, ledger: Ledger, clock: Clock, { pathname, searchParams }: URL): Answer | null => {
  const id = searchParams.get("id") ?? ""
  const scope = scopeOf(searchParams.get("endpoint"))
  switch (pathname) {
    case "/probe": {
      const stored = ledger.stored(id, scope)
      const digest = stored === null ? null : storedDigest(stored)
      return json({ effects: parts.count(id, scope), ...(digest === null ? {} : { digest }) })
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
      return null
  }
}

/** Starts a receiver that is correct but for a change. */
export const startServer = async ({
  change,
  deadline,
  ledger,
  port,
  secret
}: ServerOptions): Promise<RunningServer> => {
  const clock: Clock = { ahead: 0 }
  const setting: Setting = { ledger, deadline, secret, now: () => Date.now() + clock.ahead }
  const correct = correctParts(setting)
  const parts: Parts = { ...correct, ...change(correct, setting) }
  await parts.started()

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://receiver")
    const operated = operate(parts, ledger, clock, url)
    if (operated !== null) {
      response.writeHead(operated.status, operated.headers).end(operated.body)
      return
    }
    if (!url.pathname.startsWith("/hook")) {
      response.writeHead(404).end()
      return
    }
    const handle = await deliver(parts, request, url.pathname)
    parts.send(await handle().catch((error: unknown) => plain(500, String(error))), response, request)
  }
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    // The sender went away: there is nobody to answer.
    respond(request, response).catch(() => response.destroy())
  }

  // A sender may be slow, and keeps its connections for as long as it likes.
  const server: Server = createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, listener)
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    const refusal = parts.expected(request)
    if (refusal === null) {
      response.writeContinue()
      listener(request, response)
    } else response.writeHead(refusal.status, { ...refusal.headers, connection: "close" }).end(refusal.body)
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
    }
  }
}
