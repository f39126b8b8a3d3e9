/**
 * What can be set about the engine, by `createDoorhook`, by a configuration file, or by flags: one list of names.
 */
import type { DeliverySettingsOverrides, ResourceTypeTable, RetryPolicy } from "@doorhook/core"
import {
  builtInTable,
  declareTypes,
  deliverySettingsOf,
  nameOf,
  namesIn,
  ResourceTypeDeclaration,
  signings
} from "@doorhook/core"
import { EgressProxy } from "@doorhook/node"
import { PublicUrl } from "@doorhook/server"
import { Effect, Exit, Layer, Result, Schema } from "effect"
import {
  collect,
  collectAll,
  invalid,
  asConfig,
  InvalidConfig,
  parseDuration,
  parseNetworks,
  parseOptional,
  parseSpan,
  parseTimeout
} from "./ReadingSettings.ts"
import { CountOrUnlimited, limitOf, surfaceFields } from "./SurfaceConfig.ts"

const Text = Schema.String
const Texts = Schema.Array(Text)

const engineFields = {
  /** A SQLite file, `memory`, or `postgres://...`. Its URL may hold a password: prefer the variable. Default `doorhook.db`. */
  database: Schema.optional(Text),
  /** Special-purpose networks that integrations may point at, like `10.0.0.0/8` or `127.0.0.1`. Default none. */
  allowTargets: Schema.optional(Texts),
  /**
   * Delays between attempts by resource type, like `{ access_log: ["5s", "30s"] }`. An empty list is no retry. Default:
   * `access_log` 5s, 30s, 2m, 10m, 30m, 2h, 6h, 12h, 1d, 1d; `call` 1s, 3s, 8s.
   */
  retry: Schema.optional(Schema.Record(Text, Texts)),
  /**
   * Resource types beside `call` and `access_log`, like `{ door_forced: { priority: "high", retry: ["1s", "5s"] } }`: each with
   * `actions` (default `["create"]`), `retry` (default as `access_log`), `lifetime` (default none) and `priority` (`high`
   * overtakes `normal`, the default). Default none.
   */
  resourceTypes: Schema.optional(Schema.Record(Text, ResourceTypeDeclaration)),
  /** How long a receiver has to acknowledge. Default `5s`. */
  ackTimeout: Schema.optional(Text),
  /**
   * What requests are signed with: `hmac`, the integration's secret; `ed25519`, the service's key, whose public key is at
   * `GET /v4/webhook_keys`; `both`; or `off`. Default `hmac`.
   */
  signing: Schema.optional(Schema.Literals(signings)),
  /** A URL of the operator that gets the notifications about integrations and the service, as webhooks. Default none. */
  notificationUrl: Schema.optional(Text),
  /**
   * The secret that requests to `notificationUrl` are signed with: `whsec_` and base64 of 24 bytes or more. Default: made at
   * the first start of `doorhook serve`, and printed once; `createDoorhook` needs it.
   */
  notificationSecret: Schema.optional(Text),
  /** How long settled deliveries and their events are kept, or `forever`. Default `90d`. */
  retention: Schema.optional(Text),
  /**
   * For how long an integration may acknowledge nothing before it is disabled; it is not disabled before its tenth failed
   * attempt. Default `3d`.
   */
  disableAfter: Schema.optional(Text),
  /** The most integrations of one building or tenant, or `unlimited`. Default 100. */
  integrationsPerScope: Schema.optional(CountOrUnlimited),
  /**
   * Whether clients see only the integrations that they created. Off, each client sees and changes all integrations of what its
   * user administers or is, except for their signing secrets. Default false.
   */
  clientIsolation: Schema.optional(Schema.Boolean),
  /**
   * How long a process counts as alive after its last heartbeat: when it dies, others send what it held after that. More than
   * `ackTimeout` and 5 s. Default `20s`.
   */
  lease: Schema.optional(Text),
  /**
   * Whether an integration that acknowledges again after an outage of a minute or more is sent its waiting retries early.
   * Default true.
   */
  catchUp: Schema.optional(Schema.Boolean),
  /**
   * The most event data of deliveries that a process holds in memory, in bytes; beyond that, deliveries wait in the database.
   * Default 33554432 (32 MiB).
   */
  queueBytes: Schema.optional(Schema.Number),
  /**
   * The most event data of publications that wait to be stored, in bytes; beyond that, a call waits up to 5 s and is then
   * refused. Default 67108864 (64 MiB).
   */
  waitingBytes: Schema.optional(Schema.Number),
  /**
   * How long PostgreSQL may take for a statement. It cancels what takes longer; when it says nothing at all, calls fail a
   * second later and its connections are given up. Default `15s`.
   */
  databaseTimeout: Schema.optional(Text),
  /**
   * How long a process that hears no wake signal waits before it looks for due deliveries; it may be minutes where PostgreSQL
   * passes signals on. Default `1s`.
   */
  pollInterval: Schema.optional(Text),
  /**
   * Where the service is reached from outside: the issuer of tokens, and the base of links. Default: the address that
   * `doorhook serve` listens on; when embedded, where the first request of `doorhook.node` or `doorhook.fastify` came in, and
   * `http://localhost:4000` before. `doorhook.fetch` learns no address: set it there.
   */
  publicUrl: Schema.optional(Text),
  /** The key of the operator API: 32 characters or more. Default: made at the first start and kept in the database. */
  operatorKey: Schema.optional(Text),
  /**
   * Encrypts signing secrets and the secret behind portal links in the database: 32 characters or more, kept apart from it.
   * Default: they are kept readable, and a warning says so.
   */
  encryptionKey: Schema.optional(Text),
  /**
   * A forward proxy that deliveries go out through, like `http://proxy.internal:3128`. Its URL may hold a password: prefer the
   * variable. Default none.
   */
  proxy: Schema.optional(Text),
  /** Hosts and networks that are reached without the proxy. Default none. */
  noProxy: Schema.optional(Texts),
  /** A file of certificates in PEM: authorities of receivers' certificates, beside the public ones. Read at the start. Default none. */
  caFile: Schema.optional(Text)
} as const

/**
 * Settings of the engine as a person writes them. All are optional; one that is undefined counts as not given. The type names
 * both lists of fields, because declarations keep no comments of fields that are spread.
 */
export const EngineConfig: Schema.Struct<typeof engineFields & typeof surfaceFields> = Schema.Struct({
  ...engineFields,
  ...surfaceFields
})
export type EngineConfig = typeof EngineConfig.Type

/** Fails when the public URL can't be one. Asks the one who knows what a public URL is. */
export const publicUrlOf = ({ publicUrl: url }: EngineConfig): Result.Result<unknown, InvalidConfig> =>
  url === undefined || Exit.isSuccess(Effect.runSyncExit(Effect.scoped(Layer.build(PublicUrl.layer(url)))))
    ? Result.succeed(url)
    : invalid(`publicUrl: must be an http or https URL without a query, like https://doors.example, not ${nameOf(url)}`)

const parseRetention = (text: string | undefined): Result.Result<number | null | undefined, InvalidConfig> =>
  text === "forever"
    ? Result.succeed(null)
    : Result.mapError(
        parseSpan("retention", text),
        ({ message }) => new InvalidConfig({ message: `${message}, or forever` })
      )

/** The resource types of a service: the built-in ones and those that its configuration declares. */
export const resourceTypesOf = ({
  doorReleaseAlias = false,
  resourceTypes = {}
}: EngineConfig): Result.Result<ResourceTypeTable, InvalidConfig> => {
  const declared = Result.mapError(declareTypes(resourceTypes), asConfig)
  if (!doorReleaseAlias || !Object.hasOwn(resourceTypes, "door_release")) return declared
  const clash = invalid(
    'resourceTypes: "door_release" means access_log while doorReleaseAlias is on; rename it, or leave doorReleaseAlias out'
  )
  return Result.map(collect({ declared, clash }), ({ declared: types }) => types)
}

const parseRetry = (
  types: ResourceTypeTable,
  type: string,
  delays: ReadonlyArray<string>
): Result.Result<[string, RetryPolicy.RetryPolicy], InvalidConfig> => {
  const definition = types.get(type)
  if (definition === undefined) {
    return invalid(`retry: ${JSON.stringify(type)} is no resource type; there are ${namesIn(types, "and")}`)
  }
  return Result.map(
    collectAll(delays.map((delay) => parseDuration(`retry.${type}`, delay))),
    (millis): [string, RetryPolicy.RetryPolicy] => [
      type,
      // A schedule of one's own does not make a late ring welcome: the lifetime stays.
      { delays: millis, lifetime: definition.retry.lifetime }
    ]
  )
}

/** The forward proxy that a configuration names; null for none. */
export const egressProxyOf = ({
  noProxy = [],
  proxy
}: EngineConfig): Result.Result<EgressProxy.EgressProxy | null, InvalidConfig> =>
  proxy === undefined
    ? Result.succeed(null)
    : Result.mapError(
        EgressProxy.parse({ url: proxy, noProxy }),
        // What is wrong with the exceptions begins with their name.
        ({ message, option }) => new InvalidConfig({ message: option === "noProxy" ? message : `proxy: ${message}` })
      )

/** What begins a URL. One letter would be a drive. */
const scheme = /^([a-z][a-z0-9+.-]+):/i

/** What can be nothing but the name of a folder, or of nothing. */
const noFile = /^\s*$|[/\\]$/

/** A URL of another database must not become a file of that name. The error has its kind only: the rest may hold a password. */
export const databaseOf = ({ database }: EngineConfig): Result.Result<string | undefined, InvalidConfig> => {
  if (database === undefined) return Result.succeed(database)
  const [, kind] = scheme.exec(database) ?? []
  if (kind === "postgres" || kind === "postgresql") return Result.succeed(database)
  if (kind !== undefined) {
    return invalid(`database: ${kind} databases cannot be used; give a file, postgres://..., or memory`)
  }
  // What other libraries call it. A file of that name would keep what nobody expects to be kept, and lose what is.
  if (database === ":memory:") return invalid('database: ":memory:" is no file; for a database in memory give memory')
  return noFile.test(database)
    ? invalid(`database: must be a file, postgres://..., or memory, not ${nameOf(database)}`)
    : Result.succeed(database)
}

/** How long PostgreSQL may take for a statement, in milliseconds; undefined for the default. */
export const databaseTimeoutOf = ({
  databaseTimeout
}: EngineConfig): Result.Result<number | undefined, InvalidConfig> => parseTimeout("databaseTimeout", databaseTimeout)

/** What was read of a setting; undefined where it was not given, or is told as a problem by itself. */
const usable = <A>(read: Result.Result<A | undefined, InvalidConfig>): A | undefined =>
  Result.getOrElse(read, () => undefined)

/** The delivery settings that a configuration changes. All that can be read of them must fit together. */
export const deliveryOverrides = (config: EngineConfig): Result.Result<DeliverySettingsOverrides, InvalidConfig> => {
  const declared = resourceTypesOf(config)
  const types = usable(declared) ?? builtInTable
  // Schedules of types whose declarations can't be used are not judged.
  const schedules = Object.entries(config.retry ?? {}).filter(
    ([type]) => Result.isSuccess(declared) || !Object.hasOwn(config.resourceTypes ?? {}, type)
  )
  const read = {
    declared,
    allow: parseNetworks("allowTargets", config.allowTargets),
    retry: collectAll(schedules.map(([type, delays]) => parseRetry(types, type, delays))),
    ackTimeout: parseSpan("ackTimeout", config.ackTimeout),
    disableAfter: parseSpan("disableAfter", config.disableAfter),
    retention: parseRetention(config.retention),
    lease: parseOptional("lease", config.lease),
    pollInterval: parseSpan("pollInterval", config.pollInterval)
  }
  const ackTimeout = usable(read.ackTimeout)
  const disableAfter = usable(read.disableAfter)
  const retention = usable(read.retention)
  // Too long or too short for what? That can't be said.
  const lease = Result.isFailure(read.ackTimeout) ? undefined : usable(read.lease)
  const pollInterval = usable(read.pollInterval)
  const overrides = {
    allow: usable(read.allow) ?? [],
    ...(config.signing !== undefined && { signing: config.signing }),
    ...(config.catchUp !== undefined && { catchUp: config.catchUp }),
    ...(config.clientIsolation !== undefined && { clientIsolation: config.clientIsolation }),
    ...(config.queueBytes !== undefined && { queueBytes: config.queueBytes }),
    ...(config.waitingBytes !== undefined && { waitingBytes: config.waitingBytes }),
    ...(config.integrationsPerScope !== undefined && {
      integrationsPerScope: limitOf(config.integrationsPerScope)
    }),
    ...(ackTimeout !== undefined && { ackTimeout }),
    ...(disableAfter !== undefined && { disableAfter }),
    ...(retention !== undefined && { retention }),
    ...(lease !== undefined && { lease }),
    ...(pollInterval !== undefined && { pollInterval }),
    retry: Object.fromEntries(usable(read.retry) ?? [])
  }
  const fits = Result.mapError(deliverySettingsOf(overrides, types), asConfig)
  return Result.map(collect({ ...read, fits }), () => overrides)
}
