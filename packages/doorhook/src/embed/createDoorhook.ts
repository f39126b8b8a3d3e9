/**
 * doorhook inside a backend: promises and plain objects over the same engine that the service runs.
 */
import type { BuiltInType, NewEvent } from "@doorhook/core"
import {
  AuthorizationServer,
  AuthorizationSettings,
  Crypto,
  JsonEncoding,
  Publisher,
  publishRequest,
  PublishRequest,
  readIdempotencyKey,
  rootMessage
} from "@doorhook/core"
import { HttpSurface, isOwnPath, logUnanswered, OperatorApi, OperatorKey, PublicUrl, surface } from "@doorhook/server"
import { Effect, Exit, Layer, ManagedRuntime, Metric, Predicate, Redacted, Result } from "effect"
import { warnOfReadableSecrets } from "../config/KeySettings.ts"
import type { HostId } from "../directory/FunctionDirectory.ts"
import * as FunctionDirectory from "../directory/FunctionDirectory.ts"
import { layer as engineLayer } from "../service/Engine.ts"
import * as Otlp from "../telemetry/Otlp.ts"
import { closedError, fromCause } from "../DoorhookError.ts"
import { optionsOf } from "./Arguments.ts"
import type { DoorhookOptions } from "./DoorhookOptions.ts"
import { defaultPublicUrl, readOptions } from "./DoorhookOptions.ts"
import type { FastifyPlugin } from "./FastifyPlugin.ts"
import { makeFastifyPlugin } from "./FastifyPlugin.ts"
import * as HostListener from "./HostListener.ts"
import * as HostLogger from "./HostLogger.ts"
import { InferredUrl } from "./InferredUrl.ts"
import type { HostLog, NodeRequestHandler } from "./NodeHandler.ts"
import { makeHostHandler } from "./NodeHandler.ts"
import { makeInFlightCalls } from "./InFlightCalls.ts"
import { makeInProcessCalls } from "./OperatorCalls.ts"
import type { OperatorClient } from "./OperatorClient.ts"
import { makeOperatorClient } from "./OperatorClient.ts"
import type { RequestWithHeaders, TokenIdentity, TokenMiddleware, TokenOptions } from "./RequireToken.ts"
import { makeAuthenticate, makeRequireToken } from "./RequireToken.ts"
import { checkWebRequest } from "./WebRequest.ts"

/** An event to publish: something that happened at a door. */
export interface PublishInput {
  /** `access_log`: a door was opened, or was not; `call`: somebody rings; or a declared one (`resourceTypes`). */
  readonly resource_type: BuiltInType | (string & Record<never, never>)
  /** What happened to it: `create`, or another action that its declaration has. */
  readonly action: "create" | (string & Record<never, never>)
  /** The building, by the id that the directory knows: a positive whole number. */
  readonly building_id: HostId
  /** The tenants it involves, by id. Default none: only integrations of the building get it. */
  readonly tenant_ids?: ReadonlyArray<HostId> | undefined
  /** What receivers get as `event.data`; at most 256 KiB as JSON. */
  readonly data: object
}

/** How to publish. */
export interface PublishOptions {
  /**
   * Names this call, so that it can be made again when its outcome is unknown: the same call under the same key within 24
   * hours publishes nothing more and answers as before. 1 to 255 visible ASCII characters.
   */
  readonly idempotencyKey?: string | undefined
}

/** An event that was accepted: it and its deliveries are durable. */
export interface PublishResult {
  /** Like `evt_...`: what receivers get as `webhook-id`. */
  readonly id: string
  /** To how many integrations it goes. */
  readonly deliveries: number
}

/** Where a web request came from, which the request itself does not say. */
export interface RequestPeer {
  /** The client's IP address. With it, failed logins and secrets slow down that address alone. */
  readonly remoteAddress?: string | undefined
}

/** What Next.js passes to a route handler beside the request. */
export interface RouteContext {
  /** What the route matched; not read. */
  readonly params: unknown
}

/**
 * A doorhook that runs in this process. Mount one of `node`, `fetch` and `fastify` on your server, and call `publish` when something
 * happens. Promises reject with a `DoorhookError`.
 */
export interface Doorhook extends OperatorClient {
  /**
   * Handles requests of `node:http`, and of Express by `app.use(doorhook.node)`: what is not doorhook's goes on to `next`.
   * Behind a body parser it works too, but an event's `data` is then kept as the parser read it, not as it was written.
   */
  readonly node: NodeRequestHandler
  /** Handles web requests, as Hono, Next.js, Bun and Deno have them. Requests for other paths get 404. */
  readonly fetch: (request: Request, peer?: RequestPeer | RouteContext) => Promise<Response>
  /** Whether a web request is for doorhook: for frameworks whose own routes stand beside `fetch`. */
  readonly handles: (request: Pick<Request, "url">) => boolean
  /** The same as a Fastify plugin: `app.register(doorhook.fastify)`. */
  readonly fastify: FastifyPlugin
  /**
   * Accepts an event, or up to 1,000 at once: all of them or none. Resolves once they are durable. What JSON can't hold is
   * refused: a BigInt, a cycle, a Map, a Set, a promise.
   *
   * Rejects with `invalid_publish`, which names every problem; with `store_error` when the database did not carry it out: then
   * call again, with an `idempotencyKey` if a second event would harm; with `idempotency_key_reused`; with `store_lost` when
   * the database file is gone: then close this doorhook and create another, or end the process.
   */
  publish(events: ReadonlyArray<PublishInput>, options?: PublishOptions): Promise<ReadonlyArray<PublishResult>>
  // The last of them, because compilers explain that one when none fits.
  publish(event: PublishInput, options?: PublishOptions): Promise<PublishResult>
  /**
   * Who the access token of a request to one of the host's own routes stands for; also for the value of an `Authorization` header.
   * Null when it is missing, malformed, expired, revoked, or lacks the scope. Rejects with `bad_request` for a scope that is not
   * declared (option `scopes`), and with `store_error` or `directory_error` when that can't be found out.
   */
  readonly authenticate: (
    request: RequestWithHeaders | string | null | undefined,
    options?: TokenOptions
  ) => Promise<TokenIdentity | null>
  /**
   * Middleware for the host's own routes that lets only requests with a good access token through, and answers others as RFC 6750
   * says: 401, or 403 when the token lacks the scope. For Express, Connect, Hono, and as a `preHandler` of Fastify.
   */
  readonly requireToken: (options?: TokenOptions) => TokenMiddleware
  /** The key of the operator API, given or made. */
  readonly operatorKey: string
  /**
   * Answers the requests that are open, finishes what is being sent, gives back the rest, and closes the database. Calls that
   * come later reject with the code `closed`; closing again is nothing more. The host's own server is the host's to close.
   */
  readonly close: () => Promise<void>
  /** As `close`: `await using doorhook = await createDoorhook(...)`. */
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** The text of a call under a key; of its events alone where what the host gave with them is beyond JSON. */
const sayingOf = (input: unknown, events: ReadonlyArray<NewEvent>): string =>
  Result.getOrElse(JsonEncoding.encode(input), () => undefined) ?? JSON.stringify(events)

const unknownAddress = `publicUrl: not set, and doorhook.fetch learns no address from requests, because anybody can send any Host. Links and the issuer of tokens say ${defaultPublicUrl}. Set publicUrl to the address that browsers and clients use. This is logged once.`

/**
 * Starts doorhook in this process. Rejects with a `DoorhookError` whose message says what to do when a setting or the
 * database can't be used.
 */
export const createDoorhook = async (options: DoorhookOptions): Promise<Doorhook> => {
  const config = readOptions(options)
  const learned = new InferredUrl()
  const engine = engineLayer(config, FunctionDirectory.layer(options.directory))
  // After the database is open: one that was stored under a key is refused without it.
  const services = Layer.effectDiscard(warnOfReadableSecrets(config)).pipe(
    Layer.provideMerge(engine),
    Layer.provideMerge(
      config.publicUrl === undefined ? Layer.succeed(PublicUrl, learned) : PublicUrl.layer(config.publicUrl)
    ),
    Layer.provide(HostListener.layer(options.onNotification)),
    Layer.provideMerge(options.telemetry === true ? Otlp.layer() : Layer.empty),
    Layer.provideMerge(HostLogger.layer(options.logger)),
    // Counters of its own: another doorhook of this process has others.
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

  // What can't be started leaves nothing open.
  const begin = <A>(begun: Promise<A>): Promise<A> =>
    begun.catch(async (error: unknown) => {
      await runtime.dispose()
      throw error
    })
  const key = await begin(run(OperatorKey.use(({ key: made }) => Effect.succeed(Redacted.value(made)))))
  const own = await begin(run(HttpSurface.use(Effect.succeed)))
  const operatorApi = await begin(run(OperatorApi.use(Effect.succeed)))
  const authorization = await begin(run(AuthorizationServer.use(Effect.succeed)))
  const declared = await begin(run(AuthorizationSettings.use(({ scopes }) => Effect.succeed(Object.keys(scopes)))))
  const publicUrl = await begin(run(PublicUrl.use(Effect.succeed)))
  const reader = await begin(run(PublishRequest.reader))
  const isOwn = (target: string): boolean => isOwnPath(target, publicUrl.url)
  const answer: Doorhook["fetch"] = async (request, peer) => {
    if (closing !== null) throw closedError()
    // Servers that are given the function itself call it with arguments of their own.
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

  /** Oversights in publications that were logged. */
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
        const request = key === null ? null : yield* publishRequest(yield* Crypto, key, sayingOf(input, events))
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

  const close = (): Promise<void> => {
    closing ??= (async () => {
      await open.settled()
      await runtime.dispose()
    })()
    return closing
  }

  const tokens = { identify: (token: string) => run(authorization.authenticate(token)), declared, log }
  return {
    node,
    fetch,
    handles: (request) => {
      const url = Predicate.hasProperty(request, "url") && Predicate.isString(request.url) ? request.url : ""
      return isOwn(URL.parse(url, defaultPublicUrl)?.pathname ?? "")
    },
    fastify: makeFastifyPlugin(node, (request, mount) => learned.fromConnection(request, mount)),
    publish,
    authenticate: makeAuthenticate(tokens),
    requireToken: makeRequireToken(tokens),
    ...makeOperatorClient(makeInProcessCalls(operatorApi, run)),
    operatorKey: key,
    close,
    [Symbol.asyncDispose]: close
  }
}
