/**
 * Hosts for each framework, built as the framework's documentation says, with their own routes and body parsers. They
 * mount doorhook as doorhook's documentation says.
 */
import { serve } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import express from "express"
import Fastify from "fastify"
import { Hono } from "hono"
import { once } from "node:events"
import { createServer } from "node:http"
import type { RequestListener, Server } from "node:http"
import { arrayBuffer } from "node:stream/consumers"
import { listening, portOf } from "@doorhook/testkit/ListeningServer"

/** A listening host. Its own routes: `GET /orders` answers `mine`, and `POST /orders` returns its JSON body. */
export interface Host {
  /** The URL of doorhook. */
  readonly url: string
  /** The URL of the host's own routes. */
  readonly own: string
}

const listen = (server: Server, prefix = "") =>
  Effect.map(listening(server), ({ url }) => ({ url: `${url}${prefix}`, own: url }))

const ownRoutes = (app: express.Express): void => {
  app.get("/orders", (_, response) => void response.send("mine"))
  app.post("/orders", express.json(), (request, response) => void response.json(request.body))
}

/** Makes Express answer errors as JSON, for assertions. */
const tellErrors = (app: express.Express): void => {
  app.use((error: unknown, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
    response.status(500).json({ code: Reflect.get(Object(error), "code"), message: String(error) })
  })
}

export const expressHost = (doorhook: Doorhook) => {
  const app = express()
  app.use(doorhook.node)
  ownRoutes(app)
  tellErrors(app)
  return listen(createServer(app))
}

/** Starts an Express host with all body parsers before doorhook, and routes before and after it. */
export const expressBehindParsers = (doorhook: Doorhook) => {
  const app = express()
  app.use(express.json({ type: ["json", "+json"] }), express.urlencoded({ extended: true }), express.text())
  app.post("/orders", (request, response) => void response.json(request.body))
  app.use(doorhook.node)
  app.get("/orders", (_, response) => void response.send("mine"))
  tellErrors(app)
  return listen(createServer(app))
}

/** Starts an Express host that also serves the metadata of another authorization server. */
export const expressDiscoverable = (doorhook: Doorhook) => {
  const app = express()
  app.use("/doors", doorhook.node)
  app.all("/.well-known/oauth-authorization-server/*path", doorhook.node)
  app.get("/.well-known/oauth-authorization-server/others", (_, response) => void response.send("another's"))
  return app
}

export const expressUnderPath = (doorhook: Doorhook) => {
  const app = express()
  app.use("/doors", doorhook.node)
  app.get("/.well-known/oauth-authorization-server/doors", doorhook.node)
  ownRoutes(app)
  return listen(createServer(app), "/doors")
}

const fastifyAt = (doorhook: Doorhook, prefix: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const app = Fastify()
      app.get("/orders", () => "mine")
      app.post("/orders", (request) => request.body)
      await app.register(doorhook.fastify, { prefix })
      if (prefix !== "") {
        app.get(`/.well-known/oauth-authorization-server${prefix}`, (request, reply) => {
          reply.hijack()
          doorhook.node(request.raw, reply.raw)
        })
      }
      await app.listen({ host: "127.0.0.1", port: 0 })
      const own = `http://127.0.0.1:${portOf(app.server)}`
      return { app, host: { url: `${own}${prefix}`, own } }
    }),
    ({ app }) =>
      Effect.promise(() => {
        app.server.closeAllConnections()
        return app.close()
      })
  ).pipe(Effect.map(({ host }) => host))

export const fastifyHost = (doorhook: Doorhook) => fastifyAt(doorhook, "")
export const fastifyUnderPath = (doorhook: Doorhook) => fastifyAt(doorhook, "/doors")

export const honoHost = (doorhook: Doorhook) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const app = new Hono()
      app.use((context, next) =>
        doorhook.handles(context.req.raw)
          ? doorhook.fetch(context.req.raw, { remoteAddress: getConnInfo(context).remote.address })
          : next()
      )
      app.get("/orders", (context) => context.text("mine"))
      app.post("/orders", async (context) => context.json(await context.req.json()))
      const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 })
      await once(server, "listening")
      const own = `http://127.0.0.1:${portOf(server)}`
      return { server, host: { url: own, own } }
    }),
    ({ server }) =>
      Effect.promise(async () => {
        server.close()
        if ("closeAllConnections" in server) server.closeAllConnections()
        await once(server, "close")
      })
  ).pipe(Effect.map(({ host }) => host))

/** The type against which Next.js checks the exports of a route. */
type RouteHandler = (request: Request, context: { params: Promise<{ path: Array<string> }> }) => Promise<Response>

/** Makes route handlers as in Next.js: a function for each method, called with a request and the route's parameters. */
export const routeHandlers = (doorhook: Doorhook) => {
  const { fetch } = doorhook
  const doors: Readonly<Record<string, RouteHandler>> = {
    GET: fetch,
    POST: fetch,
    PUT: fetch,
    PATCH: fetch,
    DELETE: fetch
  }
  const orders = {
    GET: async () => new Response("mine"),
    POST: async (request: Request) => Response.json(await request.json())
  }
  const app = new Hono()
  app.on(["GET", "POST"], "/orders", ({ req }) => (req.method === "GET" ? orders.GET() : orders.POST(req.raw)))
  app.on(Object.keys(doors), "*", ({ req }) => {
    const context = { params: Promise.resolve({ path: req.path.split("/").slice(1) }) }
    return doors[req.method]?.(req.raw, context) ?? new Response()
  })
  return listen(createServer(toListener(app)))
}

const toListener =
  (app: Hono): RequestListener =>
  (request, response) => {
    void (async () => {
      const body = request.method === "GET" ? null : Buffer.from(await arrayBuffer(request))
      const headers = new Headers()
      for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value))
      const method = request.method ?? "GET"
      const answer = await app.fetch(
        new Request(`http://${request.headers.host}${request.url}`, { method, headers, body })
      )
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      response.end(Buffer.from(await answer.arrayBuffer()))
    })()
  }

export const plainHost = (doorhook: Doorhook) =>
  listen(
    createServer((request, response) =>
      doorhook.node(request, response, () => {
        if (request.method === "POST") request.pipe(response)
        else response.end("mine")
      })
    )
  )

/** Starts a plain host that awaits `before` for each request before passing the request to doorhook. */
export const plainAfter = (doorhook: Doorhook, before: (...given: Parameters<RequestListener>) => Promise<void>) =>
  listen(
    createServer((request, response) => void before(request, response).then(() => doorhook.node(request, response)))
  )

export const expressAfter = (doorhook: Doorhook, before: express.RequestHandler) => {
  const app = express()
  app.use(before, doorhook.node)
  tellErrors(app)
  return listen(createServer(app))
}

export const expressWithTwo = (one: Doorhook, two: Doorhook) => {
  const app = express()
  app.use("/one", one.node)
  app.use("/two", two.node)
  return listen(createServer(app))
}
