/**
 * Hosts for each framework, built as the framework's documentation says, with their own routes and body parsers. They
 * mount doorhook as doorhook's documentation says.
 */
import { serve } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import { DoorhookError } from "doorhook"
import type { Doorhook, TokenIdentity } from "doorhook"
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
    const status = error instanceof DoorhookError && error.status > 0 ? error.status : 500
    response.status(status).json({ code: Reflect.get(Object(error), "code"), message: String(error) })
  })
}

/** The answer of the route that opens a door. Hosts have this route if they get the scope that it requires. */
const opened = (identity: TokenIdentity | undefined) => ({ opened_by: identity?.user_id, for: identity?.scopes })

export const expressHost = (doorhook: Doorhook, scope?: string) => {
  const app = express()
  app.use(doorhook.node)
  ownRoutes(app)
  if (scope !== undefined) {
    app.post("/doors/:id/open", doorhook.requireToken({ scope }), (request, response) => {
      response.json(opened(request.doorhook))
    })
  }
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
  app.all("/.well-known/oauth-protected-resource/*path", doorhook.node)
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

const fastifyAt = (doorhook: Doorhook, prefix: string, scope?: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const app = Fastify()
      app.get("/orders", () => "mine")
      app.post("/orders", (request) => request.body)
      await app.register(doorhook.fastify, { prefix })
      if (scope !== undefined) {
        app.post("/doors/:id/open", { preHandler: doorhook.requireToken({ scope }) }, (request) =>
          opened(Reflect.get(request, "doorhook"))
        )
      }
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

export const fastifyHost = (doorhook: Doorhook, scope?: string) => fastifyAt(doorhook, "", scope)
export const fastifyUnderPath = (doorhook: Doorhook) => fastifyAt(doorhook, "/doors")

export const honoHost = (doorhook: Doorhook, scope?: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const app = new Hono<{ Variables: { doorhook: TokenIdentity } }>()
      app.use((context, next) =>
        doorhook.handles(context.req.raw)
          ? doorhook.fetch(context.req.raw, { remoteAddress: getConnInfo(context).remote.address })
          : next()
      )
      app.get("/orders", (context) => context.text("mine"))
      app.post("/orders", async (context) => context.json(await context.req.json()))
      if (scope !== undefined) {
        app.post("/doors/:id/open", doorhook.requireToken({ scope }), (context) =>
          context.json(opened(context.get("doorhook")))
        )
      }
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

export const plainHost = (doorhook: Doorhook, scope?: string) =>
  listen(
    createServer((request, response) =>
      doorhook.node(request, response, () => {
        if (scope !== undefined && request.url?.startsWith("/doors/") === true) {
          doorhook.requireToken({ scope })(request, response, (error) => {
            if (error !== undefined)
              return response.writeHead(error instanceof DoorhookError ? error.status : 500).end()
            response.setHeader("content-type", "application/json").end(JSON.stringify(opened(request.doorhook)))
          })
        } else if (request.method === "POST") request.pipe(response)
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
