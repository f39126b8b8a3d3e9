/**
 * The engine's settings from the environment, or from whatever else a `ConfigProvider` reads: `DOORHOOK_DATABASE`,
 * `DOORHOOK_ACK_TIMEOUT`, and so on, each setting under its name in capitals. Lists are separated by commas, retry schedules
 * are written `DOORHOOK_RETRY=access_log=5s,30s;call=1s`.
 */
import { Config, Effect, Option, Redacted } from "effect"
import { parseRetryFlags } from "./ServeConfig.ts"
import type { EngineConfig } from "./EngineConfig.ts"

const text = (name: string) => Config.option(Config.String(name))
const secret = (name: string) => Config.option(Config.map(Config.Redacted(name), Redacted.value))
const truth = (name: string) => Config.option(Config.Boolean(name))
const texts = (name: string) =>
  Config.option(Config.map(Config.String(name), (list) => list.split(/[\s,]+/).filter((item) => item !== "")))

const settings = Config.all({
  database: secret("DATABASE"),
  allowTargets: texts("ALLOW_TARGETS"),
  retry: text("RETRY"),
  ackTimeout: text("ACK_TIMEOUT"),
  sign: truth("SIGN"),
  retention: text("RETENTION"),
  disableAfter: text("DISABLE_AFTER"),
  lease: text("LEASE"),
  pollInterval: text("POLL_INTERVAL"),
  publicUrl: text("PUBLIC_URL"),
  operatorKey: secret("OPERATOR_KEY"),
  encryptionKey: secret("ENCRYPTION_KEY"),
  proxy: secret("PROXY"),
  noProxy: texts("NO_PROXY"),
  webhookSources: texts("WEBHOOK_SOURCES"),
  trustedProxies: texts("TRUSTED_PROXIES"),
  bodyTimeout: text("BODY_TIMEOUT"),
  metricsFor: Config.option(Config.Literals(["loopback", "anyone"], "METRICS_FOR"))
}).pipe(Config.nested("DOORHOOK"))

/** The settings; fails with what is wrong with one. What is not there has its default. */
export const fromEnvironment = Effect.gen(function* () {
  const { retry, ...read } = yield* settings
  const schedules = yield* Effect.fromResult(
    parseRetryFlags(Option.match(retry, { onNone: () => [], onSome: (given) => given.split(";") }))
  )
  const given = {
    database: Option.getOrUndefined(read.database),
    allowTargets: Option.getOrUndefined(read.allowTargets),
    ackTimeout: Option.getOrUndefined(read.ackTimeout),
    sign: Option.getOrUndefined(read.sign),
    retention: Option.getOrUndefined(read.retention),
    disableAfter: Option.getOrUndefined(read.disableAfter),
    lease: Option.getOrUndefined(read.lease),
    pollInterval: Option.getOrUndefined(read.pollInterval),
    publicUrl: Option.getOrUndefined(read.publicUrl),
    operatorKey: Option.getOrUndefined(read.operatorKey),
    encryptionKey: Option.getOrUndefined(read.encryptionKey),
    proxy: Option.getOrUndefined(read.proxy),
    noProxy: Option.getOrUndefined(read.noProxy),
    webhookSources: Option.getOrUndefined(read.webhookSources),
    trustedProxies: Option.getOrUndefined(read.trustedProxies),
    bodyTimeout: Option.getOrUndefined(read.bodyTimeout),
    metricsFor: Option.getOrUndefined(read.metricsFor)
  }
  const config: EngineConfig = { ...given, retry: schedules }
  return config
})
