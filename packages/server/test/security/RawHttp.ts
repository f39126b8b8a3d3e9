/**
 * An HTTP client for attacks: any method, target, header and bytes, over a new or a kept connection.
 */
import { Buffer } from "node:buffer"
import { Agent, request } from "node:http"
import type { OutgoingHttpHeaders } from "node:http"
import { connect } from "node:net"

/** A complete response. */
export interface RawReply {
  readonly status: number
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface RawRequest {
  readonly method: string
  /** The target in the request line. */
  readonly target: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: Uint8Array | string
}

/** Time limit of an answer, in milliseconds. Even on a busy machine, only hanging requests take this long. */
const patience = 60_000

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

/** Sends a request. Rejects if there is no answer within `deadline` milliseconds. Leaves an event stream at its first bytes. */
export const send = (base: string, raw: RawRequest, deadline = patience): Promise<RawReply> => {
  const { hostname, port } = new URL(base)
  // Node.js's client sends the body of a DELETE without a length. The server would read the body as the next request.
  const length = raw.body === undefined ? {} : { "content-length": Buffer.byteLength(raw.body) }
  const headers = { ...raw.headers, ...length }
  return new Promise((resolve, reject) => {
    const sent = request({ agent, hostname, port, method: raw.method, path: raw.target, headers }, (answer) => {
      const chunks: Array<Buffer> = []
      const finish = (): void => {
        clearTimeout(timer)
        const headers = Object.fromEntries(
          Object.entries(answer.headers).map(([name, value]) => [name, [value].flat().join(", ")])
        )
        resolve({ status: answer.statusCode ?? 0, headers, text: Buffer.concat(chunks).toString() })
      }
      const isStream = answer.headers["content-type"] === "text/event-stream"
      answer.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        if (!isStream) return
        finish()
        sent.destroy()
      })
      answer.on("end", finish)
      answer.on("error", reject)
    })
    const timer = setTimeout(
      () => sent.destroy(new Error(`no answer to ${raw.method} ${raw.target} after ${deadline} ms`)),
      deadline
    )
    sent.on("error", (error) => {
      clearTimeout(timer)
      reject(error)
    })
    sent.end(raw.body)
  })
}

/** Text received on a connection, and whether the server closed the connection. */
export interface Conversation {
  readonly text: string
  readonly closed: boolean
}

/** The statuses of all answers on a connection. */
export const statusesOf = ({ text }: Conversation): ReadonlyArray<number> =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

/**
 * Writes parts to a connection one by one. Reads until the connection is closed, `until` returns true, or `deadline`
 * milliseconds have passed.
 */
export const converse = (
  base: string,
  parts: ReadonlyArray<string | Uint8Array>,
  {
    deadline = patience,
    until = () => false
  }: { readonly deadline?: number; readonly until?: (text: string) => boolean } = {}
): Promise<Conversation> => {
  const { hostname, port } = new URL(base)
  return new Promise((resolve) => {
    let text = ""
    const socket = connect({ host: hostname, port: Number(port) })
    const end = (closed: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ text, closed })
    }
    const timer = setTimeout(() => end(false), deadline)
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      if (until(text)) end(false)
    })
    socket.on("close", () => end(true))
    // A reset counts as a closed connection.
    socket.on("error", () => end(true))
    const write = async () => {
      for (const part of parts) {
        socket.write(part)
        await new Promise<void>((next) => {
          setImmediate(next)
        })
      }
    }
    void write()
  })
}
