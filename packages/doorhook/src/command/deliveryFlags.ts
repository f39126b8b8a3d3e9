/**
 * Flags for the database and the delivery settings, shared by all commands that deliver.
 */
import { Effect, Option, Result, Struct } from "effect"
import type { LogLevel } from "effect"
import type { Command } from "effect/cli"
import { Flag } from "effect/cli"
import { readEnvironment, variables } from "../config/EnvironmentConfig.ts"
import type { Reading } from "../config/ReadingSettings.ts"
import { collectAll, InvalidConfig, withPlaces } from "../config/ReadingSettings.ts"
import type { ServeConfig } from "../config/ServeConfig.ts"
import { checkConfig, fromFile, parseRetryFlags } from "../config/ServeConfig.ts"
import { givenBy } from "./settingFlags.ts"

export const deliveryFlags = {
  database: Flag.String("database").pipe(
    Flag.withDescription(
      "SQLite file, PostgreSQL URL, or memory (default: the variable DOORHOOK_DATABASE, else doorhook.db)"
    ),
    Flag.withMetavar("PATH.db|postgres://...|memory"),
    Flag.optional
  ),
  directory: Flag.String("directory").pipe(
    Flag.withDescription("JSON file of clients, users, buildings and tenants; SIGHUP reloads it"),
    Flag.withMetavar("FILE.json"),
    Flag.optional
  ),
  allowTarget: Flag.String("allow-target").pipe(
    Flag.withDescription("Private or reserved network that integrations may point at; repeatable"),
    Flag.withMetavar("CIDR"),
    Flag.atLeast(0)
  ),
  retry: Flag.String("retry").pipe(
    Flag.withDescription("Delays between attempts, like access_log=5s,30s; nothing after = means no retry; repeatable"),
    Flag.withMetavar("RESOURCE=d1,d2"),
    Flag.atLeast(0)
  ),
  ackTimeout: Flag.String("ack-timeout").pipe(
    Flag.withDescription("How long a receiver has to acknowledge (default 5s)"),
    Flag.withMetavar("DURATION"),
    Flag.optional
  ),
  disableAfter: Flag.String("disable-after").pipe(
    Flag.withDescription(
      "How long an integration may fail before it is disabled, after at least ten failed attempts (default 3d)"
    ),
    Flag.withMetavar("DURATION"),
    Flag.optional
  ),
  retention: Flag.String("retention").pipe(
    Flag.withDescription("How long settled deliveries and their events are kept (default 90d)"),
    Flag.withMetavar("DURATION|forever"),
    Flag.optional
  ),
  caFile: Flag.String("ca-file").pipe(
    Flag.withDescription("PEM file of certificate authorities to trust for receivers, in addition to the public ones"),
    Flag.withMetavar("FILE.pem"),
    Flag.optional
  ),
  acceptLostFrames: Flag.Int("accept-lost-frames").pipe(
    Flag.withDescription("Start on a damaged log of a SQLite file and lose this many frames, exactly as reported"),
    Flag.withMetavar("N"),
    Flag.optional
  ),
  config: Flag.String("config").pipe(
    Flag.withDescription("JSON file with the same settings; flags and DOORHOOK_... variables override it"),
    Flag.withMetavar("FILE.json"),
    Flag.optional
  )
}

type DeliveryFlags = Command.Command.Config.Infer<typeof deliveryFlags>

/** A command's own check of the settings. `isSound` is true if the shared checks found no problem. */
type Check<R> = (
  config: ServeConfig,
  isSound: boolean
) => Effect.Effect<ReadonlyArray<Result.Result<unknown, InvalidConfig>>, never, R>

const failuresOf = (problems: ReadonlyArray<string>): ReadonlyArray<Result.Result<never, InvalidConfig>> =>
  problems.map((message) => Result.fail(new InvalidConfig({ message })))

const noMore = () => Effect.succeed([])

/** The result without a configuration file: no settings and no problems. */
const noFile: Reading<ServeConfig> = { usable: {}, problems: [] }

/**
 * Merges flags, environment and file, in this order of precedence. `more` returns settings that only this command has,
 * and `check` is the command's own check. Fails with all problems together.
 */
export const deliveryConfigOf = Effect.fnUntraced(function* <R = never>(
  given: DeliveryFlags,
  more: (otherwise: ServeConfig) => Partial<ServeConfig> = () => ({}),
  check: Check<R> = noMore
) {
  const file = Option.isSome(given.config) ? yield* fromFile(given.config.value) : noFile
  const environment = yield* readEnvironment
  const flagged = parseRetryFlags(given.retry)
  // The settings that apply when no flag is given.
  const otherwise: ServeConfig = {
    ...file.usable,
    ...environment.usable,
    retry: { ...file.usable.retry, ...environment.usable.retry }
  }
  const retry = Result.getOrElse(flagged, () => ({}))
  const config: ServeConfig = {
    ...otherwise,
    database: Option.getOrElse(given.database, () => otherwise.database),
    directory: Option.getOrElse(given.directory, () => otherwise.directory),
    ackTimeout: Option.getOrElse(given.ackTimeout, () => otherwise.ackTimeout),
    disableAfter: Option.getOrElse(given.disableAfter, () => otherwise.disableAfter),
    retention: Option.getOrElse(given.retention, () => otherwise.retention),
    acceptLostFrames: Option.getOrElse(given.acceptLostFrames, () => otherwise.acceptLostFrames),
    caFile: Option.getOrElse(given.caFile, () => otherwise.caFile),
    allowTargets: given.allowTarget.length > 0 ? given.allowTarget : otherwise.allowTargets,
    retry: given.retry.length > 0 ? { ...otherwise.retry, ...retry } : otherwise.retry,
    ...more(otherwise)
  }
  const unflagged = Struct.keys(environment.usable).filter((name) => config[name] === otherwise[name])
  const inVariables = withPlaces({ ...givenBy, ...Struct.pick(variables, unflagged) })
  const own = [flagged, checkConfig(config)]
  const isSound = file.problems.length + environment.problems.length === 0 && own.every(Result.isSuccess)
  const checks = collectAll<unknown>([...own, ...(yield* check(config, isSound))])
  yield* Effect.fromResult(
    collectAll<unknown>([
      // Messages about the file use the names in the file, without a flag or variable.
      ...failuresOf(file.problems),
      ...failuresOf(environment.problems).map(Result.mapError(withPlaces(variables))),
      Result.mapError(checks, inVariables)
    ])
  )
  return config
})

/** Flags of commands that use a database but deliver nothing. */
export const databaseFlags = { database: deliveryFlags.database, config: deliveryFlags.config }

/** Reads the configuration for `databaseFlags`. */
export const databaseConfigOf = (given: Command.Command.Config.Infer<typeof databaseFlags>) =>
  deliveryConfigOf({
    directory: Option.none(),
    allowTarget: [],
    retry: [],
    ackTimeout: Option.none(),
    disableAfter: Option.none(),
    retention: Option.none(),
    caFile: Option.none(),
    acceptLostFrames: Option.none(),
    ...given
  })

const again = (flag: string, value: Option.Option<string>): ReadonlyArray<string> =>
  Option.match(value, { onNone: () => [], onSome: (text) => [flag, text] })

/** Returns the flags as arguments for another process, except for the database, which is passed in the environment. */
export const deliveryArguments = (given: DeliveryFlags): ReadonlyArray<string> => [
  ...again("--directory", given.directory),
  ...again("--ack-timeout", given.ackTimeout),
  ...again("--disable-after", given.disableAfter),
  ...again("--retention", given.retention),
  ...again("--ca-file", given.caFile),
  ...again("--config", given.config),
  ...given.allowTarget.flatMap((network) => ["--allow-target", network]),
  ...given.retry.flatMap((retry) => ["--retry", retry])
]

/** Returns the log level as an argument for another process. */
export const logLevelArguments = (level: Option.Option<LogLevel.LogLevel>): ReadonlyArray<string> =>
  again(
    "--log-level",
    Option.map(level, (name) => name.toLowerCase())
  )
