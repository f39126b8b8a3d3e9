/**
 * What can be set about the engine, by `createDoorhook`, by a configuration file, or by flags: one list of names.
 */
import type { AuthorizationSettingsShape, DeliverySettingsShape, RetryPolicy } from "@doorhook/core"
import { AddressPolicy, defaultDeliverySettings, DurationText, ResourceType, resourceTypeNames } from "@doorhook/core"
import { EgressProxy } from "@doorhook/node"
import type { ApiSettingsShape } from "@doorhook/server"
import { Option, Predicate, Result, Schema, SchemaIssue } from "effect"

/** A setting that can't be used; the message says which and what is accepted. */
export class InvalidConfig extends Schema.TaggedError<InvalidConfig>()("InvalidConfig", { message: Schema.String }) {}

const Text = Schema.String.annotate({ expected: "a text" })
const Texts = Schema.Array(Text)

/** Settings of the engine as a person writes them. All are optional; one that is undefined counts as not given. */
export const EngineConfig = Schema.Struct({
  /** A SQLite file, `memory`, or `postgres://...`. Default `doorhook.db`. */
  database: Schema.optional(Text),
  /** Special-purpose networks that integrations may point at, like `10.0.0.0/8` or `127.0.0.1`. Default none. */
  allowTargets: Schema.optional(Texts),
  /** Delays between attempts by resource type, like `{ access_log: ["5s", "30s"] }`. An empty list is no retry. */
  retry: Schema.optional(Schema.Record(Schema.String, Texts)),
  /** How long a receiver has to acknowledge. Default `5s`. */
  ackTimeout: Schema.optional(Text),
  /** Whether requests are signed. Default true. */
  sign: Schema.optional(Schema.Boolean),
  /** How long settled deliveries and their events are kept, or `forever`. Default `90d`. */
  retention: Schema.optional(Text),
  /** For how long an integration may acknowledge nothing before it is disabled. Default `3d`. */
  disableAfter: Schema.optional(Text),
  /** The networks that deliveries come from, told to receivers that filter by address. Default none. */
  webhookSources: Schema.optional(Texts),
  /** How long a process holds a delivery; when it dies, others take over after that. Default `20s`. */
  lease: Schema.optional(Text),
  /** How long a process that hears no wake signal waits before it looks for due deliveries. Default `1s`. */
  pollInterval: Schema.optional(Text),
  /**
   * Where the service is reached from outside: the issuer of tokens, and the base of links. Default: the address that
   * `doorhook serve` listens on; `http://localhost:4000` when embedded.
   */
  publicUrl: Schema.optional(Text),
  /** The key of the operator API. Default: made at the first start and kept in the database. */
  operatorKey: Schema.optional(Text),
  /** Encrypts signing secrets in the database. Default: they are kept readable. */
  encryptionKey: Schema.optional(Text),
  /** A forward proxy that deliveries go out through, like `http://proxy.internal:3128`. Default none. */
  proxy: Schema.optional(Text),
  /** Hosts and networks that are reached without the proxy. Default none. */
  noProxy: Schema.optional(Texts),
  /** Whether a client that has a secret must send it to refresh. Default false. */
  refreshRequiresSecret: Schema.optional(Schema.Boolean),
  /** Whose refresh tokens rotate. Default `public`: those of clients without a secret. */
  refreshRotation: Schema.optional(Schema.Literals(["never", "public", "always"])),
  /** What a scope other than `public` is: an error, or left out of what is granted. Default `refuse`. */
  unknownScope: Schema.optional(Schema.Literals(["refuse", "ignore"]))
})
export type EngineConfig = typeof EngineConfig.Type

const explain = SchemaIssue.makeFormatterStandardSchemaV1()

/**
 * Reads settings given by people: names must be known, and every problem is told at once. Names may also be written as
 * flags write them (`allow-target`) or as tables do (`allow_targets`).
 */
export const readConfig = <F extends Schema.Struct.Fields>(
  schema: Schema.Struct<F> & { readonly DecodingServices: never },
  given: unknown
): Result.Result<Schema.Struct<F>["Type"], InvalidConfig> => {
  if (!Predicate.isObject(given) || Array.isArray(given)) return invalid("the settings must be an object")
  const names = Object.keys(schema.fields)
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, "")
  const canonical = (name: string): string =>
    names.find((known) => plain(known) === plain(name) || plain(known) === `${plain(name)}s`) ?? name
  const named = Object.fromEntries(Object.entries(given).map(([name, value]) => [canonical(name), value]))
  const unknown = Object.keys(named).filter((name) => !names.includes(name))
  const unknownText = `${unknown.join(", ")}: no such setting; there are ${names.join(", ")}`
  const decoded = Schema.decodeUnknownResult(schema)(named, { errors: "all" })
  const problems = [
    ...(unknown.length > 0 ? [unknownText] : []),
    ...Result.match(decoded, {
      onSuccess: () => [],
      onFailure: ({ issue }) =>
        explain(issue).issues.map(({ message, path }) => `${(path ?? []).map(String).join(".")}: ${message}`)
    })
  ]
  if (problems.length > 0) return invalid(problems.join("; "))
  return Result.mapError(decoded, () => new InvalidConfig({ message: "the settings can't be used" }))
}

const invalid = (message: string): Result.Result<never, InvalidConfig> => Result.fail(new InvalidConfig({ message }))

const parseDuration = (name: string, text: string): Result.Result<number, InvalidConfig> =>
  Option.match(DurationText.parse(text), {
    onNone: () => invalid(`${name}: ${JSON.stringify(text)} is not ${DurationText.expected}`),
    onSome: (millis) => Result.succeed(millis)
  })

const parseOptional = (name: string, text: string | undefined): Result.Result<number | undefined, InvalidConfig> =>
  text === undefined ? Result.succeed(undefined) : parseDuration(name, text)

/** A time span in which something must be able to happen. */
const parseSpan = (name: string, text: string | undefined): Result.Result<number | undefined, InvalidConfig> =>
  Result.flatMap(parseOptional(name, text), (millis) =>
    millis === 0 ? invalid(`${name}: must be more than 0`) : Result.succeed(millis)
  )

const parseRetention = (text: string | undefined): Result.Result<number | null | undefined, InvalidConfig> =>
  text === "forever"
    ? Result.succeed(null)
    : Result.mapError(
        parseSpan("retention (--retention)", text),
        ({ message }) => new InvalidConfig({ message: `${message}, or forever` })
      )

const parseNetworks = (
  name: string,
  texts: ReadonlyArray<string> = []
): Result.Result<AddressPolicy.AllowList, InvalidConfig> =>
  Result.all(
    texts.map((text) =>
      Result.fromOption(
        AddressPolicy.parseNetwork(text),
        () =>
          new InvalidConfig({
            message: `${name}: ${JSON.stringify(text)} is no network like 10.0.0.0/8, and no address`
          })
      )
    )
  )

const parseRetry = (
  type: string,
  delays: ReadonlyArray<string>
): Result.Result<[ResourceType, RetryPolicy.RetryPolicy], InvalidConfig> => {
  if (!Schema.is(ResourceType)(type)) {
    return invalid(
      `retry (--retry): ${JSON.stringify(type)} is no resource type; there are ${resourceTypeNames.join(" and ")}`
    )
  }
  return Result.map(
    Result.all(delays.map((delay) => parseDuration(`retry of ${type}`, delay))),
    (millis): [ResourceType, RetryPolicy.RetryPolicy] => [
      type,
      // A schedule of one's own does not make a late ring welcome: the lifetime stays.
      { delays: millis, lifetime: defaultDeliverySettings.retry[type].lifetime }
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
        ({ message }) => new InvalidConfig({ message: `proxy: ${message}` })
      )

/** The settings of the authorization server that a configuration changes. */
export const authorizationOverrides = (config: EngineConfig): Partial<AuthorizationSettingsShape> => ({
  ...(config.refreshRequiresSecret !== undefined && { refreshRequiresSecret: config.refreshRequiresSecret }),
  ...(config.refreshRotation !== undefined && { refreshRotation: config.refreshRotation }),
  ...(config.unknownScope !== undefined && { unknownScope: config.unknownScope })
})

/** How `/v4` answers, as far as a configuration says. */
export const apiOverrides = (config: EngineConfig): Result.Result<Partial<ApiSettingsShape>, InvalidConfig> =>
  Result.map(parseNetworks("webhookSources (--webhook-source)", config.webhookSources), (webhookSources) => ({
    webhookSources
  }))

/** The delivery settings that a configuration changes. */
export const deliveryOverrides = (
  config: EngineConfig
): Result.Result<Partial<DeliverySettingsShape>, InvalidConfig> => {
  const allow = parseNetworks("allowTargets (--allow-target)", config.allowTargets)
  const retry = Result.all(Object.entries(config.retry ?? {}).map(([type, delays]) => parseRetry(type, delays)))
  const ackTimeout = parseOptional("ackTimeout (--ack-timeout)", config.ackTimeout)
  const disableAfter = parseSpan("disableAfter (--disable-after)", config.disableAfter)
  const retention = parseRetention(config.retention)
  const lease = parseOptional("lease", config.lease)
  const pollInterval = parseOptional("pollInterval", config.pollInterval)
  const all = Result.all({ allow, retry, ackTimeout, disableAfter, retention, lease, pollInterval })
  return Result.map(all, (read) => ({
    allow: read.allow,
    ...(config.sign !== undefined && { sign: config.sign }),
    ...(read.ackTimeout !== undefined && { ackTimeout: read.ackTimeout }),
    ...(read.disableAfter !== undefined && { disableAfter: read.disableAfter }),
    ...(read.retention !== undefined && { retention: read.retention }),
    ...(read.lease !== undefined && { lease: read.lease }),
    ...(read.pollInterval !== undefined && { pollInterval: read.pollInterval }),
    retry: { ...defaultDeliverySettings.retry, ...Object.fromEntries(read.retry) }
  }))
}
