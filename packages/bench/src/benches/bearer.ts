/**
 * What an authenticated request costs beyond the answer itself.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { fileURLToPath } from "node:url"
import type { Benchmark } from "../harness/Benchmark.ts"
import { load, requestText } from "../harness/Load.ts"
import { OAuthSession } from "../harness/OAuthSession.ts"
import type { Options } from "../harness/Options.ts"
import { roundsOf } from "../harness/Options.ts"
import { startPostgres } from "../harness/PostgresServer.ts"
import type { ServerProcess } from "../harness/ServerProcess.ts"
import { profileWhile, startProgram, startService } from "../harness/ServerProcess.ts"
import { countStatements } from "../harness/StatementCounts.ts"
import { rounded } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/TemporaryFile.ts"

const name = "bearer"

const connections = 32

/** So many that none asks too often for the service's limit of requests a minute. */
const grants = 400

const bareProgram = fileURLToPath(new URL("../bare.ts", import.meta.url))

interface Target extends Pick<ServerProcess, "ask" | "port"> {
  readonly requests: ReadonlyArray<string>
  /** An answer of it, as a bare server gives it again. */
  readonly answer: string
}

/** Headers that a server of Node's writes by itself. */
const byNode = ["connection", "date", "keep-alive"]

const startOurs = Effect.fnUntraced(function* (database: string, observed = false) {
  const server = yield* startService(database, { observed })
  return yield* Effect.promise(async (): Promise<Target> => {
    const session = new OAuthSession(server.port)
    const tokens = (await session.grants(grants)).map(({ access_token }) => access_token)
    const path = await session.createIntegration(tokens[0] ?? "")
    const authorization = (token: string | undefined) => ({ authorization: `Bearer ${token}` })
    const shown = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: authorization(tokens[0]) })
    const headers = Object.fromEntries([...shown.headers].filter(([header]) => !byNode.includes(header)))
    return {
      ...server,
      requests: tokens.map((token) => requestText("GET", path, authorization(token))),
      answer: JSON.stringify({ headers, body: await shown.text() })
    }
  })
})

interface Sizes {
  readonly warmUp: number
  readonly seconds: number
}

const get = ({ port, requests }: Pick<Target, "port" | "requests">, sizes: Sizes) =>
  load({ ...sizes, port, connections, requests })

/** Answers a second of a new service, and of a bare server that answers the same bytes to the same requests. */
const compare = Effect.fnUntraced(function* (database: Effect.Effect<string, never, Scope.Scope>, sizes: Sizes) {
  const target = yield* startOurs(yield* database)
  const ours = yield* get(target, sizes)
  const bare = yield* startProgram(bareProgram, [target.answer])
  const peer = yield* get({ port: bare.port, requests: target.requests }, sizes)
  return { ours, peer }
}, Effect.scoped)

const run = Effect.fnUntraced(function* (options: Options) {
  const { profile, quick } = options
  const rounds = roundsOf(options, 3)
  const sizes = quick ? { warmUp: 0.2, seconds: 0.5 } : { warmUp: 2, seconds: 4 }
  if (profile) {
    const target = yield* startOurs(yield* temporaryDatabase, true)
    yield* get(target, { warmUp: 0, seconds: 3 })
    yield* profileWhile(target, name, get(target, { warmUp: 0, seconds: 4 }))
    return []
  }
  const postgres = yield* startPostgres
  const storages = [
    { line: name, database: temporaryDatabase },
    { line: `${name}/postgres`, database: postgres.newDatabase }
  ].map((storage) => ({ ...storage, ours: Array.of<number>(), peer: Array.of<number>() }))
  for (let round = 0; round < rounds; round++) {
    for (const { database, line, ours: rates, peer: bareRates } of storages) {
      const { ours, peer } = yield* compare(database, sizes)
      rates.push(ours.rate)
      bareRates.push(peer.rate)
      process.stderr.write(
        `round ${round + 1}: ${line} ${Math.round(ours.rate)}/s, p99 ${rounded(ours.p99)} ms; bare ${Math.round(peer.rate)}/s, p99 ${rounded(peer.p99)} ms\n`
      )
    }
  }
  const more = yield* countStatements(["check", "get"])
  return storages.map(({ line, ours, peer }) => ({ line, ours, peer, ...(line === name && { more }) }))
})

const peer = "answers/s of bare node:http, the same bytes"

export const benchmark: Benchmark = {
  name,
  minutes: 2,
  summary: "authenticated reads of an integration a second, against bare node:http with the same bytes",
  compares:
    "400 grants of a user read an integration over 32 connections that stay open, as fast as they are answered, from `doorhook serve` as it comes: the token is hashed and found, the user's right is asked from the directory, requests are counted against their limit, and the integration is read from SQLite. The bare server has the answer's headers and body ready and looks at nothing. The requests come from a process of its own, which shares the two cores. The results tell the statements of a token check alone and of the whole request on each database, without those that begin and end a transaction and with them.",
  leavesOut: "Directories that are databases themselves, and lists of many integrations.",
  lines: {
    [name]: { ours: "answers/s, SQLite", peer, unit: "1/s", goal: { is: "at least", ratio: 0.4 } },
    [`${name}/postgres`]: { ours: "answers/s, PostgreSQL", peer, unit: "1/s", goal: null }
  },
  canProfile: true,
  run
}
