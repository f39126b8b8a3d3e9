/**
 * What can be set about the engine, by `createDoorhook`, by a configuration file, or by flags: one list of names.
 */
import type { DeliverySettingsShape, RetryPolicy } from "@doorhook/core"
import { AddressPolicy, defaultDeliverySettings, DurationText, ResourceType, resourceTypeNames } from "@doorhook/core"
import { Option, Result, Schema } from "effect"

/** A setting that can't be used; the message says which and what is accepted. */
export class InvalidConfig extends Schema.TaggedError<InvalidConfig>()("InvalidConfig", { message: Schema.String }) {}

/** Settings of the engine as a person writes them. All are optional. */
export interface EngineConfig {
  /** A SQLite file, `memory`, or `postgres://...`. Default `doorhook.db`. */
  readonly database?: string | undefined
  /** Special-purpose networks that integrations may point at, like `10.0.0.0/8` or `127.0.0.1`. Default none. */
  readonly allowTargets?: ReadonlyArray<string> | undefined
  /** Delays between attempts by resource type, like `{ access_log: ["5s", "30s"] }`. An empty list is no retry. */
  readonly retry?: Readonly<Record<string, ReadonlyArray<string>>> | undefined
  /** How long a receiver has to acknowledge. Default `5s`. */
  readonly ackTimeout?: string | undefined
  /** Where the service is reached from outside: the issuer of tokens. Default: the address it listens on. */
  readonly publicUrl?: string | undefined
  /** The key of the operator API. Default: made at the first start and kept in the database. */
  readonly operatorKey?: string | undefined
  /** Encrypts signing secrets in the database. Default: they are kept readable. */
  readonly encryptionKey?: string | undefined
}

const invalid = (message: string): Result.Result<never, InvalidConfig> => Result.fail(new InvalidConfig({ message }))

const parseDuration = (name: string, text: string): Result.Result<number, InvalidConfig> =>
  Option.match(DurationText.parse(text), {
    onNone: () => invalid(`${name}: ${JSON.stringify(text)} is not ${DurationText.expected}`),
    onSome: (millis) => Result.succeed(millis)
  })

const parseRetry = (
  type: string,
  delays: ReadonlyArray<string>
): Result.Result<[ResourceType, RetryPolicy.RetryPolicy], InvalidConfig> => {
  if (!Schema.is(ResourceType)(type)) {
    return invalid(`retry: ${JSON.stringify(type)} is no resource type; there are ${resourceTypeNames.join(" and ")}`)
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

/** The delivery settings that a configuration changes. */
export const deliveryOverrides = (
  config: EngineConfig
): Result.Result<Partial<DeliverySettingsShape>, InvalidConfig> => {
  const allow = Result.all(
    (config.allowTargets ?? []).map((text) =>
      Result.fromOption(
        AddressPolicy.parseNetwork(text),
        () =>
          new InvalidConfig({
            message: `allowTargets: ${JSON.stringify(text)} is no network like 10.0.0.0/8, and no address`
          })
      )
    )
  )
  const retry = Result.all(Object.entries(config.retry ?? {}).map(([type, delays]) => parseRetry(type, delays)))
  const ackTimeout =
    config.ackTimeout === undefined
      ? Result.succeed(defaultDeliverySettings.ackTimeout)
      : parseDuration("ackTimeout", config.ackTimeout)
  return Result.map(Result.all({ allow, retry, ackTimeout }), (read) => ({
    allow: read.allow,
    ackTimeout: read.ackTimeout,
    retry: { ...defaultDeliverySettings.retry, ...Object.fromEntries(read.retry) }
  }))
}
