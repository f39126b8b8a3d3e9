/**
 * Reads the engine's settings from a `ConfigProvider`, by default the environment. Each setting of `EngineConfig` is a
 * variable like `DOORHOOK_DATABASE` or `DOORHOOK_ACK_TIMEOUT`. Lists are separated by commas, and retry schedules are
 * written `DOORHOOK_RETRY=access_log=5s,30s;call=1s`. `DOORHOOK_RESOURCE_TYPES`, `DOORHOOK_SCOPES`,
 * `DOORHOOK_APPEARANCE` and `DOORHOOK_TEXTS` are JSON.
 */
import { Config, Effect, Option, Record, Redacted, Result, Struct } from "effect"
import { EngineConfig } from "./EngineConfig.ts"
import type { Reading } from "./ReadingSettings.ts"
import { collectAll, invalid, InvalidConfig, problemsIn, readSettings, withPlaces } from "./ReadingSettings.ts"
import { checkConfig, parseRetryFlags } from "./ServeConfig.ts"

/**
 * Converts a variable's text to the value of its setting. Invalid text is returned unchanged, so that the schema
 * reports what is accepted.
 */
type Meaning = (text: string) => Result.Result<unknown, InvalidConfig>

const text: Meaning = Result.succeed

const truths = new Map(
  Object.entries({
    true: true,
    yes: true,
    on: true,
    1: true,
    y: true,
    false: false,
    no: false,
    off: false,
    0: false,
    n: false
  })
)
const truth: Meaning = (word) => Result.succeed(truths.get(word) ?? word)

const number: Meaning = (digits) => Result.succeed(/^\d+$/.test(digits) ? Number(digits) : digits)

/** Splits a list at commas and white space. An empty list counts as not given. */
const texts: Meaning = (list) => {
  const items = list.split(/[\s,]+/).filter((item) => item !== "")
  return Result.succeed(items.length === 0 ? undefined : items)
}

const json =
  (setting: string, example: string): Meaning =>
  (written) => {
    try {
      const value: unknown = JSON.parse(written)
      return Result.succeed(value)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      return invalid(`${setting}: must be JSON, like ${example} (${why})`)
    }
  }

const origins = json("clientIdMetadata", 'any, or {"allow":["https://*.example.com"]}')

const limits = json("maxDetail", '{"types":{"access_log":"redacted"}}')

/** How to read each variable. The type ensures that no setting is missing. */
const meanings: { readonly [Name in keyof EngineConfig]-?: Meaning } = {
  database: text,
  authorizationDatabase: text,
  allowTargets: texts,
  retry: (schedules) => parseRetryFlags(schedules.split(";")),
  resourceTypes: json("resourceTypes", '{"door_forced":{"priority":"high"}}'),
  callEnd: truth,
  check: text,
  deliver: truth,
  maxDetail: (written) => (written.trim().startsWith("{") ? limits(written) : Result.succeed(written)),
  ackTimeout: text,
  signing: text,
  notificationUrl: text,
  notificationSecret: text,
  retention: text,
  disableAfter: text,
  integrationsPerScope: number,
  clientIsolation: truth,
  lease: text,
  catchUp: truth,
  queueBytes: number,
  waitingBytes: number,
  databaseTimeout: text,
  acceptLostFrames: number,
  pollInterval: text,
  publicUrl: text,
  operatorKey: text,
  encryptionKey: text,
  proxy: text,
  noProxy: texts,
  caFile: text,
  webhookSources: texts,
  trustedProxies: texts,
  browserOrigins: texts,
  bodyTimeout: text,
  metricsFor: text,
  metricsKey: text,
  requestsPerMinute: number,
  streamsPerGrant: number,
  streams: number,
  tokenRequestsPerMinute: number,
  accessTokensPerGrant: number,
  homeUrl: text,
  appearance: json("appearance", '{"name":"Doors"}'),
  texts: json("texts", '{"fr":{"log_in":"Se connecter"}}'),
  scopes: json("scopes", '{"doors:open":"Open your doors"}'),
  resources: json("resources", '{"https://api.example/doors":{"scopes":["doors:open"]}}'),
  clientIdMetadata: (written) => (written.trim() === "any" ? Result.succeed("any") : origins(written)),
  refreshRequiresSecret: truth,
  refreshRotation: text,
  unknownScope: text,
  createdStatus: number,
  plainJson: truth,
  topLevelPageInfo: truth,
  configAlias: truth,
  doorReleaseAlias: truth
}

const capitals = (setting: string): string => setting.replaceAll(/[A-Z]/g, "_$&").toUpperCase()

/** The environment variable of each setting. */
export const variables: Readonly<Record<keyof EngineConfig, string>> = Record.map(
  meanings,
  (_, setting) => `DOORHOOK_${capitals(setting)}`
)

// Redacted, so that an error from a provider does not reveal the value.
const written = Config.all(
  Record.map(meanings, (_, setting) => Config.option(Config.Redacted(capitals(setting))))
).pipe(Config.nested("DOORHOOK"))

/** Reads the valid settings from the environment, and lists all problems. */
export const readEnvironment = Effect.map(written, (given): Reading<EngineConfig> => {
  const found = Struct.keys(meanings).flatMap((setting) =>
    Option.match(given[setting], {
      onNone: () => [],
      onSome: (secret) => [[setting, meanings[setting](Redacted.value(secret))] as const]
    })
  )
  const known = found.flatMap(([setting, meant]) =>
    Result.isSuccess(meant) && meant.success !== undefined ? [[setting, meant.success]] : []
  )
  const { problems, usable } = readSettings(EngineConfig, Object.fromEntries(known))
  return { usable, problems: [...problemsIn(found.map(([, meant]) => meant)), ...problems] }
})

/**
 * Reads the settings from the environment. Fails with all problems, each with its variable. Missing settings keep their
 * defaults.
 */
export const fromEnvironment = Effect.gen(function* () {
  const { problems, usable } = yield* readEnvironment
  const unread = problems.map((message) => Result.fail(new InvalidConfig({ message })))
  const checked = collectAll<unknown>([...unread, checkConfig(usable)])
  yield* Effect.fromResult(Result.mapError(checked, withPlaces(variables)))
  return usable
})
