/**
 * doorhook inside a backend: promises and plain objects over the same engine that the service runs.
 */
import type { Action, ResourceType } from "@doorhook/core"
import { Publisher, publishRequest, PublishRequest, readIdempotencyKey } from "@doorhook/core"
import { makeFetchHandler, OperatorKey, PublicUrl } from "@doorhook/server"
import { Effect, Exit, Layer, ManagedRuntime, Predicate, Redacted, Result } from "effect"
import { EngineConfig } from "../config/EngineConfig.ts"
import { readConfig } from "../config/ReadingSettings.ts"
import type { HostDirectory } from "../directory/FunctionDirectory.ts"
import * as FunctionDirectory from "../directory/FunctionDirectory.ts"
import { layer as engineLayer } from "../service/Engine.ts"
import { closedError, DoorhookError, fromCause } from "./DoorhookError.ts"
import type { ClientsClient } from "./ClientsClient.ts"
import { makeClientsClient } from "./ClientsClient.ts"
import type { DeliveriesClient } from "./DeliveriesClient.ts"
import { makeDeliveriesClient } from "./DeliveriesClient.ts"
import type { OnNotice } from "./HostListener.ts"
import * as HostListener from "./HostListener.ts"
import type { IntegrationsClient } from "./IntegrationsClient.ts"
import { makeIntegrationsClient } from "./IntegrationsClient.ts"
import type { NodeRequestHandler } from "./NodeHandler.ts"
import { NodeHandler } from "./NodeHandler.ts"
import type { NoticesClient } from "./NoticesClient.ts"
import { makeNoticesClient } from "./NoticesClient.ts"
import { makeOperatorCalls } from "./OperatorCalls.ts"

export interface DoorhookOptions extends EngineConfig {
  /** The host's users, clients and buildings. */
  readonly directory: HostDirectory
  /**
   * Is told what doorhook notices about integrations: that one fails, was disabled, recovered, or had deliveries given
   * up. May return a promise; what it throws is logged.
   */
  readonly onNotice?: OnNotice | undefined
}

/** An event to publish: something that happened at a door. */
export interface PublishInput {
  readonly resource_type: ResourceType
  readonly action: Action
  readonly building_id: number
  /** The tenants it involves. Default none: only integrations of the building get it. */
  readonly tenant_ids?: ReadonlyArray<number>
  /** What receivers get as `event.data`; at most 256 KiB as JSON. */
  readonly data: object
}

export interface PublishOptions {
  /**
   * Names this call, so that it can be made again when its outcome is unknown: the same call under the same key within 24
   * hours publishes nothing more and answers as before. 1 to 255 visible ASCII characters.
   */
  readonly idempotencyKey?: string | undefined
}

/** An event that was accepted: it and its deliveries are durable. */
export interface PublishResult {
  readonly id: string
  /** To how many integrations it goes. */
  readonly deliveries: number
}

export interface Doorhook {
  /** Handles requests of `node:http`, and of Express by `app.use(doorhook.node)`, before any body parser. */
  readonly node: NodeRequestHandler
  /**
   * Handles web requests, as Hono, Next.js, Bun and Deno have them. Such a request does not know the address that it comes
   * from; given as `remoteAddress`, it makes guessing of passwords and secrets slow for that address alone.
   */
  readonly fetch: (request: Request, peer?: { readonly remoteAddress?: string | undefined }) => Promise<Response>
  /** Accepts an event, or up to 1,000 at once: all of them or none. Resolves once they are durable. */
  publish(event: PublishInput, options?: PublishOptions): Promise<PublishResult>
  publish(events: ReadonlyArray<PublishInput>, options?: PublishOptions): Promise<ReadonlyArray<PublishResult>>
  /** What was not delivered, why, and sending it again. */
  readonly deliveries: DeliveriesClient
  /** Which integrations there are, which fail, and settings of their own. */
  readonly integrations: IntegrationsClient
  /** OAuth clients that are registered here, beside those that the directory knows. */
  readonly clients: ClientsClient
  /** What `onNotice` was told. */
  readonly notices: NoticesClient
  /** The key of the operator API, given or made. */
  readonly operatorKey: string
  /** Finishes what is being sent, gives back the rest, and closes the database. */
  readonly close: () => Promise<void>
}

/** Where an embedded doorhook says it is reached, when it is not told. */
const defaultPublicUrl = "http://localhost:4000"

/** The settings among the options; throws with every problem when there are any. */
const readOptions = (options: unknown): EngineConfig => {
  const { directory, onNotice, ...settings } = Predicate.isObject(options)
    ? { directory: undefined, onNotice: undefined, ...options }
    : { directory: options, onNotice: undefined }
  const read = readConfig(EngineConfig, settings)
  const problems = [
    ...FunctionDirectory.problemsOf(directory),
    ...HostListener.problemsOf(onNotice),
    ...Result.match(read, { onSuccess: () => [], onFailure: ({ message }) => [message] })
  ]
  if (Result.isSuccess(read) && problems.length === 0) return read.success
  throw new DoorhookError("invalid_config", problems.join("; "), undefined)
}

/**
 * Starts doorhook in this process. Rejects with a `DoorhookError` whose message says what to do when a setting or the
 * database can't be used.
 */
export const createDoorhook = async (options: DoorhookOptions): Promise<Doorhook> => {
  const config = readOptions(options)
  const services = engineLayer(config, FunctionDirectory.layer(options.directory)).pipe(
    Layer.provideMerge(PublicUrl.layer(config.publicUrl ?? defaultPublicUrl)),
    Layer.provide(HostListener.layer(options.onNotice))
  )
  const runtime = ManagedRuntime.make(NodeHandler.layer.pipe(Layer.provideMerge(services)))

  let closed = false
  const run = async <A, E>(effect: Effect.Effect<A, E, ManagedRuntime.ManagedRuntime.Services<typeof runtime>>) => {
    if (closed) throw closedError()
    const exit = await runtime.runPromiseExit(effect)
    if (Exit.isFailure(exit)) throw fromCause(exit.cause)
    return exit.value
  }

  const key = await run(OperatorKey.use(({ key: made }) => Effect.succeed(Redacted.value(made))))
  const web = makeFetchHandler(services, runtime.memoMap)
  const node = await run(NodeHandler.use(({ handle }) => Effect.succeed(handle)))

  const publishAll = (input: unknown, { idempotencyKey }: PublishOptions) =>
    run(
      Effect.gen(function* () {
        const { events, isList } = yield* Effect.fromResult(PublishRequest.fromValue(input))
        const key = idempotencyKey === undefined ? null : yield* Effect.fromResult(readIdempotencyKey(idempotencyKey))
        const request = key === null ? null : yield* publishRequest(key, JSON.stringify(input))
        const published = yield* (yield* Publisher).publish(events, request)
        return { published, isList }
      })
    )

  function publish(event: PublishInput, options?: PublishOptions): Promise<PublishResult>
  function publish(events: ReadonlyArray<PublishInput>, options?: PublishOptions): Promise<ReadonlyArray<PublishResult>>
  async function publish(
    input: PublishInput | ReadonlyArray<PublishInput>,
    options: PublishOptions = {}
  ): Promise<PublishResult | ReadonlyArray<PublishResult>> {
    const { published, isList } = await publishAll(input, options)
    const [first] = published
    return isList || first === undefined ? published : first
  }

  const calls = makeOperatorCalls(web.handler, key)
  return {
    node,
    fetch: (request, peer) => web.handler(request, peer),
    publish,
    deliveries: makeDeliveriesClient(calls),
    integrations: makeIntegrationsClient(calls),
    clients: makeClientsClient(calls),
    notices: makeNoticesClient(calls),
    operatorKey: key,
    close: async () => {
      closed = true
      await web.dispose()
      await runtime.dispose()
    }
  }
}
