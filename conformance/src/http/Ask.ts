/**
 * Requests that are not part of the test (to the probe, the control URL and the ready URL), and connections that only
 * check whether something is listening.
 */
import { UrlPolicy } from "@doorhook/core"
import { Effect } from "effect"
import { Agent as AgentPlain, request as requestPlain } from "node:http"
import { Agent as AgentTls, request as requestTls } from "node:https"
import { connect } from "node:net"
import type { Socket } from "node:net"

export const portOf = ({ port, protocol }: URL): number =>
  port === "" ? (protocol === "https:" ? 443 : 80) : Number(port)

/** Opens a connection to the host of a URL. */
export const socketTo = (url: URL): Socket => connect({ host: UrlPolicy.hostOf(url), port: portOf(url) })

/** Opens a connection and closes it. Fails if nothing accepts connections. */
export const accepts = (url: URL): Effect.Effect<void, Error> =>
  Effect.callback<void, Error>((resume) => {
    const socket = socketTo(url)
    socket.on("connect", () => {
      socket.destroy()
      resume(Effect.void)
    })
    socket.on("error", (error) => resume(Effect.fail(error)))
    return Effect.sync(() => socket.destroy())
  })

/**
 * How long an idle connection is kept, in milliseconds. A receiver that serves only one connection must become free for
 * the test.
 */
const keptIdle = 20

/** Makes a pool of connections for many requests to one server. Idle connections are closed after `keptIdle`. */
export const keptConnections = ({ protocol }: URL, maxSockets: number): AgentPlain => {
  const Agent = protocol === "https:" ? AgentTls : AgentPlain
  return new Agent({ keepAlive: true, timeout: keptIdle, maxSockets })
}

/**
 * Sends a request to the receiver's probe, control or ready URL and returns status and body. Fails after `limit`
 * milliseconds.
 */
export const ask = (
  url: URL,
  method: "GET" | "POST",
  limit: number,
  connections: AgentPlain | null = null
): Effect.Effect<{ readonly status: number; readonly body: string }, Error> =>
  Effect.callback<{ readonly status: number; readonly body: string }, Error>((resume) => {
    const make = url.protocol === "https:" ? requestTls : requestPlain
    const outgoing = make(
      url,
      connections === null
        ? { method, agent: false, headers: { connection: "close" } }
        : { method, agent: connections, timeout: limit }
    )
    outgoing.on("error", (error) => resume(Effect.fail(error)))
    outgoing.on("response", (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => void chunks.push(chunk))
      response.on("error", (error) => resume(Effect.fail(error)))
      response.on("end", () =>
        resume(Effect.succeed({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }))
      )
    })
    outgoing.end()
    return Effect.sync(() => outgoing.destroy())
  }).pipe(
    Effect.timeoutOrElse({
      duration: limit,
      orElse: () => Effect.fail(new Error(`no answer from ${url.href} within ${limit} ms`))
    })
  )
