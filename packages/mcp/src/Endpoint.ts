/**
 * The endpoint `/mcp`: streamable HTTP in front of Effect's server of the Model Context Protocol.
 *
 * Every request needs an access token that is bound to this endpoint (RFC 8707). The endpoint limits what a grant may
 * use, and keeps each session to the grant that began it.
 */
import { Crypto, mcpPath } from "@doorhook/core"
import type { GrantId, Principal } from "@doorhook/core"
import type { Answer, ApiEndpoint, Exchange, KnownError, Pieces, Route } from "@doorhook/server"
import {
  failure,
  HttpSettings,
  insufficientScope,
  jsonFace,
  parseJson,
  PublicUrl,
  readText,
  resourceMetadataUrl,
  streamHeaders
} from "@doorhook/server"
import { Clock, Context, Effect, Exit, Layer, Option, Predicate } from "effect"
import type { Scope } from "effect"
import { McpProtocol, McpServer } from "effect/ai"
import { HttpEffect, HttpMiddleware, HttpRouter } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import manifest from "../package.json" with { type: "json" }
import { OwnTools, registerResources } from "./OwnTools.ts"
import { Events, eventsExtension } from "./Events.ts"
import { Sessions } from "./Sessions.ts"
import type { Tool } from "./Tools.ts"
import { CurrentCall, mayCall, register } from "./Tools.ts"

/** Largest request, in bytes. */
const mostBytes = 256 * 1024

/** Largest request that begins a session, in bytes. The session keeps most of it. */
const mostInitial = 16 * 1024

/** Calls of one grant that are at work at the same time, in this process. */
const callsPerGrant = 10

/** Limits of sessions, with the time in milliseconds. */
const sessionLimits = { perGrant: 10, all: 1_000, idle: 30 * 60_000 } as const

const sessionHeader = "mcp-session-id"

/** The revisions whose clients find the authorization server by metadata. The first one has no sessions. */
const protocols = [McpProtocol.v2026_07_28, McpProtocol.v2025_11_25, McpProtocol.v2025_06_18] as const

const refusal = (status: number, code: string, detail: string, headers = {}) =>
  failure(status, { code, title: "Refused", detail }, headers)

const noSession = refusal(404, "session_not_found", "There is no such session. Send initialize to begin one.")

const foreignOrigin = refusal(
  403,
  "foreign_origin",
  "Pages of this origin may not call the endpoint. The service lists those that may in browserOrigins."
)

const tooLarge = refusal(413, "too_large", `A request that begins a session has at most ${mostInitial} bytes.`)

const member = (value: unknown, name: string): unknown => (Predicate.isReadonlyObject(value) ? value[name] : undefined)

/** Headers of an answer that its client needs. */
const kept: ReadonlySet<string> = new Set(["content-type", sessionHeader, "mcp-protocol-version"])

/** Makes a body that is read as the client takes it. */
const piecesOf = (stream: ReadableStream<Uint8Array>, done: () => void): Pieces => {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  const close = () => {
    done()
    // The client has left, so nobody reads a failure.
    void reader.cancel().catch(() => undefined)
  }
  return {
    next: Effect.map(
      Effect.promise(() => reader.read()),
      ({ value = null }) => value
    ),
    live: { close, tooSlow: "" }
  }
}

interface Parts {
  readonly api: ApiEndpoint
  readonly events: Events
  readonly handler: (request: Request, context: Context.Context<never>) => Promise<Response>
  readonly now: () => number
  /** Origins of web pages that may call the endpoint. */
  readonly origins: ReadonlyArray<string>
  readonly publicUrl: PublicUrl["Service"]
  readonly tools: ReadonlyMap<string, Tool>
}

class Endpoint {
  readonly #parts: Parts
  readonly #sessions = new Sessions(sessionLimits)
  /** Numbers of calls at work. */
  readonly #working = new Map<GrantId, number>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get routes(): ReadonlyArray<Route> {
    const route = { path: mcpPath, face: jsonFace, crossOrigin: true } as const
    const handle = (x: Exchange) => this.#answer(x)
    return (["POST", "DELETE"] as const).map((method) => ({ ...route, method, handle }))
  }

  /** Ends unused sessions, until it is interrupted. */
  readonly endIdle = Effect.sleep(sessionLimits.idle / 2).pipe(
    Effect.andThen(Effect.suspend(() => this.#end(this.#sessions.takeIdle(this.#parts.now())))),
    Effect.forever
  )

  #answer(x: Exchange): Effect.Effect<Answer, KnownError> {
    return Effect.gen({ self: this }, function* () {
      const { api, events, origins } = this.#parts
      const caller = yield* api.admit(x, mcpPath)
      const origin = x.header("origin")
      if (origin !== undefined && !origins.includes(origin)) return yield* foreignOrigin
      const text = x.method === "POST" ? yield* readText(x, mostBytes) : null
      // Effect's server refuses what is not JSON.
      const message = text === null ? undefined : Option.getOrUndefined(Exit.getSuccess(parseJson(text)))
      yield* this.#checkScope(message, caller)
      const begins = member(message, "method") === "initialize"
      if (begins && Buffer.byteLength(text ?? "") > mostInitial) return yield* tooLarge
      yield* this.#checkSession(x, caller)
      const answer = events.answer(x, message, caller)
      if (answer !== null) return yield* answer
      const done = yield* this.#begin(caller.grant_id)
      const asked = this.#ask(x, text, caller, done).pipe(Effect.onError(() => Effect.sync(done)))
      // A session that began must be noted, even if its client has left.
      return yield* begins ? Effect.uninterruptible(asked) : asked
    })
  }

  /** A missing scope is answered over HTTP, so that the client can ask the user for it (RFC 6750 section 3.1). */
  #checkScope(message: unknown, caller: Principal): Effect.Effect<void, KnownError> {
    const name = member(message, "method") === "tools/call" ? member(member(message, "params"), "name") : undefined
    const tool = Predicate.isString(name) ? this.#parts.tools.get(name) : undefined
    if (tool === undefined || mayCall(tool, caller)) return Effect.void
    const metadata = resourceMetadataUrl(this.#parts.publicUrl.url, mcpPath)
    // With the scopes that the client has, which it would otherwise lose.
    return Effect.fail(insufficientScope(tool.scope, metadata, [...caller.scopes, tool.scope].join(" ")))
  }

  #checkSession(x: Exchange, caller: Principal): Effect.Effect<void, KnownError> {
    const id = x.header(sessionHeader)
    const isOpen = id === undefined ? x.method === "POST" : this.#sessions.use(id, caller, this.#parts.now())
    return isOpen ? Effect.void : Effect.fail(noSession)
  }

  /** Counts a call at work. The returned function ends it, and may be called more than once. */
  #begin(grant: GrantId): Effect.Effect<() => void, KnownError> {
    return Effect.suspend(() => {
      const working = this.#working.get(grant) ?? 0
      if (working >= callsPerGrant) {
        const detail = `At most ${callsPerGrant} calls of one authorization are at work at the same time. Wait for one of them.`
        return Effect.fail(refusal(429, "too_many_calls", detail, { "retry-after": "1" }))
      }
      this.#working.set(grant, working + 1)
      let isOpen = true
      return Effect.succeed(() => {
        const left = (this.#working.get(grant) ?? 1) - (isOpen ? 1 : 0)
        isOpen = false
        if (left === 0) this.#working.delete(grant)
        else this.#working.set(grant, left)
      })
    })
  }

  #ask(x: Exchange, text: string | null, caller: Principal, done: () => void): Effect.Effect<Answer, KnownError> {
    return Effect.gen({ self: this }, function* () {
      const { api, now } = this.#parts
      const {
        authorization: _token,
        "content-length": _length,
        "transfer-encoding": _coding,
        origin: _origin,
        ...sent
      } = x.headers()
      const again = Effect.suspend(() => api.identify(x, mcpPath))
      const response = yield* this.#send({ method: x.method, headers: sent, body: text }, { caller, again, id: x.id })
      const given = x.header(sessionHeader)
      const began = response.headers.get(sessionHeader)
      if (given !== undefined && x.method === "DELETE") this.#sessions.delete(given)
      if (began !== null) yield* this.#end(this.#sessions.add(began, caller, now()))
      const { body, status } = response
      const known = Object.fromEntries([...response.headers].filter(([name]) => kept.has(name)))
      const headers = { ...known, "cache-control": "no-store" }
      if (body !== null && response.headers.get("content-type") === "text/event-stream") {
        return { status, headers: { ...headers, ...streamHeaders }, body: piecesOf(body, done) }
      }
      const whole = yield* Effect.promise(() => response.text())
      done()
      return { status, headers, body: whole === "" ? null : whole }
    })
  }

  /** Passes a request to Effect's server. */
  #send(init: RequestInit, current: CurrentCall | null): Effect.Effect<Response> {
    return Effect.promise((signal) => {
      const request = new Request(`http://localhost${mcpPath}`, { ...init, signal })
      return this.#parts.handler(request, Context.make(CurrentCall, current))
    })
  }

  /** Ends sessions of Effect's server, with the calls in them. */
  #end(ids: ReadonlyArray<string>): Effect.Effect<void> {
    const end = (id: string) => this.#send({ method: "DELETE", headers: { [sessionHeader]: id } }, null)
    return Effect.forEach(ids, end, { discard: true })
  }
}

/** Makes the routes of the endpoint. */
export const makeRoutes = Effect.fnUntraced(function* (
  api: ApiEndpoint,
  instructions: string,
  hostTools: ReadonlyMap<string, Tool>
) {
  const crypto = yield* Crypto
  const { all: own } = yield* OwnTools.make
  const tools = new Map([...Object.entries(own), ...hostTools])
  const registrations = Layer.effectDiscard(
    McpServer.McpServer.use((server) =>
      Effect.andThen(
        Effect.forEach(tools, ([name, tool]) => register(server, crypto, name, tool)),
        registerResources(server, own)
      )
    )
  )
  const app = yield* HttpRouter.toHttpEffect(
    McpServer.layerHttp({
      name: "doorhook",
      version: manifest.version,
      instructions,
      path: mcpPath,
      protocols,
      extensions: eventsExtension,
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
    api,
    events: yield* Events.make(api),
    handler: HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(untraced)(app),
    now: () => clock.currentTimeMillisUnsafe(),
    origins: (yield* HttpSettings).browserOrigins,
    publicUrl: yield* PublicUrl,
    tools
  })
  yield* Effect.forkScoped(endpoint.endIdle)
  return endpoint.routes
})
