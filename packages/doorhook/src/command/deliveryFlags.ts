/**
 * The flags that say from which database deliveries are made, and how: the same for every command that delivers.
 */
import { Config, Effect, Option, Redacted, Result } from "effect"
import type { Command } from "effect/cli"
import { Flag } from "effect/cli"
import type { Reading } from "../config/ReadingSettings.ts"
import { collectAll, InvalidConfig } from "../config/ReadingSettings.ts"
import type { ServeConfig } from "../config/ServeConfig.ts"
import { checkConfig, fromFile, parseRetryFlags } from "../config/ServeConfig.ts"
import { withFlags } from "./settingFlags.ts"

export const deliveryFlags = {
  database: Flag.String("database").pipe(
    Flag.withDescription("A SQLite file, a PostgreSQL URL, or memory (default doorhook.db; or DOORHOOK_DATABASE)"),
    Flag.withMetavar("PATH.db|postgres://...|memory"),
    Flag.optional
  ),
  directory: Flag.String("directory").pipe(
    Flag.withDescription("JSON file of clients, users, buildings and tenants; SIGHUP reads it again"),
    Flag.withMetavar("FILE.json"),
    Flag.optional
  ),
  allowTarget: Flag.String("allow-target").pipe(
    Flag.withDescription("Private or reserved network that integrations may point at; repeatable"),
    Flag.withMetavar("CIDR"),
    Flag.atLeast(0)
  ),
  retry: Flag.String("retry").pipe(
    Flag.withDescription("Delays between attempts, like access_log=5s,30s; nothing after = is no retry; repeatable"),
    Flag.withMetavar("RESOURCE=d1,d2"),
    Flag.atLeast(0)
  ),
  ackTimeout: Flag.String("ack-timeout").pipe(
    Flag.withDescription("How long a receiver has to acknowledge (default 5s)"),
    Flag.withMetavar("DURATION"),
    Flag.optional
  ),
  disableAfter: Flag.String("disable-after").pipe(
    Flag.withDescription("For how long an integration may acknowledge nothing before it is disabled (default 3d)"),
    Flag.withMetavar("DURATION"),
    Flag.optional
  ),
  retention: Flag.String("retention").pipe(
    Flag.withDescription("How long settled deliveries and their events are kept (default 90d)"),
    Flag.withMetavar("DURATION|forever"),
    Flag.optional
  ),
  config: Flag.String("config").pipe(
    Flag.withDescription("JSON file with the same settings; flags win"),
    Flag.withMetavar("FILE.json"),
    Flag.optional
  )
}

type DeliveryFlags = Command.Command.Config.Infer<typeof deliveryFlags>

/** A value that other users of the machine must not see among the arguments of a process. */
export const fromEnvironment = (name: string) =>
  Config.Redacted(name).pipe(Config.option, Config.map(Option.map(Redacted.value)))

/** What else can be wrong with settings; `isSound` says that nothing was found wrong so far. */
type Check<R> = (
  config: ServeConfig,
  isSound: boolean
) => Effect.Effect<ReadonlyArray<Result.Result<unknown, InvalidConfig>>, never, R>

/** Nothing more to check. */
const noMore = () => Effect.succeed([])

/** Nothing is given by a file. */
const noFile: Reading<ServeConfig> = { usable: {}, problems: [] }

/**
 * Flags go before the environment, and that before the file, whose other settings are answered too; `more` are what else a
 * command takes, and `check` what else can be wrong with it. Fails with every problem of all of them.
 */
export const deliveryConfigOf = Effect.fnUntraced(function* <R = never>(
  given: DeliveryFlags,
  more: (file: ServeConfig) => Partial<ServeConfig> = () => ({}),
  check: Check<R> = noMore
) {
  const { problems, usable: file } = Option.isSome(given.config) ? yield* fromFile(given.config.value) : noFile
  const retry = parseRetryFlags(given.retry)
  const databaseInEnvironment = yield* fromEnvironment("DOORHOOK_DATABASE")
  const database = Option.orElse(given.database, () => databaseInEnvironment)
  const encryptionKey = yield* fromEnvironment("DOORHOOK_ENCRYPTION_KEY")
  const proxy = yield* fromEnvironment("DOORHOOK_PROXY")
  const config: ServeConfig = {
    ...file,
    database: Option.getOrElse(database, () => file.database),
    directory: Option.getOrElse(given.directory, () => file.directory),
    ackTimeout: Option.getOrElse(given.ackTimeout, () => file.ackTimeout),
    disableAfter: Option.getOrElse(given.disableAfter, () => file.disableAfter),
    retention: Option.getOrElse(given.retention, () => file.retention),
    encryptionKey: Option.getOrElse(encryptionKey, () => file.encryptionKey),
    proxy: Option.getOrElse(proxy, () => file.proxy),
    allowTargets: given.allowTarget.length > 0 ? given.allowTarget : file.allowTargets,
    retry: { ...file.retry, ...Result.getOrElse(retry, () => ({})) },
    ...more(file)
  }
  const own = [retry, checkConfig(config)]
  const isSound = problems.length === 0 && own.every(Result.isSuccess)
  const checks = collectAll<unknown>([...own, ...(yield* check(config, isSound))])
  // The file's problems are told with the file's own names.
  const inFile = problems.map((message) => Result.fail(new InvalidConfig({ message })))
  yield* Effect.fromResult(collectAll<unknown>([...inFile, Result.mapError(checks, withFlags)]))
  return config
})

const again = (flag: string, value: Option.Option<string>): ReadonlyArray<string> =>
  Option.match(value, { onNone: () => [], onSome: (text) => [flag, text] })

/** The flags again as arguments, for another process over the same database, which is handed on by the environment. */
export const deliveryArguments = (given: DeliveryFlags): ReadonlyArray<string> => [
  ...again("--directory", given.directory),
  ...again("--ack-timeout", given.ackTimeout),
  ...again("--disable-after", given.disableAfter),
  ...again("--retention", given.retention),
  ...again("--config", given.config),
  ...given.allowTarget.flatMap((network) => ["--allow-target", network]),
  ...given.retry.flatMap((retry) => ["--retry", retry])
]
