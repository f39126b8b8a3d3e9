/**
 * The whole HTTP surface on its own port, with a memory store, for tests that use HTTP.
 *
 * It runs on the test clock. Access tokens are the names in `users`. With `Controls`, tests can set host names and
 * faults.
 */
import {
  AuthorizationServer,
  AuthorizationSettings,
  BuildingId,
  BuildingMoves,
  ClientId,
  Clients,
  Crypto,
  Deliveries,
  DeliverySettings,
  DeliveryStore,
  Directory,
  DirectoryError,
  Dispatcher,
  GrantId,
  Grants,
  idleStatus,
  FeedHub,
  Feeds,
  Integrations,
  IntegrationStore,
  MemoryStore,
  MemoryTransport,
  NameResolver,
  Notifications,
  HostIntegrations,
  OperatorIntegrations,
  ScopeReader,
  Publisher,
  PublisherBusy,
  ResourceTypeAliases,
  serviceKeyLayer,
  SettingStore,
  StoreError,
  StoreHealth,
  TenantId,
  Subscriptions,
  TestEvents,
  UserId,
  WakeSignal
} from "@doorhook/core"
import type {
  DeliverySettingsOverrides,
  DispatcherStatus,
  IntegrationId,
  ResourceType,
  TokenStore
} from "@doorhook/core"
import { it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer, Predicate, Redacted } from "effect"
import type { Scope } from "effect"
import { ApiSettings } from "../src/api/ApiSettings.ts"
import type { ApiSettingsShape } from "../src/api/ApiSettings.ts"
import { HealthSettings } from "../src/health/HealthSettings.ts"
import type { HealthSettingsShape } from "../src/health/HealthSettings.ts"
import { Listener } from "../src/http/Listener.ts"
import { PageSecret } from "../src/http/PageSecret.ts"
import { PublicUrl } from "../src/http/PublicUrl.ts"
import { OperatorKey } from "../src/operator/OperatorKey.ts"
import { serve } from "../src/Server.ts"
import type { ServerServices } from "../src/Server.ts"
import { HostTexts } from "../src/ui/Texts.ts"
import type { TextsShape } from "../src/ui/Texts.ts"

/** Users by access token, with their buildings and tenants. The password of each is `password of NAME`. */
const users: Readonly<
  Record<string, { readonly buildings: ReadonlyArray<number>; readonly tenants: ReadonlyArray<number> }>
> = {
  admin: { buildings: [1], tenants: [] },
  colleague: { buildings: [1], tenants: [] },
  tenant: { buildings: [], tenants: [101] },
  other: { buildings: [2], tenants: [102] },
  /** A user whose token lacks the scope `public`. */
  narrow: { buildings: [1], tenants: [101] },
  owner: { buildings: Array.from({ length: 7 }, (_, at) => 20 + at), tenants: [103, 104, 105] }
}

export const operatorKey = "operator-key-of-the-tests-of-the-server"

/** Settings that a test may change while the server runs. */
export class Controls extends Context.Service<
  Controls,
  {
    /** Addresses by host name. Other names have no address. */
    readonly names: Map<string, ReadonlyArray<string>>
    /** Effect that name lookups wait for. */
    lookup: Effect.Effect<void>
    /** Fault that the store, the directory or the publisher simulates. */
    fault:
      | "none"
      | "store"
      | "disk_full"
      | "unreadable"
      | "lost_answer"
      | "read_only"
      | "silence"
      | "directory"
      | "defect"
      | "busy"
    /** Completed when the store is called under the fault `silence`. That call never returns. */
    readonly asked: Deferred.Deferred<void>
    status: DispatcherStatus
    /** Effect that runs after the store has read a secret, before the store returns the secret. */
    secretRead: Effect.Effect<void>
    /** Number of transactions that tested whether the store accepts changes. */
    probes: number
    /** Users without rights any more. */
    readonly withdrawn: Set<string>
    /** Tokens that are no longer valid. */
    readonly revoked: Set<string>
    /** When all tokens expire. */
    expires_at: number
    /** Integrations whose cached state the dispatcher dropped. */
    readonly forgotten: Array<IntegrationId>
    /** Moves of buildings to and from other databases. */
    readonly moves: Array<BuildingMoves.BuildingMove>
    /** Whether the store changes no integration, as during a move. */
    isHeld: boolean
  }
>()("test/Controls") {
  static readonly layer: Layer.Layer<Controls> = Layer.sync(Controls, () =>
    Controls.of({
      names: new Map(),
      lookup: Effect.void,
      fault: "none",
      asked: Deferred.makeUnsafe(),
      status: idleStatus,
      secretRead: Effect.void,
      probes: 0,
      withdrawn: new Set(),
      revoked: new Set(),
      expires_at: Number.MAX_SAFE_INTEGER,
      forgotten: [],
      moves: [],
      isHeld: false
    })
  )
}

const secretOfTheStore = "password=hunter2"

const faulty = <A>(controls: Controls["Service"], operation: string, call: Effect.Effect<A, StoreError>) =>
  Effect.suspend(() => {
    if (controls.fault === "silence") return Effect.andThen(Deferred.succeed(controls.asked, undefined), Effect.never)
    return controls.fault === "store"
      ? new StoreError({ operation: `DeliveryStore.${operation}`, cause: new Error(secretOfTheStore) })
      : call
  })

const FaultyDeliveryStore = Layer.effect(
  DeliveryStore,
  Effect.gen(function* () {
    const store = yield* DeliveryStore
    const controls = yield* Controls
    return {
      ...store,
      find: (id) => faulty(controls, "find", store.find(id)),
      claim: (request) => faulty(controls, "claim", store.claim(request)),
      summary: (now) => faulty(controls, "summary", store.summary(now))
    }
  })
)

const FaultySettingStore = Layer.effect(
  SettingStore,
  Effect.gen(function* () {
    const store = yield* SettingStore
    const controls = yield* Controls
    return {
      ...store,
      getOrCreateSecret: (name, candidate) =>
        Effect.tap(store.getOrCreateSecret(name, candidate), () => controls.secretRead)
    }
  })
)

const FaultyHealth = Layer.effect(
  StoreHealth,
  Effect.gen(function* () {
    const controls = yield* Controls
    const probe = Effect.suspend(() => {
      controls.probes += 1
      const error = { operation: "StoreHealth.probe", cause: new Error(secretOfTheStore), reason: "read_only" } as const
      return controls.fault === "read_only" ? new StoreError(error) : Effect.yieldNow
    })
    return { ...(yield* StoreHealth), probe }
  })
)

const FaultyIntegrationStore = Layer.effect(
  IntegrationStore,
  Effect.gen(function* () {
    const store = yield* IntegrationStore
    const controls = yield* Controls
    const looked = <A>(operation: string, look: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> =>
      Effect.suspend(() => {
        const cause = new Error(secretOfTheStore)
        switch (controls.fault) {
          case "store":
            return new StoreError({ operation, cause })
          case "disk_full":
            return new StoreError({ operation, cause, reason: "disk_full" })
          case "unreadable":
            return new StoreError({ operation, cause, advice: "see what has changed it." })
          case "lost_answer":
            return new StoreError({ operation, cause, outcome: "unknown" })
          case "defect":
            return Effect.die(cause)
          default:
            return look
        }
      })
    return {
      ...store,
      find: (id) => looked("IntegrationStore.find", store.find(id)),
      findRef: (id) => looked("IntegrationStore.findRef", store.findRef(id)),
      update: (next, version) =>
        Effect.suspend(() => (controls.isHeld ? Effect.succeed(false) : store.update(next, version))),
      remove: (found) => Effect.suspend(() => (controls.isHeld ? Effect.succeed(false) : store.remove(found)))
    }
  })
)

const TestAbsence = Layer.effect(
  BuildingMoves.Absence,
  Effect.map(
    Controls,
    ({ moves }) =>
      (scope) =>
        BuildingMoves.absenceOf(moves, scope)
  )
)

const TestDirectory = Layer.effect(
  Directory,
  Effect.gen(function* () {
    const controls = yield* Controls
    const ask = (operation: string, answer: () => boolean) =>
      Effect.suspend(() =>
        controls.fault === "directory"
          ? new DirectoryError({ operation, cause: new Error(secretOfTheStore) })
          : Effect.sync(answer)
      )
    return {
      client: () => Effect.succeed(null),
      authenticate: (login, password) =>
        ask(
          "authenticate",
          () => users[login] !== undefined && Redacted.value(password) === `password of ${login}`
        ).pipe(Effect.map((isRight) => (isRight ? { id: UserId.make(login) } : null))),
      isActive: (user) => ask("isActive", () => users[user] !== undefined),
      administers: (user, id) =>
        ask("administers", () => !controls.withdrawn.has(user) && (users[user]?.buildings.includes(id) ?? false)),
      hasBuilding: (id) =>
        ask("hasBuilding", () => Object.values(users).some(({ buildings }) => buildings.includes(id))),
      isTenant: (user, id) => ask("isTenant", () => users[user]?.tenants.includes(id) ?? false),
      buildings: (user) =>
        Effect.succeed(
          (users[user]?.buildings ?? []).map((id) => ({
            id: BuildingId.make(id),
            name: `Building ${id}`,
            time_zone: "Europe/Berlin",
            access_points: [{ id: 10 * id + 1, name: "Front door" }]
          }))
        ),
      tenants: (user) =>
        Effect.succeed(
          (users[user]?.tenants ?? []).map((id) => ({
            id: TenantId.make(id),
            building_id: BuildingId.make(1),
            unit: id === 101 ? { id: 7, label: "4B" } : null
          }))
        )
    }
  })
)

const TestDispatcher = Layer.effect(
  Dispatcher,
  Effect.gen(function* () {
    const controls = yield* Controls
    const none = yield* Layer.build(Dispatcher.layerNone)
    return {
      ...Context.get(none, Dispatcher),
      status: Effect.sync(() => controls.status),
      forget: (id) => Effect.sync(() => controls.forgotten.push(id))
    }
  })
)

const TestPublisher = Layer.effect(
  Publisher,
  Effect.gen(function* () {
    const publisher = yield* Publisher
    const controls = yield* Controls
    return {
      publish: (events, request) =>
        Effect.suspend(() =>
          controls.fault === "busy"
            ? new PublisherBusy({ message: "64 MiB of events wait to be stored (setting waitingBytes)." })
            : publisher.publish(events, request)
        )
    }
  })
).pipe(Layer.provide(Publisher.layer))

const TestNames = Layer.effect(
  NameResolver,
  Effect.map(Controls, (controls) => ({
    addresses: (host) =>
      Effect.map(
        Effect.suspend(() => controls.lookup),
        () => controls.names.get(host) ?? []
      )
  }))
)

/** Accepts user names as access tokens, optionally followed by `~` and a client's name, like `admin~rival`. */
const TestAuthorization = Layer.effect(
  AuthorizationServer,
  Effect.gen(function* () {
    const authorization = yield* AuthorizationServer
    const controls = yield* Controls
    return {
      ...authorization,
      authenticate: (token) => {
        const [user = "", client = "client"] = token.split("~")
        return Effect.succeed(
          users[user] === undefined || controls.revoked.has(token)
            ? null
            : {
                user_id: UserId.make(user),
                client_id: ClientId.make(client),
                grant_id: GrantId.make(token),
                scopes: token === "narrow" ? ["doors:open"] : ["public"],
                expires_at: controls.expires_at
              }
        )
      }
    }
  })
).pipe(Layer.provide(AuthorizationServer.layer), Layer.provideMerge(Layer.orDie(AuthorizationSettings.layer())))

export interface TestServerOptions {
  readonly api?: Partial<ApiSettingsShape>
  readonly health?: Partial<HealthSettingsShape>
  readonly delivery?: DeliverySettingsOverrides
  readonly aliases?: Readonly<Record<string, ResourceType>>
  readonly texts?: TextsShape
}

/** Services that the routes need, except for the public URL. */
export const services = (
  options: TestServerOptions = {}
): Layer.Layer<Exclude<ServerServices, PublicUrl> | DeliveryStore | IntegrationStore | TokenStore | Controls> =>
  Layer.mergeAll(
    TestPublisher,
    Deliveries.layer,
    HostIntegrations.layer,
    OperatorIntegrations.layer,
    TestEvents.layer,
    ScopeReader.layer,
    Clients.layer,
    Grants.layer
  ).pipe(
    Layer.provideMerge(Subscriptions.layer.pipe(Layer.provideMerge(Feeds.layer))),
    Layer.provideMerge(Layer.merge(Integrations.layer, FeedHub.layer)),
    Layer.provide(Layer.succeed(ResourceTypeAliases, options.aliases ?? {})),
    Layer.provide(Layer.mergeAll(TestNames, WakeSignal.layerLocal, MemoryTransport.layer())),
    Layer.provideMerge(Layer.orDie(serviceKeyLayer)),
    Layer.provideMerge(Layer.orDie(DeliverySettings.layer(options.delivery))),
    Layer.provideMerge(
      Layer.mergeAll(
        TestAuthorization,
        TestDispatcher,
        Notifications.layer,
        OperatorKey.layer(Redacted.make(operatorKey)),
        ApiSettings.layer({ requestsPerMinute: null, ...options.api }),
        HealthSettings.layer(options.health),
        Layer.orDie(PageSecret.layer).pipe(Layer.provide(FaultySettingStore)),
        FaultyIntegrationStore,
        FaultySettingStore,
        FaultyHealth,
        FaultyDeliveryStore
      )
    ),
    Layer.provideMerge(Layer.mergeAll(MemoryStore.layer, TestDirectory, TestAbsence, Crypto.layerWebCrypto)),
    Layer.provideMerge(Controls.layer),
    Layer.fresh
  )

/** A listener on any free port. */
export const listener: Layer.Layer<Listener> = Layer.orDie(
  Listener.layer({ host: "127.0.0.1", port: 0, headersTimeout: 60_000, bodyTimeout: 20_000 })
)

/** The address of the server in the context. */
export const address: Effect.Effect<string, never, Listener> = Effect.map(Listener, ({ url }) => url)

/** A running server. Its address is in the `Listener` of the context. */
export const testServer = (options: TestServerOptions = {}) =>
  serve.pipe(
    Layer.provide(Layer.succeed(HostTexts, options.texts ?? {})),
    Layer.provide(PublicUrl.layerListening),
    Layer.provideMerge(services(options)),
    Layer.provideMerge(listener),
    Layer.fresh
  )

/** Declares a test on the test clock, with a running server. */
export const onServer = (
  name: string,
  body: () => Effect.fn.Return<void, unknown, Layer.Success<ReturnType<typeof testServer>> | Scope.Scope>,
  options?: TestServerOptions
) => it.effect(name, () => Effect.gen(body).pipe(Effect.provide(testServer(options))))

/** A response. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The value of the body; undefined if it is not JSON. */
  readonly json: unknown
  /** The value at a JSON Pointer in the body; undefined if there is none. */
  readonly at: (pointer: string) => unknown
  /** The text at a JSON Pointer; empty if there is none. */
  readonly textAt: (pointer: string) => string
}

/** The value at a JSON Pointer (RFC 6901). */
export const valueAt = (value: unknown, pointer: string): unknown =>
  pointer
    .split("/")
    .slice(1)
    .reduce<unknown>(
      (parent, name) =>
        Predicate.isObjectOrArray(parent) && Object.hasOwn(parent, name) ? Reflect.get(parent, name) : undefined,
      value
    )

/** Sends a request to the server of the context. `as` is an access token, and `body` a value to send as JSON. */
export const call = Effect.fnUntraced(function* (
  method: string,
  path: string,
  { as, body, ...init }: Omit<RequestInit, "body"> & { readonly as?: string; readonly body?: unknown } = {}
) {
  const { url: base } = yield* Listener
  const headers = new Headers(init.headers)
  if (as !== undefined) headers.set("authorization", `Bearer ${as}`)
  if (body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json")
  return yield* Effect.promise(async (): Promise<Reply> => {
    const response = await fetch(base + path, {
      ...init,
      method,
      headers,
      redirect: "manual",
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) })
    })
    const text = await response.text()
    const isJson = text !== "" && /json/.test(response.headers.get("content-type") ?? "")
    const json: unknown = isJson ? JSON.parse(text) : undefined
    const at = (pointer: string) => valueAt(json, pointer)
    const textAt = (pointer: string) => {
      const value = at(pointer)
      return Predicate.isString(value) ? value : ""
    }
    return { status: response.status, headers: response.headers, text, json, at, textAt }
  })
})

/** A document that creates an integration, with some attributes replaced. */
export const document = (attributes: object = {}) => ({
  data: {
    type: "integrations",
    attributes: {
      integrator: "webhook",
      configuration: { url: "https://receiver.example/hook", method: "post" },
      bindings: [{ resource_type: "access_log", actions: ["create"] }],
      ...attributes
    }
  }
})
