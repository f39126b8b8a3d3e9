/**
 * `doorhook serve`: the service without a demo.
 */
import { OperatorKey } from "@doorhook/server"
import { Config, Console, Effect, Layer, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import type { ServeConfig } from "../config/ServeConfig.ts"
import { fromFile, parseRetryFlags } from "../config/ServeConfig.ts"
import * as FileDirectory from "../directory/FileDirectory.ts"
import * as Serving from "../service/Serving.ts"

const flags = {
  port: Flag.Int("port").pipe(
    Flag.withDescription("Port to listen on; 0 is any free one (default 4000)"),
    Flag.optional
  ),
  host: Flag.String("host").pipe(Flag.withDescription("Address to listen on (default 127.0.0.1)"), Flag.optional),
  database: Flag.String("database").pipe(
    Flag.withDescription("A SQLite file, or memory (default doorhook.db)"),
    Flag.withMetavar("PATH.db|memory"),
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
  publicUrl: Flag.String("public-url").pipe(
    Flag.withDescription("Where the service is reached from outside (default: where it listens)"),
    Flag.optional
  ),
  operatorKey: Flag.Redacted("operator-key").pipe(
    Flag.withDescription("Key of the operator API; better given as DOORHOOK_OPERATOR_KEY"),
    Flag.optional
  ),
  config: Flag.String("config").pipe(
    Flag.withDescription("JSON file with the same settings; flags win"),
    Flag.withMetavar("FILE.json"),
    Flag.optional
  )
}

type Flags = Command.Command.Config.Infer<typeof flags>

const secret = (name: string) => Config.Redacted(name).pipe(Config.option, Config.map(Option.map(Redacted.value)))

/** Flags go before the environment, and that before the file. */
const configOf = Effect.fnUntraced(function* (given: Flags) {
  const file: ServeConfig = Option.isSome(given.config) ? yield* fromFile(given.config.value) : {}
  const retry = yield* Effect.fromResult(parseRetryFlags(given.retry))
  const keyInEnvironment = yield* secret("DOORHOOK_OPERATOR_KEY")
  const operatorKey = Option.orElse(Option.map(given.operatorKey, Redacted.value), () => keyInEnvironment)
  const encryptionKey = yield* secret("DOORHOOK_ENCRYPTION_KEY")
  const config: ServeConfig = {
    port: Option.getOrElse(given.port, () => file.port),
    host: Option.getOrElse(given.host, () => file.host),
    database: Option.getOrElse(given.database, () => file.database),
    directory: Option.getOrElse(given.directory, () => file.directory),
    ackTimeout: Option.getOrElse(given.ackTimeout, () => file.ackTimeout),
    publicUrl: Option.getOrElse(given.publicUrl, () => file.publicUrl),
    operatorKey: Option.getOrElse(operatorKey, () => file.operatorKey),
    encryptionKey: Option.getOrElse(encryptionKey, () => file.encryptionKey),
    allowTargets: given.allowTarget.length > 0 ? given.allowTarget : file.allowTargets,
    retry: { ...file.retry, ...retry }
  }
  return config
})

/** What an operator must know at the start. */
const announce = Effect.fnUntraced(function* (config: ServeConfig) {
  const { created, key } = yield* OperatorKey
  if (created) yield* Console.log(`operator key (shown only now): ${Redacted.value(key)}`)
  if (config.directory === undefined) {
    yield* Console.log("no --directory: there are no clients and no users, so nobody can log in")
  }
  if (config.encryptionKey === undefined && config.database !== "memory") {
    yield* Console.log("no DOORHOOK_ENCRYPTION_KEY: signing secrets are kept readable in the database")
  }
  yield* Console.log(`doorhook listening on ${yield* Serving.address}`)
})

export const serveCommand = Command.make(
  "serve",
  flags,
  Effect.fnUntraced(function* (given) {
    const config = yield* configOf(given)
    const directory = config.directory === undefined ? FileDirectory.layerEmpty : FileDirectory.layer(config.directory)
    return yield* Layer.launch(
      Layer.effectDiscard(announce(config)).pipe(Layer.provideMerge(Serving.layer(config, directory)))
    )
  })
).pipe(
  Command.withDescription("Run the service: OAuth, integrations, operator API, delivery"),
  Command.withExamples([
    { command: "doorhook serve --directory directory.json", description: "Serve on http://127.0.0.1:4000" },
    {
      command: "doorhook serve --port 8080 --allow-target 10.0.0.0/8 --retry access_log=5s,1m,1h",
      description: "With receivers on the building's own network and a schedule of one's own"
    }
  ])
)
