/**
 * Settings of the engine, with the same names in `createDoorhook`, configuration files and flags.
 */
import type { DeliverySettingsOverrides, ResourceTypeTable, RetryPolicy } from "@doorhook/core"
import {
  builtInTable,
  CheckMode,
  declareTypes,
  deliverySettingsOf,
  nameOf,
  namesIn,
  ResourceTypeDeclaration,
  signings
} from "@doorhook/core"
import { EgressProxy } from "@doorhook/node"
import { PublicUrl } from "@doorhook/server"
import { PostgresUrl } from "@doorhook/sql"
import { Effect, Exit, Layer, Result, Schema, Struct } from "effect"
import {
  collect,
  collectAll,
  givenOf,
  invalid,
  asConfig,
  InvalidConfig,
  parseDuration,
  parseNetworks,
  parseOptional,
  parseSpan,
  parseTimeout
} from "./ReadingSettings.ts"
import { DetailSetting } from "./DetailLimits.ts"
import { CountOrUnlimited, limitOf, surfaceFields } from "./SurfaceConfig.ts"

const Text = Schema.String
const Texts = Schema.Array(Text)

const engineFields = {
  /**
   * A SQLite file, `memory`, or `postgres://...`. If the URL contains a password, prefer the environment variable.
   * Default `doorhook.db`.
   */
  database: Schema.optional(Text),
  /**
   * PostgreSQL database, `postgres://...`, of the clients, grants, tokens and keys that several cells share. Default: those
   * in `database`.
   */
  authorizationDatabase: Schema.optional(Text),
  /** Special-purpose networks that integrations may point at, like `10.0.0.0/8` or `127.0.0.1`. Default none. */
  allowTargets: Schema.optional(Texts),
  /**
   * Delays between attempts by resource type, like `{ access_log: ["5s", "30s"] }`. An empty list means no retry.
   * Default: `access_log` 5s, 30s, 2m, 10m, 30m, 2h, 6h, 12h, 1d, 1d; `call` 1s, 3s, 8s.
   */
  retry: Schema.optional(Schema.Record(Text, Texts)),
  /**
   * Resource types in addition to `call` and `access_log`, like `{ door_forced: { priority: "high", retry: ["1s", "5s"]
   * } }`. Each has `actions` (default `["create"]`), `retry` (default: that of `access_log`), `lifetime` (default none)
   * and `priority` (`high` overtakes `normal`, the default), and words for people and receivers: `title`, `description`,
   * `example`, `summary`, `schema` (JSON Schema of the data), `personal` (members that redacted events don't contain).
   * Those of the built-in types can be replaced. Default none.
   */
  resourceTypes: Schema.optional(Schema.Record(Text, ResourceTypeDeclaration)),
  /**
   * Whether there is the resource type `call_end`. Publishing one, with the `data.id` of a call as `data.call_id`,
   * cancels the deliveries of the call that still wait. Default false.
   */
  callEnd: Schema.optional(Schema.Boolean),
  /**
   * Whether published data is compared with the schema of its type: `off`, `warn` (logs what doesn't fit, and publishes
   * it) or `refuse`. A type's own `check` has precedence. Events published in SQL are not refused. Default `off`.
   */
  check: Schema.optional(CheckMode),
  /**
   * Whether this process delivers. If false, it accepts requests and events, and other processes on the same PostgreSQL
   * database deliver and apply `retention`. `doorhook worker` always delivers. Default true.
   */
  deliver: Schema.optional(Schema.Boolean),
  /**
   * The most that a client may get of the data of a resource type: `full`, `redacted` or `thin`, for all or by client and
   * type, like `{ "clients": { "acme": "thin" }, "types": { "access_log": "redacted" } }`. Applies to webhooks and to
   * everything that the client reads. Default: `full` for all.
   */
  maxDetail: Schema.optional(DetailSetting),
  /** How long a receiver has to acknowledge. Default `5s`. */
  ackTimeout: Schema.optional(Text),
  /**
   * How requests are signed: `hmac` (with the integration's secret), `ed25519` (with the service's key, whose public
   * key is at `GET /v4/webhook_keys`), `both` or `off`. Default `hmac`.
   */
  signing: Schema.optional(Schema.Literals(signings)),
  /** URL to which notifications about integrations and the service are sent as webhooks. Default none. */
  notificationUrl: Schema.optional(Text),
  /**
   * Secret for signing requests to `notificationUrl`: `whsec_` and base64 of 24 bytes or more. Default: generated at
   * the first start of `doorhook serve` and printed once; `createDoorhook` has no default.
   */
  notificationSecret: Schema.optional(Text),
  /** How long settled deliveries and their events are kept, or `forever`. Default `90d`. */
  retention: Schema.optional(Text),
  /** How long an integration may fail before it is disabled. At least ten attempts must have failed. Default `3d`. */
  disableAfter: Schema.optional(Text),
  /** Maximum number of integrations of one building or tenant, and of its subscriptions, or `unlimited`. Default 100. */
  integrationsPerScope: Schema.optional(CountOrUnlimited),
  /**
   * Whether a client sees only the integrations that it created. If false, each client sees and changes all integrations of
   * its user's buildings and tenants, except for their signing secrets. Default false.
   */
  clientIsolation: Schema.optional(Schema.Boolean),
  /**
   * How long a process counts as alive after its last heartbeat. When a process dies, other processes send its
   * deliveries after this time. Must be at least `ackTimeout` plus 5.1 s. Default `20s`.
   */
  lease: Schema.optional(Text),
  /**
   * Whether waiting retries are sent early when an integration acknowledges again after an outage of a minute or more.
   * Default true.
   */
  catchUp: Schema.optional(Schema.Boolean),
  /**
   * Maximum size of the event data that a process has in memory for delivery, in bytes. Further deliveries wait in
   * the database. Default 33554432 (32 MiB).
   */
  queueBytes: Schema.optional(Schema.Number),
  /**
   * Maximum size of the event data waiting to be stored, in bytes. An eighth of it is only for calls with an urgent event.
   * A call that does not fit waits for up to 5 s and is then refused. Default 67108864 (64 MiB).
   */
  waitingBytes: Schema.optional(Schema.Number),
  /**
   * How long a PostgreSQL statement may take before it is cancelled. If PostgreSQL does not respond at all, the call
   * fails a second later and its connection is closed. Default `15s`.
   */
  databaseTimeout: Schema.optional(Text),
  /**
   * Number of unreadable frames at the end of a SQLite file's damaged log that may be lost, exactly as the refused start
   * reports it. Default none.
   */
  acceptLostFrames: Schema.optional(Schema.Number),
  /**
   * How long a process waits for a wake signal before it looks for due deliveries anyway. Minutes are fine if
   * PostgreSQL forwards the signals. Default `1s`.
   */
  pollInterval: Schema.optional(Text),
  /**
   * The service's address as clients see it: the issuer of tokens, and the base of links. Default: the address that
   * `doorhook serve` listens on. When embedded, the address of the first request to `doorhook.node` or
   * `doorhook.fastify`, and `http://localhost:4000` before that. Always set it with `doorhook.fetch`, which can't infer
   * the address.
   */
  publicUrl: Schema.optional(Text),
  /**
   * The key of the operator API: 32 characters or more. Default: generated at the first start and stored in the
   * database.
   */
  operatorKey: Schema.optional(Text),
  /**
   * Key that encrypts signing secrets and the portal secret in the database: 32 characters or more. Keep it apart from
   * the database. Default: these secrets are stored unencrypted, and a warning is logged.
   */
  encryptionKey: Schema.optional(Text),
  /**
   * Forward proxy for deliveries, like `http://proxy.internal:3128`. If the URL contains a password, prefer the
   * environment variable. Default none.
   */
  proxy: Schema.optional(Text),
  /** Hosts and networks that are reached without the proxy. Default none. */
  noProxy: Schema.optional(Texts),
  /**
   * PEM file of certificate authorities to trust for receivers, in addition to the public ones. Read at the start.
   * Default none.
   */
  caFile: Schema.optional(Text)
} as const

/**
 * The engine's settings as users write them. All are optional, and undefined counts as not given. The type annotation
 * keeps the fields' comments in the emitted declarations.
 */
export const EngineConfig: Schema.Struct<typeof engineFields & typeof surfaceFields> = Schema.Struct({
  ...engineFields,
  ...surfaceFields
})
export type EngineConfig = typeof EngineConfig.Type

/** Fails if `PublicUrl` rejects the public URL. */
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

/** Returns the resource types of a service: the built-in and the configured ones. */
export const resourceTypesOf = ({
  callEnd = false,
  check,
  doorReleaseAlias = false,
  resourceTypes = {}
}: EngineConfig): Result.Result<ResourceTypeTable, InvalidConfig> => {
  const declared = Result.mapError(
    declareTypes(resourceTypes, { hasCallEnd: callEnd, ...(check !== undefined && { check }) }),
    asConfig
  )
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
    return invalid(`retry: ${JSON.stringify(type)} is not a resource type; use ${namesIn(types, "or")}`)
  }
  return Result.map(
    collectAll(delays.map((delay) => parseDuration(`retry.${type}`, delay))),
    (millis): [string, RetryPolicy.RetryPolicy] => [
      type,
      // A custom schedule keeps the type's lifetime: a call that is delivered late is still useless.
      { delays: millis, lifetime: definition.retry.lifetime }
    ]
  )
}

/** Returns the configured forward proxy, or null. */
export const egressProxyOf = ({
  noProxy = [],
  proxy
}: EngineConfig): Result.Result<EgressProxy.EgressProxy | null, InvalidConfig> =>
  proxy === undefined
    ? Result.succeed(null)
    : Result.mapError(
        EgressProxy.parse({ url: proxy, noProxy }),
        // Messages about the setting `noProxy` already begin with its name.
        ({ message, option }) => new InvalidConfig({ message: option === "noProxy" ? message : `proxy: ${message}` })
      )

/** Scheme of a URL: at least two letters, because a single letter is a Windows drive. */
const scheme = /^([a-z][a-z0-9+.-]+):/i

/** A path that can't be a file: empty, or with a slash at the end. */
const noFile = /^\s*$|[/\\]$/

/**
 * Reads the database setting. Refuses URLs of other databases, which would otherwise be taken for file names. The error
 * names only the scheme, because the rest might contain a password.
 */
export const databaseOf = ({ database }: EngineConfig): Result.Result<string | undefined, InvalidConfig> => {
  if (database === undefined) return Result.succeed(database)
  const [, kind] = scheme.exec(database) ?? []
  if (kind === "postgres" || kind === "postgresql") return postgresOf("database", database)
  if (kind !== undefined) {
    return invalid(`database: ${kind} databases cannot be used; give a file, postgres://..., or memory`)
  }
  // SQLite's own name for a database in memory. A file with this name would surprise users, who expect that nothing is
  // stored.
  if (database === ":memory:")
    return invalid('database: ":memory:" is not a file; for a database in memory, give memory')
  return noFile.test(database)
    ? invalid(`database: must be a file, postgres://..., or memory, not ${nameOf(database)}`)
    : Result.succeed(database)
}

const postgresOf = (setting: string, url: string): Result.Result<string, InvalidConfig> =>
  Result.mapBoth(PostgresUrl.parse(url), {
    onSuccess: () => url,
    onFailure: ({ problems }) =>
      new InvalidConfig({ message: problems.map((problem) => `${setting}: ${problem}`).join("; ") })
  })

/** Reads the URL of the shared clients and tokens. */
export const authorizationDatabaseOf = ({
  authorizationDatabase: url
}: EngineConfig): Result.Result<string | undefined, InvalidConfig> => {
  if (url === undefined) return Result.succeed(url)
  return /^postgres(ql)?:/.test(url)
    ? postgresOf("authorizationDatabase", url)
    : invalid(`authorizationDatabase: must be postgres://..., not ${nameOf(scheme.exec(url)?.[1] ?? url)}`)
}

/** Returns how long a PostgreSQL statement may take, in milliseconds; undefined for the default. */
export const databaseTimeoutOf = ({
  databaseTimeout
}: EngineConfig): Result.Result<number | undefined, InvalidConfig> => parseTimeout("databaseTimeout", databaseTimeout)

/** Returns the number of frames of a damaged log that may be lost; undefined for none. */
export const acceptLostFramesOf = ({
  acceptLostFrames: frames
}: EngineConfig): Result.Result<number | undefined, InvalidConfig> =>
  frames === undefined || (Number.isSafeInteger(frames) && frames > 0)
    ? Result.succeed(frames)
    : invalid(`acceptLostFrames: must be a whole number of 1 or more, not ${frames}`)

/**
 * Returns the value of a setting; undefined if the setting is not given or is invalid. Invalid settings are reported
 * separately.
 */
const usable = <A>(read: Result.Result<A | undefined, InvalidConfig>): A | undefined =>
  Result.getOrElse(read, () => undefined)

/** Returns the delivery settings that a configuration changes. Valid settings are also checked against each other. */
export const deliveryOverrides = (config: EngineConfig): Result.Result<DeliverySettingsOverrides, InvalidConfig> => {
  const declared = resourceTypesOf(config)
  const types = usable(declared) ?? builtInTable
  // If a declaration is invalid, the schedules of declared types are not checked.
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
  // The lease is compared with `ackTimeout`, so it can't be checked if `ackTimeout` is invalid.
  const lease = Result.isFailure(read.ackTimeout) ? undefined : usable(read.lease)
  const pollInterval = usable(read.pollInterval)
  const overrides = {
    allow: usable(read.allow) ?? [],
    ...givenOf(Struct.pick(config, ["signing", "catchUp", "clientIsolation", "queueBytes", "waitingBytes"])),
    ...(config.integrationsPerScope !== undefined && {
      integrationsPerScope: limitOf(config.integrationsPerScope)
    }),
    ...givenOf({ ackTimeout, disableAfter, retention, lease, pollInterval }),
    retry: Object.fromEntries(usable(read.retry) ?? [])
  }
  const fits = Result.mapError(deliverySettingsOf(overrides, types), asConfig)
  return Result.map(collect({ ...read, fits }), () => overrides)
}
