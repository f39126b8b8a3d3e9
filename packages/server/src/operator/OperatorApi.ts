/**
 * The operator API: all operations, both over HTTP with the operator key and as calls within the process.
 *
 * The content type of a body is ignored, so that operators can use `curl` without setting one. Forged cross-site
 * requests are no danger, because browsers do not send the key automatically.
 */
import type {
  Clients,
  Crypto,
  Deliveries,
  DeliveryStore,
  Dispatcher,
  Grants,
  HostIntegrations,
  Notifications,
  OperatorIntegrations,
  ScopeReader,
  Publisher,
  SettingStore,
  TestEvents
} from "@doorhook/core"
import { Cause, Context, Effect, Layer, Schema } from "effect"
import type { HealthSettings } from "../health/HealthSettings.ts"
import { StoreProbe } from "../health/HealthStatus.ts"
import { readText } from "../http/Exchange.ts"
import type { RequestFailure } from "../http/Failures.ts"
import { BodyTooLarge, logRefusal, outcomeOf } from "../http/Failures.ts"
import { jsonFace } from "../http/HttpSurface.ts"
import { json } from "../http/MediaType.ts"
import type { PageSecret } from "../http/PageSecret.ts"
import type { PublicUrl } from "../http/PublicUrl.ts"
import type { Answer, Params, Route } from "../http/Route.ts"
import { makeClientHandlers } from "./ClientOperations.ts"
import { makeDeliveryHandlers } from "./DeliveryOperations.ts"
import { makeEventHandlers } from "./EventOperations.ts"
import { makeStatsHandlers } from "./StatsOperations.ts"
import { makeGrantHandlers } from "./GrantOperations.ts"
import { makeIntegrationHandlers } from "./IntegrationOperations.ts"
import { makeNotificationHandlers } from "./NotificationOperations.ts"
import type { Operation, OperatorHandler } from "./Operation.ts"
import { KeyGuard } from "./OperatorKey.ts"
import { PortalLinks } from "./PortalLinks.ts"

/** Services that the operations need. */
export type OperatorServices =
  | Clients
  | Crypto
  | Deliveries
  | DeliveryStore
  | Dispatcher
  | Grants
  | HealthSettings
  | HostIntegrations
  | Notifications
  | OperatorIntegrations
  | PageSecret
  | ScopeReader
  | PublicUrl
  | Publisher
  | SettingStore
  | TestEvents

/** Arguments of an operation. */
export interface OperatorCall {
  /** Path parameters. */
  readonly params?: Params
  /** The query as text, without a question mark. */
  readonly query?: string
  /** The body as JSON text; empty for none. */
  readonly body?: string
}

export class OperatorApi extends Context.Service<
  OperatorApi,
  {
    /** All operations with their implementations. */
    readonly handlers: ReadonlyArray<OperatorHandler>
    /**
     * Runs an operation within the process, without a request or a key. Answers and failures are the same as over HTTP.
     * Failures that are not the caller's fault are logged.
     */
    readonly call: <A>(operation: Operation<A>, given?: OperatorCall) => Effect.Effect<A, RequestFailure>
  }
>()("@doorhook/server/operator/OperatorApi") {
  static readonly layer: Layer.Layer<OperatorApi, never, OperatorServices> = Layer.effect(
    OperatorApi,
    Effect.gen(function* () {
      const handlers: ReadonlyArray<OperatorHandler> = [
        ...(yield* makeEventHandlers),
        ...(yield* makeDeliveryHandlers),
        ...(yield* makeIntegrationHandlers),
        ...(yield* makeClientHandlers),
        ...(yield* makeGrantHandlers),
        ...(yield* makeNotificationHandlers),
        ...(yield* makeStatsHandlers)
      ]
      const byOperation = new Map(handlers.map((one) => [one.operation, one]))

      const call = <A>(
        operation: Operation<A>,
        { body = "", params = {}, query = "" }: OperatorCall = {}
      ): Effect.Effect<A, RequestFailure> =>
        Effect.suspend(() => {
          const { bodyLimit, name } = operation
          const found = byOperation.get(operation)
          if (found === undefined) return Effect.die(new Error(`There is no operation ${name}`))
          const isTooLarge = bodyLimit > 0 && Buffer.byteLength(body) > bodyLimit
          const text = isTooLarge ? Effect.fail(new BodyTooLarge({ limit: bodyLimit })) : Effect.succeed(body)
          return Effect.flatMap(found.run({ params, query, text, header: () => undefined }), (answer) =>
            // The result is a copy with exactly the members in the schema, as over HTTP. The caller may change the
            // copy.
            Effect.orDie(Schema.decodeUnknownEffect(operation.answer)(answer))
          )
        }).pipe(
          Effect.catchCause((cause) => {
            if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
            const { refusal, why } = outcomeOf(cause)
            return why === null ? Effect.fail(refusal) : Effect.andThen(logRefusal(why), Effect.fail(refusal))
          })
        )

      return OperatorApi.of({ handlers, call })
    })
  ).pipe(Layer.provide(Layer.merge(PortalLinks.layer, StoreProbe.layer)))
}

const answerWith =
  ({ status }: Operation) =>
  (document: unknown): Answer =>
    status === 204
      ? { status, headers: { "cache-control": "no-store" }, body: null }
      : {
          status,
          headers: { "content-type": json, "cache-control": "no-store" },
          body: JSON.stringify(document)
        }

/** Makes the routes of all operations. */
export const makeOperatorRoutes: Effect.Effect<ReadonlyArray<Route>, never, OperatorApi | KeyGuard> = Effect.gen(
  function* () {
    const { handlers } = yield* OperatorApi
    const { authenticate } = yield* KeyGuard
    return handlers.map(({ operation, run }): Route => {
      const { bodyLimit, method, path, query } = operation
      return {
        method,
        path,
        face: jsonFace,
        query,
        handle: (x, params) =>
          // Uses `flatMap`, not `andThen`, because the operation must not start before the key is checked.
          Effect.flatMap(authenticate(x), () => {
            x.client = null
            return Effect.map(
              run({ params, query: x.query, text: readText(x, bodyLimit), header: (name) => x.header(name) }),
              answerWith(operation)
            )
          })
      }
    })
  }
)
