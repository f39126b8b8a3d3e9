/**
 * Flags for the database and the delivery settings, shared by all commands that deliver. A flag is declared under the name
 * of its setting.
 */
import { Effect, Option, Redacted, Result, Struct } from "effect"
import type { LogLevel } from "effect"
import type { Command } from "effect/cli"
import { Flag } from "effect/cli"
import { readEnvironment, variables } from "../config/EnvironmentConfig.ts"
import type { Reading } from "../config/ReadingSettings.ts"
import { collectAll, InvalidConfig, readSettings, withPlaces } from "../config/ReadingSettings.ts"
import { checkConfig, fromFile, parseRetryFlags, ServeConfig } from "../config/ServeConfig.ts"
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
  allowTargets: Flag.String("allow-target").pipe(
    Flag.withDescription("Private or reserved network that integrations may point at; repeatable"),
    Flag.withMetavar("CIDR"),
    Flag.atLeast(0)
  ),
  retry: Flag.String("retry").pipe(
    Flag.withDescription("Delays between attempts, like access_log=5s,30s; nothing after = means no retry; repeatable"),
    Flag.withMetavar("RESOURCE=d1,d2"),
    Flag.atLeast(0)
  ),
  callEnd: Flag.Boolean("call-end").pipe(
    Flag.withDescription("Accept events of the type call_end, which cancel what waits of a call (default false)"),
    Flag.optional
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

/** Flags of commands that use a database but deliver nothing. */
export const databaseFlags = { database: deliveryFlags.database, config: deliveryFlags.config }

/** The flags of a command. Those that don't have the name of a setting are left to the command. */
type GivenFlags = Pick<DeliveryFlags, "config"> & Partial<Pick<DeliveryFlags, "retry">>

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

/** Reads the settings that flags give. */
const readFlags = ({ retry = [], ...given }: GivenFlags): Reading<ServeConfig> => {
  const schedules = parseRetryFlags(retry)
  const settings = Object.entries(given).flatMap(([name, value]: [string, unknown]) => {
    const one: unknown = Option.isOption(value) ? Option.getOrUndefined(value) : value
    if (!Object.hasOwn(ServeConfig.fields, name) || one === undefined) return []
    return Array.isArray(one) && one.length === 0 ? [] : [[name, Redacted.isRedacted(one) ? Redacted.value(one) : one]]
  })
  const { problems, usable } = readSettings(ServeConfig, Object.fromEntries(settings))
  return Result.match(schedules, {
    onFailure: ({ message }) => ({ usable, problems: [message, ...problems] }),
    onSuccess: (read) => ({ usable: retry.length === 0 ? usable : { ...usable, retry: read }, problems })
  })
}

/**
 * Merges flags, environment and file, in this order of precedence. `check` is the command's own check. Fails with all
 * problems together.
 */
export const deliveryConfigOf = Effect.fnUntraced(function* <R = never>(given: GivenFlags, check: Check<R> = noMore) {
  const file = Option.isSome(given.config) ? yield* fromFile(given.config.value) : noFile
  const environment = yield* readEnvironment
  const flags = readFlags(given)
  const config: ServeConfig = {
    ...file.usable,
    ...environment.usable,
    ...flags.usable,
    retry: { ...file.usable.retry, ...environment.usable.retry, ...flags.usable.retry }
  }
  const unflagged = Struct.keys(environment.usable).filter((name) => flags.usable[name] === undefined)
  const inVariables = withPlaces({ ...givenBy, ...Struct.pick(variables, unflagged) })
  const own = [...failuresOf(flags.problems), checkConfig(config)]
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

/** The flags that `doorhook serve` passes on to its workers. The database is passed in the environment. */
const forWorkers = [
  "directory",
  "callEnd",
  "ackTimeout",
  "disableAfter",
  "retention",
  "caFile",
  "config",
  "allowTargets",
  "retry"
] as const

const again = (name: string, values: ReadonlyArray<string | boolean>): ReadonlyArray<string> =>
  values.flatMap((value) => {
    const flag = givenBy[name] ?? `--${name}`
    return typeof value === "string" ? [flag, value] : [value ? flag : flag.replace("--", "--no-")]
  })

/** Returns the flags as arguments for another process. */
export const deliveryArguments = (given: DeliveryFlags): ReadonlyArray<string> =>
  forWorkers.flatMap((name) => {
    const value: Option.Option<string | boolean> | ReadonlyArray<string> = given[name]
    return again(name, Option.isOption(value) ? Option.toArray(value) : value)
  })

/** Returns the log level as an argument for another process. */
export const logLevelArguments = (level: Option.Option<LogLevel.LogLevel>): ReadonlyArray<string> =>
  Option.match(level, { onNone: () => [], onSome: (name) => ["--log-level", name.toLowerCase()] })
