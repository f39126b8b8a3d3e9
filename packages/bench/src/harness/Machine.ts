/**
 * What a measurement was made on, as far as it matters to somebody else: no names and no paths.
 */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { availableParallelism, totalmem } from "node:os"
import { administer } from "@doorhook/testkit/postgres/Administer"
import { startPostgres } from "./PostgresServer.ts"
import { redisVersion } from "./RedisServer.ts"

const manifest: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8")
)

/** The packages that make the numbers. */
const packages = [
  "effect",
  "undici",
  "fastify",
  "bullmq",
  "pg-boss",
  "graphile-worker",
  "@node-oauth/oauth2-server",
  "oidc-provider"
]

const postgresVersion = Effect.scoped(
  Effect.gen(function* () {
    const server = yield* startPostgres
    const url = yield* server.newDatabase
    const [row] = yield* Effect.promise(() => administer(url, "SHOW server_version"))
    return String(row?.["server_version"])
  })
).pipe(Effect.catchCause(() => Effect.succeed("not started")))

/** One line. */
export const describeMachine: Effect.Effect<string> = Effect.map(postgresVersion, (postgres) =>
  [
    `${availableParallelism()} cores`,
    `${Math.round(totalmem() / 2 ** 30)} GB of memory`,
    process.platform,
    `Node.js ${process.versions.node}`,
    `SQLite ${process.versions["sqlite"]}`,
    `PostgreSQL ${postgres}`,
    `Redis ${redisVersion() ?? "not installed"}`,
    ...packages.map((name) => `${name} ${manifest.dependencies[name]}`)
  ].join(", ")
)
