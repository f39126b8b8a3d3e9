/**
 * The receiver on all supported servers and frameworks, with genuine deliveries.
 */
import { listen } from "@doorhook/testkit/ListeningServer"
import { getRequestListener } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import { assert, describe, it } from "@effect/vitest"
import express from "express"
import Fastify from "fastify"
import { Hono } from "hono"
import { createServer } from "node:http"
import type { Server } from "node:http"
import { connect } from "node:net"
import type { Receiver } from "@doorhook/receiver"
import { eventBody, makeKit, secret, signedHeaders } from "./support.ts"

const honoServer = (handler: Parameters<typeof getRequestListener>[0]): Server => {
  const listener = getRequestListener(handler)
  return createServer((request, response) => void listener(request, response))
}

/** Starts a server with the receiver at `/hook`. */
type Hosting = (receiver: Receiver) => Promise<Server>

const hostings: ReadonlyArray<readonly [string, Hosting]> = [
  ["node:http", async (receiver) => createServer(receiver.node)],
  [
    "Express",
    async (receiver) => {
      const app = express()
      app.all("/hook", receiver.node)
      app.use(express.json())
      return createServer(app)
    }
  ],
  [
    "Express with raw bodies",
    async (receiver) => {
      const app = express()
      app.use(express.raw({ type: "*/*", limit: "2mb" }))
      app.all("/hook", receiver.node)
      return createServer(app)
    }
  ],
  [
    "Fastify",
    async (receiver) => {
      const app = Fastify()
      await app.register(receiver.fastify, { prefix: "/hook" })
      await app.ready()
      return app.server
    }
  ],
  [
    "Hono",
    async (receiver) => {
      const app = new Hono()
      app.all("/hook", (context) =>
        receiver.fetch(context.req.raw, { remoteAddress: getConnInfo(context).remote.address })
      )
      return honoServer(app.fetch)
    }
  ],
  [
    "a route of Next.js",
    async (receiver) => {
      const POST = (request: Request) => receiver.fetch(request, { remoteAddress: "127.0.0.1" })
      return honoServer(POST)
    }
  ]
]

const json = { "content-type": "application/json" }

describe.each(hostings)("the receiver behind %s", (_, host) => {
  it("stores genuine deliveries once, and refuses other requests", async () => {
    const { problems, receiver, recorded } = makeKit({
      secrets: [secret],
      addresses: ["127.0.0.0/8"],
      now: Date.now,
      maxBodyBytes: 100_000
    })
    const { close, url } = await listen(await host(receiver))
    const post = async (body: string, headers: Readonly<Record<string, string>>): Promise<number> => {
      const response = await fetch(`${url}/hook`, { method: "POST", headers: { ...json, ...headers }, body })
      await response.text()
      return response.status
    }
    try {
      const signed = signedHeaders(eventBody, Date.now())
      assert.strictEqual(await post(eventBody, signed), 200)
      assert.strictEqual(await post(eventBody, signed), 200)
      assert.deepStrictEqual(
        recorded.map(({ body, id }) => [id, body]),
        [["evt_1", eventBody]]
      )
      assert.strictEqual(await post(` ${eventBody}`, signed), 401)
      const long = "x".repeat(100_001)
      assert.strictEqual(await post(long, signedHeaders(long, Date.now())), 413)
      assert.deepStrictEqual(
        problems.map(({ kind }) => kind),
        ["refused_signature", "invalid_request"]
      )
    } finally {
      await receiver.close()
      await close()
    }
  })
})

describe("receiver.node", () => {
  it("says what to do if a body parser ran before it", async () => {
    const { problems, receiver } = makeKit()
    const app = express()
    app.use(express.json())
    app.all("/hook", receiver.node)
    const { close, url } = await listen(createServer(app))
    try {
      const headers = { ...json, "webhook-id": "evt_1" }
      assert.strictEqual((await fetch(`${url}/hook`, { method: "POST", headers, body: eventBody })).status, 500)
      assert.deepInclude(problems[0], { kind: "body_consumed", severity: "alert" })
      assert.match(problems[0]?.message ?? "", /above `express\.json\(\)`/)
    } finally {
      await close()
    }
  })

  it("keeps the connection open after refusing a request that was read completely", async () => {
    const { receiver } = makeKit()
    const { close, port } = await listen(createServer(receiver.node))
    const socket = connect(port, "127.0.0.1")
    const body = '{"no":"event"}'
    let text = ""
    try {
      for (const request of [
        `POST / HTTP/1.1\r\nhost: x\r\nwebhook-id: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
      ]) {
        socket.write(request)
      }
      for await (const chunk of socket) text += String(chunk)
      assert.deepStrictEqual(text.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 400", "HTTP/1.1 405", "HTTP/1.1 405"])
    } finally {
      await close()
    }
  })

  it("answers 413 while a long body is still being sent, and does not read an endless body", async () => {
    const { receiver } = makeKit({ maxBodyBytes: 1_000 })
    const { close, port } = await listen(createServer(receiver.node))
    /**
     * Sends `sent` bytes of a body announced as `announced` bytes. Returns the response and any error of the
     * connection.
     */
    const answerTo = async (announced: number, sent: number): Promise<string> => {
      const socket = connect(port, "127.0.0.1")
      // Node's `once` would reject on a connection error, which this test must observe.
      const ended = new Promise<void>((resolve) => void socket.once("close", () => resolve()))
      let text = ""
      socket.on("data", (chunk) => (text += chunk.toString()))
      socket.on("error", (error) => (text += error.message))
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${announced}\r\n\r\n`)
      socket.write(Buffer.alloc(sent, "x"))
      await ended
      return text
    }
    try {
      const mebibyte = 1_048_576
      assert.match(await answerTo(4 * mebibyte, 4 * mebibyte), /^HTTP\/1\.1 413 [^]*the body is too long$/)
      assert.match(await answerTo(100 * mebibyte, 20 * mebibyte), /^(?:HTTP\/1\.1 413 |.*ECONNRESET|.*EPIPE)/)
    } finally {
      await close()
    }
  })

  it("reports a sender that closes the connection, and stores nothing", async () => {
    const reported = Promise.withResolvers<string>()
    const { receiver, recorded } = makeKit({ onProblem: ({ kind }) => reported.resolve(kind) })
    const { close, port } = await listen(createServer(receiver.node))
    try {
      const socket = connect(port, "127.0.0.1")
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\nwebhook-id: a\r\ncontent-length: 500\r\n\r\n{`, () =>
        socket.destroy()
      )
      assert.strictEqual(await reported.promise, "broken_off")
      assert.deepStrictEqual(recorded, [])
    } finally {
      await close()
    }
  })
})

describe("receiver.fetch", () => {
  it("says what to do if the body was already read, and refuses unknown addresses", async () => {
    const request = () => new Request("http://x/hook", { method: "POST", body: eventBody })
    const { problems, receiver } = makeKit()
    const read = request()
    await read.text()
    assert.strictEqual((await receiver.fetch(read)).status, 500)
    assert.strictEqual(problems[0]?.kind, "body_consumed")
    const { receiver: guarded } = makeKit({ addresses: ["127.0.0.0/8"] })
    assert.strictEqual((await guarded.fetch(request())).status, 403)
  })

  it("answers with statuses that must not have a body", async () => {
    const { receiver } = makeKit({ parts: () => ({ acknowledge: () => ({ status: 204, headers: {}, body: "" }) }) })
    const headers = { "webhook-id": "evt_1" }
    const { status } = await receiver.fetch(new Request("http://x/hook", { method: "POST", headers, body: eventBody }))
    assert.strictEqual(status, 204)
  })

  it("passes on the path and the query", async () => {
    const urls: Array<string> = []
    const { receiver } = makeKit({ parts: () => ({ admit: ({ url }) => void urls.push(url) }) })
    await receiver.fetch(new Request("http://x.example:80/hook/a?b=c", { method: "POST", body: "{}" }))
    assert.deepStrictEqual(urls, ["/hook/a?b=c"])
  })
})
