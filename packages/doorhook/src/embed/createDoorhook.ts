/**
 * Runs doorhook inside a backend: a facade of promises and plain objects over the same engine as the service.
 */
import type { Audience, BuiltInType, NewEvent } from "@doorhook/core"
import {
  AuthorizationServer,
  AuthorizationSettings,
  apiPath,
  defaultPublicUrl,
  Crypto,
  Deliveries,
  JsonEncoding,
  Publisher,
  publishRequest,
  FeedHub,
  PublishRequest,
  readIdempotencyKey,
  rootMessage
} from "@doorhook/core"
import {
  HttpSurface,
  isOwnPath,
  logUnanswered,
  McpEndpoint,
  OperatorApi,
  OperatorKey,
  PublicUrl,
  serviceUrl,
  resourceMetadataUrl,
  surface
} from "@doorhook/server"
import { Effect, Exit, Layer, ManagedRuntime, Metric, Predicate, Redacted, Result } from "effect"
import { warnOfReadableSecrets } from "../config/KeySettings.ts"
import type { HostId } from "../directory/FunctionDirectory.ts"
import * as FunctionDirectory from "../directory/FunctionDirectory.ts"
import { layer as engineLayer } from "../service/Engine.ts"
import * as Otlp from "../telemetry/Otlp.ts"
import { closedError, fromCause } from "../DoorhookError.ts"
import { optionsOf } from "./Arguments.ts"
import type { DoorhookOptions } from "./DoorhookOptions.ts"
import { readOptions } from "./DoorhookOptions.ts"
import type { FastifyPlugin } from "./FastifyPlugin.ts"
import { makeFastifyPlugin } from "./FastifyPlugin.ts"
import * as HostDetail from "./HostDetail.ts"
import * as HostListener from "./HostListener.ts"
import * as HostLogger from "./HostLogger.ts"
import { InferredUrl } from "./InferredUrl.ts"
import type { HostLog, NodeRequestHandler } from "./NodeHandler.ts"
import { checkWebRequest, makeHostHandler } from "./NodeHandler.ts"
import { makeInFlightCalls } from "./InFlightCalls.ts"
import { makeInProcessCalls } from "./OperatorCalls.ts"
import type { OperatorClient } from "./OperatorClient.ts"
import { makeOperatorClient } from "./OperatorClient.ts"
import type { RequestWithHeaders, TokenIdentity, TokenMiddleware, TokenOptions } from "./RequireToken.ts"
import { makeAuthenticate, makeRequireToken } from "./RequireToken.ts"

declare global {
  // Effect's declarations use these types of TypeScript's library `DOM`. Without that library, programs that check
  // declarations (`skipLibCheck: false`) need them from here; with it, the declarations merge.
  interface CryptoKey {}
  interface JsonWebKey {}
}

/** An event to publish. */
export interface PublishInput {
  /**
   * The resource type: `access_log` for access granted or refused at a door, `call` for someone who rings, or a type
   * declared in `resourceTypes`.
   */
  readonly resource_type: BuiltInType | (string & Record<never, never>)
  /** The action: `create`, or another action that the type declares. */
  readonly action: "create" | (string & Record<never, never>)
  /** The building's id in the directory: a positive whole number. */
  readonly building_id: HostId
  /** The ids of the tenants that the event concerns. Default none: only integrations of the building get the event. */
  readonly tenant_ids?: ReadonlyArray<HostId> | undefined
  /** The `event.data` that receivers get, at most 256 KiB as JSON. */
  readonly data: object
}

/** Options for publishing. */
export interface PublishOptions {
  /**
   * Key that makes the call safe to repeat if its outcome is unknown: 1 to 255 visible ASCII characters. The same call
   * with the same key within 24 hours publishes nothing and returns the first result.
   */
  readonly idempotencyKey?: string | undefined
}

/** Options of `idle`. */
export interface IdleOptions {
  /** Whether to wait for retries that are due later, too. Default false. */
  readonly retries?: boolean | undefined
}

/** An accepted event, stored durably with its deliveries. */
export interface PublishResult {
  /** The event's id, like `evt_...`. Receivers get it as `webhook-id`. */
  readonly id: string
  /** The number of deliveries: one for each matching integration, even if the integration is disabled. */
  readonly deliveries: number
}

/** The sender of a web request, whose address the request itself does not contain. */
export interface RequestPeer {
  /** The client's IP address. If it is given, failed logins and wrong secrets slow down only this address. */
  readonly remoteAddress?: string | undefined
}

/** The second argument of a Next.js route handler. */
export interface RouteContext {
  /** The matched parameters of the route. Ignored. */
  readonly params: unknown
}

/**
 * A doorhook that runs in this process. Mount `node`, `fetch` or `fastify` on your server, and call `publish` for each
 * event. Promises reject with a `DoorhookError`.
 */
export interface Doorhook extends OperatorClient {
  /**
   * Handles requests from `node:http`. In Express: `app.use(doorhook.node)`. Requests for other paths go to `next`. It
   * works behind a body parser, but then an event's `data` is stored as the parser read it, not as it was sent.
   */
  readonly node: NodeRequestHandler
  /** Handles web requests, as in Hono, Next.js, Bun and Deno. Requests for other paths get 404. */
  readonly fetch: (request: Request, peer?: RequestPeer | RouteContext) => Promise<Response>
  /** Whether a web request is for one of doorhook's paths. For frameworks that serve other routes as well. */
  readonly handles: (request: Pick<Request, "url">) => boolean
  /** Fastify plugin that serves doorhook's routes: `app.register(doorhook.fastify)`. */
  readonly fastify: FastifyPlugin
  /**
   * Publishes one event or a list of up to 1,000 events, of which doorhook accepts either all or none. Resolves once
   * the events are durable. Refuses values that JSON can't represent: a BigInt, a cycle, a Map, a Set, a promise.
   *
   * Rejects with `invalid_publish`, which names every problem, or with `idempotency_key_reused`; with `being_moved` or
   * `misdirected` if another database is to serve a building, or serves it. `store_error` means
   * that the database did not carry out the call, or that its answer was lost: repeat the call, with an
   * `idempotencyKey` if a duplicate event would do harm. `store_lost` means that the database file is gone: close this
   * doorhook and create another, or end the process.
   */
  publish(events: ReadonlyArray<PublishInput>, options?: PublishOptions): Promise<ReadonlyArray<PublishResult>>
  // Declared last, because TypeScript's error explains the last overload when none matches.
  publish(event: PublishInput, options?: PublishOptions): Promise<PublishResult>
  /**
   * Returns the user and client of the access token in a request to one of the host's own routes, or in the value of an
   * `Authorization` header. Returns null if the token is missing, malformed, expired or revoked, is for another
   * resource, or lacks the scope. Rejects with `bad_request` for an undeclared scope or resource (options `scopes` and
   * `resources`), and with `store_error` or `directory_error` when the token can't be checked.
   */
  readonly authenticate: (
    request: RequestWithHeaders | string | null | undefined,
    options?: TokenOptions
  ) => Promise<TokenIdentity | null>
  /**
   * Makes middleware for the host's own routes that refuses requests without a valid access token (RFC 6750): with 401,
   * or with 403 if the token lacks the scope. For Express, Connect and Hono, and as a `preHandler` of Fastify.
   */
  readonly requireToken: (options?: TokenOptions) => TokenMiddleware
  /**
   * Resolves once no delivery is due or being sent, in any process on the database. Retries that wait for a later time
   * don't count, unless `retries` is true. For tests. Never resolves while the directory or the sender does not work.
   */
  readonly idle: (options?: IdleOptions) => Promise<void>
  /** The key of the operator API, as configured or generated. */
  readonly operatorKey: string
  /**
   * Answers open requests, finishes attempts in flight, releases other claimed deliveries, and closes the database.
   * Later calls reject with the code `closed`, and closing again has no effect. The host must close its own server.
   */
  readonly close: () => Promise<void>
  /** The same as `close`: `await using doorhook = await createDoorhook(...)`. */
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/**
 * Returns the text of a call. A different text shows that an idempotency key is reused for a different call. If JSON
 * can't represent the input, the text is that of the parsed events.
 */
const requestTextOf = (input: unknown, events: ReadonlyArray<NewEvent>): string =>
  Result.getOrElse(JsonEncoding.encode(input), () => undefined) ?? JSON.stringify(events)

const unknownAddress = `publicUrl: not set, and doorhook.fetch can't infer it, because a client can send any Host header. Links and the issuer of tokens use ${defaultPublicUrl}. Set publicUrl to the address that browsers and clients use. This is logged once.`

/**
 * Starts doorhook in this process. If a setting or the database can't be used, rejects with a `DoorhookError` whose
 * message says what to do.
 */
export const createDoorhook = (options: DoorhookOptions): Promise<Doorhook> => startDoorhook(options, Layer.empty)

/** Starts doorhook with ports that replace its own, and with the references in their layer, like a clock. */
export const startDoorhook = async (options: DoorhookOptions, ports: Layer.Layer<never>): Promise<Doorhook> => {
  const config = readOptions(options)
  const learned = new InferredUrl()
  const given = Layer.merge(ports, options.mcp === undefined ? Layer.empty : Layer.succeed(McpEndpoint, options.mcp))
  const engine = Layer.flatMap(given, (own) => engineLayer(config, FunctionDirectory.layer(options.directory), own))
  // Logged only after the database is open, because opening a database with encrypted secrets fails without the
  // encryption key.
  const services = Layer.effectDiscard(warnOfReadableSecrets(config)).pipe(
    Layer.provideMerge(engine),
    Layer.provideMerge(serviceUrl),
    Layer.provideMerge(
      config.publicUrl === undefined ? Layer.succeed(PublicUrl, learned) : PublicUrl.layer(config.publicUrl)
    ),
    Layer.provide(HostListener.layer(options.onNotification)),
    Layer.provideMerge(HostDetail.layer(options.maxDetail)),
    Layer.provideMerge(options.telemetry === true ? Otlp.layer() : Layer.empty),
    Layer.provideMerge(HostLogger.layer(options.logger)),
    Layer.provideMerge(ports),
    // Each doorhook in this process has its own counters.
    Layer.provideMerge(Layer.sync(Metric.MetricRegistry, () => new Map()))
  )
  const runtime = ManagedRuntime.make(Layer.merge(surface, OperatorApi.layer).pipe(Layer.provideMerge(services)))
  const open = makeInFlightCalls()

  let closing: Promise<void> | null = null
  const run = async <A, E>(effect: Effect.Effect<A, E, ManagedRuntime.ManagedRuntime.Services<typeof runtime>>) => {
    if (closing !== null) throw closedError()
    const exit = await open.track(runtime.runPromiseExit(effect))
    if (Exit.isFailure(exit)) throw fromCause(exit.cause)
    return exit.value
  }

  // Waits for a step of the start. If the step fails, closes everything.
  const begin = <A>(begun: Promise<A>): Promise<A> =>
    begun.catch(async (error: unknown) => {
      await runtime.dispose()
      throw error
    })
  const key = await begin(run(OperatorKey.use(({ key: made }) => Effect.succeed(Redacted.value(made)))))
  const own = await begin(run(HttpSurface.use(Effect.succeed)))
  const hub = await begin(run(FeedHub.use(Effect.succeed)))
  const operatorApi = await begin(run(OperatorApi.use(Effect.succeed)))
  const authorization = await begin(run(AuthorizationServer.use(Effect.succeed)))
  const settings = await begin(run(AuthorizationSettings.use(Effect.succeed)))
  const resources = Object.keys(settings.resources)
  const publicUrl = await begin(run(PublicUrl.use(Effect.succeed)))
  const reader = await begin(run(PublishRequest.reader))
  const isOwn = (target: string): boolean => isOwnPath(target, publicUrl.url, settings)
  const answer: Doorhook["fetch"] = async (request, peer) => {
    if (closing !== null) throw closedError()
    // A server that calls this function directly might pass something else as `peer`.
    const address = Predicate.hasProperty(peer, "remoteAddress") ? peer.remoteAddress : undefined
    return open.track(own.fetch(request, Predicate.isString(address) ? address : null))
  }
  let isWarned = false
  const warnOfAddress = (): void => {
    if (isWarned || closing !== null || config.publicUrl !== undefined || learned.isInferred) return
    isWarned = true
    runtime.runFork(Effect.logWarning(unknownAddress))
  }
  const fetch: Doorhook["fetch"] = async (request, peer) => {
    checkWebRequest(request)
    warnOfAddress()
    return answer(request, peer)
  }
  const log: HostLog = (id, error) =>
    void runtime.runFork(Effect.annotateLogs(logUnanswered(rootMessage(error)), "request_id", id))
  const node = makeHostHandler({
    handle: own.handle,
    isOwn,
    isClosed: () => closing !== null,
    seen: (request) => learned.fromConnection(request),
    open,
    log
  })

  /** Warnings about published events that have already been logged. */
  const logged = new Set<string>()
  const publishAll = (input: unknown, { idempotencyKey }: PublishOptions) =>
    run(
      Effect.gen(function* () {
        const { events, isList, oversights } = yield* Effect.fromResult(reader.fromValue(input))
        for (const oversight of oversights) {
          if (logged.has(oversight)) continue
          logged.add(oversight)
          yield* Effect.logWarning(`publish: ${oversight} This is logged once.`)
        }
        const given = idempotencyKey ?? null
        const key = given === null ? null : yield* Effect.fromResult(readIdempotencyKey(given))
        const request = key === null ? null : yield* publishRequest(yield* Crypto, key, requestTextOf(input, events))
        const published = yield* (yield* Publisher).publish(events, request)
        return { published, isList }
      })
    )

  function publish(events: ReadonlyArray<PublishInput>, options?: PublishOptions): Promise<ReadonlyArray<PublishResult>>
  function publish(event: PublishInput, options?: PublishOptions): Promise<PublishResult>
  async function publish(
    input: PublishInput | ReadonlyArray<PublishInput>,
    options?: PublishOptions
  ): Promise<PublishResult | ReadonlyArray<PublishResult>> {
    const { published, isList } = await publishAll(input, optionsOf(options, ["idempotencyKey"]))
    const [first] = published
    return isList || first === undefined ? published : first
  }

  const closed = new AbortController()
  const idle = async (given?: IdleOptions): Promise<void> => {
    const { retries = false } = optionsOf(given, ["retries"])
    if (closing !== null) throw closedError()
    // Not counted among the calls that closing waits for, because it may never end.
    const exit = await runtime.runPromiseExit(
      Deliveries.use((deliveries) => deliveries.idle({ retries })),
      { signal: closed.signal }
    )
    if (Exit.isFailure(exit)) throw fromCause(exit.cause)
  }

  const close = (): Promise<void> => {
    closing ??= (async () => {
      closed.abort()
      hub.close()
      await open.settled()
      await runtime.dispose()
    })()
    return closing
  }

  const tokens = {
    identify: (token: string, audience: Audience) => run(authorization.authenticate(token, audience)),
    declared: Object.keys(settings.scopes),
    resources,
    log,
    metadata: () => resourceMetadataUrl(publicUrl.url, apiPath)
  }
  return {
    node,
    fetch,
    handles: (request) => {
      const url = Predicate.hasProperty(request, "url") && Predicate.isString(request.url) ? request.url : ""
      return isOwn(URL.parse(url, defaultPublicUrl)?.pathname ?? "")
    },
    fastify: makeFastifyPlugin(node, settings, (request, mount) => learned.fromConnection(request, mount)),
    publish,
    authenticate: makeAuthenticate(tokens),
    requireToken: makeRequireToken(tokens),
    ...makeOperatorClient(makeInProcessCalls(operatorApi, run)),
    idle,
    operatorKey: key,
    close,
    [Symbol.asyncDispose]: close
  }
}
