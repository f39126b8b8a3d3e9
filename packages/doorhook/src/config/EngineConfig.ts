/**
 * Settings of the engine, with the same names in `createDoorhook`, configuration files and flags.
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
  /** A URL of the operator. Notifications about integrations and the service are sent to it as webhooks. Default none. */
  notificationUrl: Schema.optional(Text),
  /**
   * The secret that requests to `notificationUrl` are signed with: `whsec_` and base64 of 24 bytes or more. Default: made at
   * the first start of `doorhook serve`, and printed once; `createDoorhook` needs it.
   */
  notificationSecret: Schema.optional(Text),
  /** How long settled deliveries and their events are kept, or `forever`. Default `90d`. */
  retention: Schema.optional(Text),
  /**
   * How long an integration may acknowledge nothing before it is disabled. It needs at least ten failed attempts. Default
   * `3d`.
   */
  disableAfter: Schema.optional(Text),
  /** The most integrations of one building or tenant, or `unlimited`. Default 100. */
  integrationsPerScope: Schema.optional(CountOrUnlimited),
  /**
   * Whether a client sees only the integrations that it created. If false, each client sees and changes all integrations of
   * its user's buildings and tenants, except for their signing secrets. Default false.
   */
  clientIsolation: Schema.optional(Schema.Boolean),
  /**
   * How long a process counts as alive after its last heartbeat. When it dies, other processes send its deliveries after
   * this time. Must be more than `ackTimeout` plus 5 s. Default `20s`.
   */
  lease: Schema.optional(Text),
  /**
   * Whether waiting retries are sent early when an integration acknowledges again after an outage of a minute or more.
   * Default true.
   */
  catchUp: Schema.optional(Schema.Boolean),
  /**
   * The most event data of deliveries that a process holds in memory, in bytes. Further deliveries wait in the database.
   * Default 33554432 (32 MiB).
   */
  queueBytes: Schema.optional(Schema.Number),
  /**
   * The most event data of publications that wait to be stored, in bytes. Beyond that, a call waits up to 5 s and is then
   * refused. Default 67108864 (64 MiB).
   */
  waitingBytes: Schema.optional(Schema.Number),
  /**
   * How long PostgreSQL may take for a statement, which it cancels after that. When PostgreSQL does not respond at all,
   * calls fail a second later and their connections are closed. Default `15s`.
   */
  databaseTimeout: Schema.optional(Text),
  /**
   * How long a process that hears no wake signal waits before it looks for due deliveries; it may be minutes where PostgreSQL
   * passes signals on. Default `1s`.
   */
  pollInterval: Schema.optional(Text),
  /**
   * The service's address as clients see it: the issuer of tokens, and the base of links. Default: the address that
   * `doorhook serve` listens on. When embedded, the address of the first request to `doorhook.node` or `doorhook.fastify`,
   * and `http://localhost:4000` before it. `doorhook.fetch` can't learn the address, so set it there.
   */
  publicUrl: Schema.optional(Text),
  /** The key of the operator API: 32 characters or more. Default: made at the first start and kept in the database. */
  operatorKey: Schema.optional(Text),
  /**
   * Encrypts signing secrets and the secret behind portal links in the database: 32 characters or more, kept apart from the
   * database. Default: these secrets are stored readable, and a warning is logged.
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
 * The engine's settings as people write them. All are optional, and undefined counts as not given. The type names both
 * lists of fields, because emitted declarations lose the comments of spread fields.
 */
export const EngineConfig: Schema.Struct<typeof engineFields & typeof surfaceFields> = Schema.Struct({
  ...engineFields,
  ...surfaceFields
})
export type EngineConfig = typeof EngineConfig.Type

/** Fails for an invalid public URL. `PublicUrl` itself decides what is valid. */
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

/** The resource types of a service: the built-in ones and those of its configuration. */
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
      // A schedule of the host's own leaves the lifetime as it is: a call that rings too late is still unwelcome.
      { delays: millis, lifetime: definition.retry.lifetime }
    ]
  )
}

/** The forward proxy that a configuration names, or null. */
export const egressProxyOf = ({
  noProxy = [],
  proxy
}: EngineConfig): Result.Result<EgressProxy.EgressProxy | null, InvalidConfig> =>
  proxy === undefined
    ? Result.succeed(null)
    : Result.mapError(
        EgressProxy.parse({ url: proxy, noProxy }),
        // Messages about the exceptions begin with `noProxy`.
        ({ message, option }) => new InvalidConfig({ message: option === "noProxy" ? message : `proxy: ${message}` })
      )

/** The beginning of a URL. A single letter would be a Windows drive. */
const scheme = /^([a-z][a-z0-9+.-]+):/i

/** A name that can't be a file: empty, or ending like a folder. */
const noFile = /^\s*$|[/\\]$/

/**
 * Refuses URLs of other databases, which would become files of that name. The error names only the scheme, because the rest
 * may hold a password.
 */
export const databaseOf = ({ database }: EngineConfig): Result.Result<string | undefined, InvalidConfig> => {
  if (database === undefined) return Result.succeed(database)
  const [, kind] = scheme.exec(database) ?? []
  if (kind === "postgres" || kind === "postgresql") return Result.succeed(database)
  if (kind !== undefined) {
    return invalid(`database: ${kind} databases cannot be used; give a file, postgres://..., or memory`)
  }
  // Other libraries' name for a database in memory. A file of this name would surprise: people expect nothing to be stored.
  if (database === ":memory:") return invalid('database: ":memory:" is no file; for a database in memory give memory')
  return noFile.test(database)
    ? invalid(`database: must be a file, postgres://..., or memory, not ${nameOf(database)}`)
    : Result.succeed(database)
}

/** How long PostgreSQL may take for a statement, in milliseconds; undefined for the default. */
export const databaseTimeoutOf = ({
  databaseTimeout
}: EngineConfig): Result.Result<number | undefined, InvalidConfig> => parseTimeout("databaseTimeout", databaseTimeout)

/** The value of a setting; undefined when it is not given or invalid. Invalid settings are reported separately. */
const usable = <A>(read: Result.Result<A | undefined, InvalidConfig>): A | undefined =>
  Result.getOrElse(read, () => undefined)

/** The delivery settings that a configuration changes. The valid ones are also checked against each other. */
export const deliveryOverrides = (config: EngineConfig): Result.Result<DeliverySettingsOverrides, InvalidConfig> => {
  const declared = resourceTypesOf(config)
  const types = usable(declared) ?? builtInTable
  // Schedules of types with an invalid declaration are not checked.
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
  // The lease is compared with `ackTimeout`, so it can't be checked when that is invalid.
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
