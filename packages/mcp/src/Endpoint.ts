/**
 * The endpoint `/mcp`: streamable HTTP in front of Effect's server of the Model Context Protocol.
 *
 * Every request needs an access token that is bound to this endpoint (RFC 8707). The endpoint limits what a grant may
 * use, and keeps each session to the grant that began it.
 */
import { mcpPath, publicScope } from "@doorhook/core"
import type { GrantId, Principal } from "@doorhook/core"
import type { Answer, ApiEndpoint, Exchange, KnownError, Pieces, Route } from "@doorhook/server"
import {
  failure,
  HttpSettings,
  insufficientScope,
  jsonFace,
  PublicUrl,
  readText,
  resourceMetadataUrl
} from "@doorhook/server"
import type { Scope } from "effect"
import { Clock, Context, Effect, Layer, Predicate } from "effect"
import { McpProtocol, McpServer } from "effect/ai"
import type { HttpServerRequest } from "effect/http"
import { HttpEffect, HttpMiddleware, HttpRouter } from "effect/http"
import { Events, eventsExtension } from "./Events.ts"
import { Sessions } from "./Sessions.ts"
import type { SessionLimits } from "./Sessions.ts"
import type { Tool } from "./Tools.ts"
import { CurrentCaller, mayCall, register } from "./Tools.ts"
import { version } from "./version.ts"

/** Largest request, in bytes. */
const mostBytes = 256 * 1024

/** Limits of the endpoint. */
export interface Limits {
  readonly sessions: SessionLimits
  /** Calls of one grant that are at work at the same time, in this process. */
  readonly callsPerGrant: number
}

const sessionHeader = "mcp-session-id"

/** Stands for the origin of requests that don't come from a web page. */
const noOrigin = ""

/** The revisions that can find the authorization server by metadata; those without sessions first. */
const protocols = [McpProtocol.v2026_07_28, McpProtocol.v2025_11_25, McpProtocol.v2025_06_18] as const

const noSession = failure(404, {
  code: "session_not_found",
  title: "No such session",
  detail: "The session has ended, or belongs to another authorization. Send initialize to begin another one."
})

const tooManySessions = failure(
  503,
  {
    code: "too_many_sessions",
    title: "Too many sessions",
    detail: "The service has too many sessions. Try again later."
  },
  { "retry-after": "60" }
)

const tooManyCalls = (most: number) =>
  failure(
    429,
    {
      code: "too_many_calls",
      title: "Too many calls",
      detail: `At most ${most} calls of one authorization are at work at the same time. Wait for one of them.`
    },
    { "retry-after": "1" }
  )

/** Parses a message; undefined if it is not JSON, which Effect's server answers. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const member = (value: unknown, name: string): unknown => (Predicate.isReadonlyObject(value) ? value[name] : undefined)

/** Returns the requests of a session's end, and of messages. */
type Handler = (request: Request, context: Context.Context<never>) => Promise<Response>

/** Returns the headers of an answer that its client needs. The length is that of the body as doorhook writes it. */
const headersOf = ({ headers }: Response): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ["content-type", sessionHeader, "mcp-protocol-version", "allow"].flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    })
  )

/** Streams have a header that keeps nginx from collecting their events. */
const streamHeaders = { "cache-control": "no-store, no-transform", "x-accel-buffering": "no" } as const

const nothing = new Uint8Array()
const decoder = new TextDecoder()

/** Makes a body that is read as the client takes it. */
const piecesOf = (stream: ReadableStream<Uint8Array>, done: () => void): Pieces => {
  const reader = stream.getReader()
  return {
    next: Effect.promise(() => reader.read()).pipe(
      Effect.map(({ done: isOver, value = nothing }) => (isOver ? null : decoder.decode(value)))
    ),
    live: {
      close: () => {
        done()
        // The client has left, so nobody reads a failure.
        void reader.cancel().catch(() => undefined)
      },
      tooSlow: ""
    }
  }
}

class Endpoint {
  readonly #allowedOrigins: ReadonlyArray<string>
  readonly #api: ApiEndpoint
  readonly #events: Events
  readonly #handler: Handler
  readonly #limits: Limits
  readonly #now: () => number
  readonly #publicUrl: PublicUrl["Service"]
  readonly #sessions: Sessions
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #working = new Map<GrantId, number>()

  constructor(parts: {
    readonly allowedOrigins: ReadonlyArray<string>
    readonly api: ApiEndpoint
    readonly events: Events
    readonly handler: Handler
    readonly limits: Limits
    readonly now: () => number
    readonly publicUrl: PublicUrl["Service"]
    readonly tools: ReadonlyArray<Tool>
  }) {
    this.#allowedOrigins = parts.allowedOrigins
    this.#api = parts.api
    this.#events = parts.events
    this.#handler = parts.handler
    this.#limits = parts.limits
    this.#now = parts.now
    this.#publicUrl = parts.publicUrl
    this.#sessions = new Sessions(parts.limits.sessions)
    this.#tools = new Map(parts.tools.map((tool) => [tool.name, tool]))
  }

  get routes(): ReadonlyArray<Route> {
    const route = { path: mcpPath, face: jsonFace, crossOrigin: true } as const
    return [
      { ...route, method: "POST", handle: (x) => this.#post(x) },
      { ...route, method: "DELETE", handle: (x) => this.#delete(x) }
    ]
  }

  /** Ends sessions that nobody uses, again and again. */
  readonly endIdle: Effect.Effect<never> = Effect.forever(
    Effect.suspend(() =>
      Effect.andThen(
        Effect.sleep(this.#limits.sessions.idle / 2),
        Effect.suspend(() => Effect.forEach(this.#sessions.takeIdle(this.#now()), (id) => this.#end(id)))
      )
    )
  )

  #post(x: Exchange): Effect.Effect<Answer, KnownError> {
    return Effect.gen({ self: this }, function* () {
      const caller = yield* this.#api.admit(x, mcpPath)
      const text = yield* readText(x, mostBytes)
      const message = parsed(text)
      yield* this.#checkScope(message, caller)
      yield* this.#checkSession(x, message, caller)
      // Effect's server refuses the others.
      if (this.#allowedOrigins.includes(x.header("origin") ?? noOrigin)) {
        const answer = this.#events.answer(x, message, caller)
        if (answer !== null) return yield* answer
      }
      const { callsPerGrant } = this.#limits
      const working = this.#working.get(caller.grant_id) ?? 0
      if (working >= callsPerGrant) return yield* tooManyCalls(callsPerGrant)
      const done = this.#begin(caller.grant_id)
      return yield* this.#ask(x, text, caller, done).pipe(
        Effect.onExit((exit) => Effect.sync(() => exit._tag === "Failure" && done()))
      )
    })
  }

  /** A tool's scope is answered over HTTP, so that the client can ask the user for it (RFC 6750 section 3.1). */
  #checkScope(message: unknown, caller: Principal): Effect.Effect<void, KnownError> {
    const name = member(message, "method") === "tools/call" ? member(member(message, "params"), "name") : undefined
    const tool = Predicate.isString(name) ? this.#tools.get(name) : undefined
    if (tool === undefined || mayCall(tool, caller)) return Effect.void
    // With the scopes that the client has, which it would otherwise lose.
    const wanted = [...new Set([publicScope, ...caller.scopes, tool.scope])].join(" ")
    return Effect.fail(insufficientScope(wanted, resourceMetadataUrl(this.#publicUrl.url, mcpPath)))
  }

  #checkSession(x: Exchange, message: unknown, { grant_id }: Principal): Effect.Effect<void, KnownError> {
    const id = x.header(sessionHeader)
    if (id === undefined) {
      return member(message, "method") === "initialize" && this.#sessions.isFull()
        ? Effect.fail(tooManySessions)
        : Effect.void
    }
    return this.#sessions.use(id, grant_id, this.#now()) ? Effect.void : Effect.fail(noSession)
  }

  /** Counts a call at work. The returned function ends it, and may be called more than once. */
  #begin(grant: GrantId): () => void {
    this.#working.set(grant, (this.#working.get(grant) ?? 0) + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      const left = (this.#working.get(grant) ?? 1) - 1
      if (left === 0) this.#working.delete(grant)
      else this.#working.set(grant, left)
    }
  }

  #ask(x: Exchange, text: string, caller: Principal, done: () => void): Effect.Effect<Answer, KnownError> {
    return Effect.gen({ self: this }, function* () {
      const response = yield* this.#pass(x, text, caller)
      const began = response.headers.get(sessionHeader)
      if (began !== null && x.header(sessionHeader) === undefined) {
        yield* Effect.forEach(this.#sessions.add(began, caller.grant_id, this.#now()), (id) => this.#end(id))
      }
      const headers = { ...headersOf(response), "cache-control": "no-store" }
      const { body, status } = response
      if (body !== null && response.headers.get("content-type") === "text/event-stream") {
        return { status, headers: { ...headers, ...streamHeaders }, body: piecesOf(body, done) }
      }
      const whole = yield* Effect.promise(() => response.text())
      done()
      return { status, headers, body: whole === "" ? null : whole }
    })
  }

  /** Passes a request to Effect's server, without the token. */
  #pass(x: Exchange, body: string | null, caller: Principal): Effect.Effect<Response> {
    const { authorization: _token, "content-length": _length, "transfer-encoding": _coding, ...headers } = x.headers()
    return this.#send({ method: x.method, headers, body }, caller)
  }

  #send(init: RequestInit, caller: Principal | null): Effect.Effect<Response> {
    return Effect.promise((signal) =>
      this.#handler(new Request(`http://localhost${mcpPath}`, { ...init, signal }), Context.make(CurrentCaller, caller))
    )
  }

  #delete(x: Exchange): Effect.Effect<Answer, KnownError> {
    return Effect.gen({ self: this }, function* () {
      const { grant_id } = yield* this.#api.admit(x, mcpPath)
      const id = x.header(sessionHeader)
      if (id === undefined || !this.#sessions.use(id, grant_id, this.#now())) return yield* noSession
      this.#sessions.delete(id)
      yield* this.#end(id)
      return { status: 204, headers: {}, body: null }
    })
  }

  /** Ends a session of Effect's server, with the calls in it. */
  #end(id: string): Effect.Effect<void> {
    return Effect.asVoid(this.#send({ method: "DELETE", headers: { [sessionHeader]: id } }, null))
  }
}

/** Makes the routes of the endpoint. */
export const makeRoutes = Effect.fnUntraced(function* (
  api: ApiEndpoint,
  tools: ReadonlyArray<Tool>,
  limits: Limits,
  instructions: string
) {
  const { browserOrigins } = yield* HttpSettings
  const registrations = Layer.effectDiscard(
    McpServer.McpServer.use((server) => Effect.forEach(tools, (tool) => register(server, tool)))
  )
  const app = yield* HttpRouter.toHttpEffect(
    McpServer.layerHttp({
      name: "doorhook",
      version,
      instructions,
      path: mcpPath,
      protocols,
      extensions: eventsExtension,
      allowedOrigins: browserOrigins,
      allowSessionTermination: true,
      // The lists never change.
      allowSubscriptions: false,
      registrations
    })
  ).pipe(Effect.orDie)
  const context = yield* Effect.context<never>()
  const clock = Context.get(context, Clock.Clock)
  const untraced = Context.add(context, HttpMiddleware.TracerDisabledWhen, () => true)
  const endpoint = new Endpoint({
    allowedOrigins: [noOrigin, ...browserOrigins],
    api,
    events: yield* Events.make(api),
    handler: HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(untraced)(app),
    limits,
    now: () => clock.currentTimeMillisUnsafe(),
    publicUrl: yield* PublicUrl,
    tools
  })
  yield* Effect.forkScoped(endpoint.endIdle)
  return endpoint.routes
})
