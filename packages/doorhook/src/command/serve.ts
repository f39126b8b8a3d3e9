/**
 * `doorhook serve`: runs the service.
 */
import { StoreHealth } from "@doorhook/core"
import { McpEndpoint, OperatorKey } from "@doorhook/server"
import { Console, Context, Effect, Layer, Option, Redacted, Result } from "effect"
import { Command, Flag, GlobalFlag } from "effect/cli"
import { readableSecretsOf } from "../config/KeySettings.ts"
import type { ServeConfig } from "../config/ServeConfig.ts"
import { parsePort, parseWorkers } from "../config/ServeConfig.ts"
import * as FileDirectory from "../directory/FileDirectory.ts"
import { defaultDatabase } from "../service/Database.ts"
import { NotificationSecret } from "../service/NotificationWebhook.ts"
import * as Serving from "../service/HttpService.ts"
import { forceExitAfterSignal, keepCompiled, logStopped, logStopping, stopOnSighup, untilStopped } from "./Process.ts"
import { endpoint } from "./extensions.ts"
import type { Extensions } from "./extensions.ts"
import { deliveryArguments, deliveryConfigOf, deliveryFlags, logLevelArguments } from "./deliveryFlags.ts"
import { operatorKeyFlag } from "./operatorApi.ts"
import { checkShared, keepWorkers } from "./workers.ts"

/** The flags of the service, which `doorhook doctor` accepts, too. */
export const serveFlags = {
  // A string rather than a number, so that a wrong port is reported together with all other problems.
  port: Flag.String("port").pipe(
    Flag.withDescription("Port to listen on; 0 for any free port (default 4000)"),
    Flag.withMetavar("PORT"),
    Flag.optional
  ),
  host: Flag.String("host").pipe(Flag.withDescription("Address to listen on (default 127.0.0.1)"), Flag.optional),
  publicUrl: Flag.String("public-url").pipe(
    Flag.withDescription("The service's address as clients see it (default: the address it listens on)"),
    Flag.optional
  ),
  operatorKey: operatorKeyFlag,
  webhookSources: Flag.String("webhook-source").pipe(
    Flag.withDescription(
      "Network from which deliveries are sent, published for receivers that filter by address; repeatable (or DOORHOOK_WEBHOOK_SOURCES)"
    ),
    Flag.withMetavar("CIDR"),
    Flag.atLeast(0)
  ),
  trustedProxies: Flag.String("trusted-proxy").pipe(
    Flag.withDescription(
      "Network of reverse proxies whose X-Forwarded-For gives the client's address; repeatable (or DOORHOOK_TRUSTED_PROXIES)"
    ),
    Flag.withMetavar("CIDR"),
    Flag.atLeast(0)
  ),
  browserOrigins: Flag.String("browser-origin").pipe(
    Flag.withDescription(
      "Origin whose pages may call the token and /v4 routes from a browser (CORS); repeatable (or DOORHOOK_BROWSER_ORIGINS)"
    ),
    Flag.withMetavar("ORIGIN"),
    Flag.atLeast(0)
  ),
  metricsFor: Flag.Literals("metrics-for", ["loopback", "anyone"]).pipe(
    Flag.withDescription("Who may read /metrics: programs on this machine (loopback, the default), or anyone"),
    Flag.optional
  ),
  clientIsolation: Flag.Boolean("client-isolation").pipe(
    Flag.withDescription("Show each client only the integrations that it created (or DOORHOOK_CLIENT_ISOLATION)"),
    Flag.optional
  ),
  mcp: Flag.Boolean(endpoint.flag).pipe(
    Flag.withDescription(`Serve /mcp for assistants; needs the package ${endpoint.package} (default false)`),
    Flag.withDefault(false)
  ),
  workers: Flag.String("workers").pipe(
    Flag.withDescription("Number of additional processes that deliver, on PostgreSQL (default 0)"),
    Flag.withMetavar("N"),
    Flag.optional
  ),
  ...deliveryFlags
}

type Flags = Command.Command.Config.Infer<typeof serveFlags>

/**
 * Returns the settings of the service. With `asFinding`, an unusable directory is left to the caller if all other settings
 * are valid.
 */
export const serveConfigOf = Effect.fnUntraced(function* (given: Flags, asFinding = false) {
  const port = Option.map(given.port, parsePort)
  const workers = Option.map(given.workers, parseWorkers)
  const counts = {
    port: Option.flatMap(port, Result.getSuccess),
    workers: Option.flatMap(workers, Result.getSuccess)
  }
  return yield* deliveryConfigOf(
    { ...given, ...counts },
    Effect.fnUntraced(function* ({ database, directory, workers: count }, isSound) {
      const read = [...Option.toArray(port), ...Option.toArray(workers), checkShared(count, database)]
      const isLeft = asFinding && isSound && read.every(Result.isSuccess)
      return isLeft ? read : [...read, ...(yield* FileDirectory.check(directory))]
    })
  )
})

/**
 * Returns the number of workers to run: none without a directory, because workers could not check who may receive an
 * event.
 */
const workersOf = ({ directory, workers = 0 }: ServeConfig): number => (directory === undefined ? 0 : workers)

/** Prints information for operators at the start, like new keys and missing settings. */
const announce = Effect.fnUntraced(function* (config: ServeConfig) {
  const { created, key } = yield* OperatorKey
  if (created) yield* Console.log(`operator key (shown only now): ${Redacted.value(key)}`)
  const secret = yield* NotificationSecret
  if (secret !== null) yield* Console.log(`notification secret (shown only now): ${Redacted.value(secret)}`)
  if (config.directory === undefined) {
    const without = config.workers === undefined || config.workers === 0 ? "" : "; no workers are started"
    yield* Console.log(
      `no --directory: nobody can log in, and this process delivers nothing, because it can't check who may receive events${without}`
    )
  }
  const readable = readableSecretsOf(config)
  if (readable !== null) {
    yield* Console.log(`no DOORHOOK_ENCRYPTION_KEY: ${readable}; make a key with: openssl rand -base64 32`)
  }
  yield* Console.log(`doorhook listening on ${yield* Serving.address}`)
  yield* logStopping("doorhook")
  yield* keepCompiled
})

/** Makes the command. `mcp` makes the endpoint for assistants. */
export const makeServe = (mcp: Extensions["mcp"]) =>
  Command.make(
    "serve",
    serveFlags,
    Effect.fnUntraced(
      function* (given) {
        const config = yield* serveConfigOf(given)
        yield* forceExitAfterSignal(config)
        yield* stopOnSighup(config.directory)
        const directory =
          config.directory === undefined ? FileDirectory.layerNone : FileDirectory.layer(config.directory)
        const own = given.mcp ? Context.make(McpEndpoint, yield* mcp) : Context.empty()
        const service = Layer.effectDiscard(announce(config)).pipe(
          Layer.provideMerge(Serving.layer(config, directory, own))
        )
        const shared = [...logLevelArguments(yield* GlobalFlag.LogLevel), ...deliveryArguments(given)]
        const { host = Serving.defaultHost, port = Serving.defaultPort, publicUrl = `http://${host}:${port}` } = config
        const workers = keepWorkers(workersOf(config), config.database ?? defaultDatabase, shared, publicUrl)
        // The service ends when it is stopped, or when the database is lost.
        const serving = Effect.scoped(
          Effect.flatMap(Layer.build(service), (built) => Context.get(built, StoreHealth).lost)
        )
        return yield* Effect.raceFirst(serving, workers).pipe(logStopped("doorhook"))
      },
      Effect.scoped,
      untilStopped
    )
  ).pipe(
    Command.withDescription("Run the service: OAuth, integrations, operator API, delivery"),
    Command.withExamples([
      { command: "doorhook serve --directory directory.json", description: "Serve on http://127.0.0.1:4000" },
      {
        command: "doorhook serve --port 8080 --allow-target 10.0.0.0/8 --retry access_log=5s,1m,1h",
        description: "With receivers in the building's network, and a custom retry schedule"
      },
      {
        command: "doorhook serve --database postgres://doorhook@db.internal/doorhook",
        description: "On PostgreSQL, so that workers on other machines can deliver too"
      }
    ])
  )
