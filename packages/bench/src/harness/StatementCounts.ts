/**
 * Counts the statements that an operation of the service sends to its database.
 */
import { Effect } from "effect"
import { OAuthSession } from "./OAuthSession.ts"
import { administer } from "@doorhook/testkit/postgres/Administer"
import { startPostgres } from "./PostgresServer.ts"
import { refreshFields, tokenPath } from "./RefreshRequest.ts"
import type { Observed, ServerProcess } from "./ServerProcess.ts"
import { building, isControl, startService } from "./ServerProcess.ts"
import { median } from "./Statistics.ts"
import { temporaryDatabase } from "./TemporaryFile.ts"

/** A counted operation. `check` is a request that is refused immediately after the check of its token. */
export type Operation = "exchange" | "refresh" | "check" | "get"

/**
 * Number of times that each operation is counted. The dispatcher's own statements run during fewer than half of the
 * repetitions, so they do not change the median.
 */
const repetitions = 15

/** Counts the statements of one operation, without and with the statements that begin or end transactions. */
const countOne = Effect.fnUntraced(function* (observe: Effect.Effect<Observed>, operation: () => Promise<unknown>) {
  const before = yield* observe
  yield* Effect.promise(operation)
  const after = yield* observe
  const queries = after.queries - before.queries
  return { queries, roundTrips: queries + after.controls - before.controls }
})

const countMany = Effect.fnUntraced(function* (
  observe: Effect.Effect<Observed>,
  prepare: () => Promise<() => Promise<unknown>>
) {
  const counts: Array<Effect.Success<ReturnType<typeof countOne>>> = []
  for (let repetition = 0; repetition < repetitions; repetition++) {
    counts.push(yield* countOne(observe, yield* Effect.promise(prepare)))
  }
  return {
    queries: median(counts.map(({ queries }) => queries)),
    roundTrips: median(counts.map(({ roundTrips }) => roundTrips))
  }
})

/** Counts the statements of operations on a database. Returns members of a result, named after the database. */
const countOn = Effect.fnUntraced(function* (
  name: "sqlite" | "postgres",
  server: ServerProcess,
  observe: Effect.Effect<Observed>,
  operations: ReadonlyArray<Operation>
) {
  const session = new OAuthSession(server.port)
  const base = `http://127.0.0.1:${server.port}`
  const { access_token, refresh_token } = yield* Effect.promise(async () => session.exchange(await session.logIn()))
  const path = yield* Effect.promise(() => session.createIntegration(access_token))
  const read = (address: string) => async () =>
    (await fetch(`${base}${address}`, { headers: { authorization: `Bearer ${access_token}` } })).text()

  const preparations: Record<Operation, () => Promise<() => Promise<unknown>>> = {
    exchange: async () => {
      const code = await session.logIn()
      return () => session.exchange(code)
    },
    refresh: () =>
      Promise.resolve(async () => {
        const body = new URLSearchParams(refreshFields(refresh_token))
        return (await fetch(`${base}${tokenPath}`, { method: "POST", body })).text()
      }),
    check: () => Promise.resolve(read(`/v4/buildings/${building}/integrations?no_such_parameter=1`)),
    get: () => Promise.resolve(read(path))
  }
  const members: Record<string, number> = {}
  for (const operation of operations) {
    const { queries, roundTrips } = yield* countMany(observe, preparations[operation])
    members[`${operation}_queries_${name}`] = queries
    members[`${operation}_with_transactions_${name}`] = roundTrips
  }
  return members
})

const onSqlite = Effect.fnUntraced(function* (operations: ReadonlyArray<Operation>) {
  const server = yield* startService(yield* temporaryDatabase, { observed: true })
  return yield* countOn("sqlite", server, server.ask({ ask: "statements" }), operations)
}, Effect.scoped)

/** Counts statements in PostgreSQL's log. */
const onPostgres = Effect.fnUntraced(function* (operations: ReadonlyArray<Operation>) {
  const postgres = yield* startPostgres
  const url = yield* postgres.newDatabase
  const database = new URL(url).pathname.slice(1)
  yield* Effect.promise(() => administer(url, `ALTER DATABASE ${database} SET log_statement = 'all'`))
  const observe = Effect.gen(function* () {
    yield* Effect.sleep("30 millis")
    const statements = [...postgres.log.join("").matchAll(/LOG: +(?:statement|execute [^:]*): *(.*)/g)]
    const controls = statements.filter(([, statement]) => isControl(statement ?? "")).length
    return { queries: statements.length - controls, controls } satisfies Observed
  })
  return yield* countOn("postgres", yield* startService(url), observe, operations)
}, Effect.scoped)

/** Counts the statements of operations on SQLite and PostgreSQL. Returns members of a result. */
export const countStatements = Effect.fnUntraced(function* (operations: ReadonlyArray<Operation>) {
  return { ...(yield* onSqlite(operations)), ...(yield* onPostgres(operations)) }
})
