/**
 * Settings of `doorhook serve`, from a JSON file (`--config`) and from flags, which take precedence.
 */
import { authorizationSettingsOf, fileTrouble, nameOf } from "@doorhook/core"
import { Effect, FileSystem, Result, Schema } from "effect"
import {
  authorizationDatabaseOf,
  databaseOf,
  acceptLostFramesOf,
  databaseTimeoutOf,
  deliveryOverrides,
  egressProxyOf,
  EngineConfig,
  publicUrlOf
} from "./EngineConfig.ts"
import { authoritiesOf } from "./Authorities.ts"
import { checkNotifications, encryptionKeyOf, metricsKeyOf, operatorKeyOf } from "./KeySettings.ts"
import type { Reading } from "./ReadingSettings.ts"
import { asConfig, collectAll, invalid, InvalidConfig, parseTimeout, readSettings } from "./ReadingSettings.ts"
import { apiOverrides, authorizationOverrides, httpOverrides } from "./SurfaceConfig.ts"

const greatestPort = 65_535

const mostWorkers = 64

/** Port to listen on; 0 for any free port. */
const ListenPort = Schema.Int.check(
  Schema.isBetween({ minimum: 0, maximum: greatestPort }, { message: `must be a port, 0 to ${greatestPort}` })
)

/** Number of additional processes that deliver. */
const WorkerCount = Schema.Int.check(
  Schema.isBetween(
    { minimum: 0, maximum: mostWorkers },
    { message: `must be a number of processes, 0 to ${mostWorkers}` }
  )
)

export const ServeConfig = Schema.Struct({
  ...EngineConfig.fields,
  /** Port to listen on; 0 for any free port. Default 4000. */
  port: Schema.optional(ListenPort),
  /** Address to listen on. Default 127.0.0.1. */
  host: Schema.optional(Schema.String),
  /**
   * How long the headers of a request may take to arrive, from the connection's first byte. A slower request gets 408.
   * Default `15s`.
   */
  headersTimeout: Schema.optional(Schema.String),
  /** The directory file. Default: none, so nobody can log in, and this process delivers nothing. */
  directory: Schema.optional(Schema.String),
  /** `doorhook worker` processes to run beside the service, on PostgreSQL; none without a directory. Default 0. */
  workers: Schema.optional(WorkerCount)
})
export type ServeConfig = typeof ServeConfig.Type

/** Reads how long the headers of a request may take, in milliseconds. */
export const headersTimeoutOf = ({ headersTimeout }: ServeConfig): Result.Result<number, InvalidConfig> =>
  Result.map(parseTimeout("headersTimeout", headersTimeout), (millis) => millis ?? 15_000)

/** Reads the address to listen on. Refuses an empty address, which would mean every address of the machine. */
const hostOf = ({ host }: ServeConfig): Result.Result<unknown, InvalidConfig> =>
  host === undefined || host.trim() !== ""
    ? Result.succeed(host)
    : invalid(`host: must be an address to listen on, like 127.0.0.1 or 0.0.0.0, not ${nameOf(host)}`)

/** Fails with all problems of a configuration that can be found before the start. */
export const checkConfig = (config: ServeConfig): Result.Result<unknown, InvalidConfig> =>
  collectAll<unknown>([
    deliveryOverrides(config),
    egressProxyOf(config),
    authoritiesOf(config),
    encryptionKeyOf(config),
    operatorKeyOf(config),
    metricsKeyOf(config),
    checkNotifications(config),
    databaseOf(config),
    authorizationDatabaseOf(config),
    databaseTimeoutOf(config),
    acceptLostFramesOf(config),
    publicUrlOf(config),
    apiOverrides(config),
    httpOverrides(config),
    Result.mapError(authorizationSettingsOf(authorizationOverrides(config)), asConfig),
    headersTimeoutOf(config),
    hostOf(config)
  ])

/**
 * The same checks for a doorhook inside an application. It needs a notification secret: `doorhook serve` generates a
 * missing one and prints it, but an embedded doorhook must not write secrets to the host's log.
 */
export const checkEmbeddedConfig = (config: EngineConfig): Result.Result<unknown, InvalidConfig> =>
  collectAll<unknown>([
    checkConfig(config),
    config.notificationUrl === undefined || config.notificationSecret !== undefined
      ? Result.void
      : invalid("notificationSecret: must be given with notificationUrl, like `whsec_` and 24 random bytes in base64")
  ])

/** Reads a whole number from 0 to a maximum. Errors begin with `name`. */
const parseCount = (
  name: string,
  text: string,
  { maximum, what }: { readonly maximum: number; readonly what: string }
): Result.Result<number, InvalidConfig> =>
  /^\d{1,5}$/.test(text) && Number(text) <= maximum
    ? Result.succeed(Number(text))
    : invalid(`${name}: must be ${what}, 0 to ${maximum}, not ${JSON.stringify(text)}`)

/** Reads the value of `--port`. */
export const parsePort = (text: string): Result.Result<number, InvalidConfig> =>
  parseCount("port", text, { maximum: greatestPort, what: "a port" })

/** Reads the value of `--workers`. */
export const parseWorkers = (text: string): Result.Result<number, InvalidConfig> =>
  parseCount("workers", text, { maximum: mostWorkers, what: "a number of processes" })

/** Reads the text of a configuration file. */
const fromText = (text: string): Result.Result<Reading<ServeConfig>, InvalidConfig> => {
  try {
    const value: unknown = JSON.parse(text)
    return Result.succeed(readSettings(ServeConfig, value))
  } catch (error) {
    return invalid(`it is not JSON (${error instanceof Error ? error.message : String(error)})`)
  }
}

/** Reads the valid settings from a configuration file, and lists all problems. */
export const fromFile = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const read = yield* files.readFileString(file).pipe(
    Effect.mapError((error) => new InvalidConfig({ message: `config: ${file} can't be read: ${fileTrouble(error)}` })),
    Effect.flatMap((text) =>
      Effect.mapError(
        Effect.fromResult(fromText(text)),
        ({ message }) => new InvalidConfig({ message: `config ${file}: ${message}` })
      )
    ),
    Effect.result
  )
  return Result.match(read, {
    onFailure: ({ message }): Reading<ServeConfig> => ({ usable: {}, problems: [message] }),
    onSuccess: ({ problems, usable }): Reading<ServeConfig> => ({
      usable,
      problems: problems.length === 0 ? [] : [`config ${file}: ${problems.join("; ")}`]
    })
  })
})

/** Reads retry flags, each like `RESOURCE=d1,d2,...`. Nothing after `=` means no retry. */
export const parseRetryFlags = (
  flags: ReadonlyArray<string>
): Result.Result<Readonly<Record<string, ReadonlyArray<string>>>, InvalidConfig> => {
  const wrong = flags.filter((flag) => !/^[^=]+=/.test(flag)).map((flag) => JSON.stringify(flag))
  if (wrong.length > 0) {
    return invalid(`retry: ${wrong.join(" and ")} must have the form RESOURCE=d1,d2,... like access_log=5s,30s`)
  }
  const read = flags.map((flag): [string, ReadonlyArray<string>] => {
    const at = flag.indexOf("=")
    const delays = flag.slice(at + 1)
    return [flag.slice(0, at), delays === "" ? [] : delays.split(",")]
  })
  const types = read.map(([type]) => type)
  const twice = new Set(types.filter((type, at) => types.indexOf(type) !== at))
  return twice.size === 0
    ? Result.succeed(Object.fromEntries(read))
    : invalid(`retry: ${[...twice].join(" and ")} may be given only once`)
}
