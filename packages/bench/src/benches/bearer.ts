/**
 * Measures how much more an authenticated request costs than its response alone.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { fileURLToPath } from "node:url"
import type { Benchmark, Finding, Options } from "../harness/Benchmark.ts"
import type { LoadAnswer } from "../harness/Load.ts"
import { cpuPerRequest, load, requestText } from "../harness/Load.ts"
import { OAuthSession } from "../harness/OAuthSession.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import { startPostgres } from "../harness/PostgresServer.ts"
import type { ServerProcess } from "../harness/ServerProcess.ts"
import { startPeer, startServer, startService } from "../harness/ServerProcess.ts"
import { rounded } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/Workload.ts"

const name = "bearer"

const connections = 32

/** Number of grants, enough to keep each below the service's limit of requests per minute. */
const grants = 400

const bareProgram = fileURLToPath(new URL("../bare.ts", import.meta.url))

interface Target extends Pick<ServerProcess, "pid" | "port"> {
  /** The path of the integration, and the tokens that can read it. */
  readonly path: string
  readonly tokens: ReadonlyArray<string>
  readonly requests: ReadonlyArray<string>
  readonly answer: Answer
}

/** A server's response, for the bare server to repeat. */
interface Answer {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Headers that Node.js adds itself. */
const byNode = ["connection", "date", "keep-alive"]

/** Builds the target of a measurement: a server with an integration that each of the tokens can read. */
const targetOf = async <Server extends ServerProcess>(
  server: Server,
  path: string,
  tokens: ReadonlyArray<string>
): Promise<Server & Target> => {
  const authorization = (token: string | undefined) => ({ authorization: `Bearer ${token}` })
  const shown = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: authorization(tokens[0]) })
  const headers = Object.fromEntries([...shown.headers].filter(([header]) => !byNode.includes(header)))
  const requests = tokens.map((token) => requestText("GET", path, authorization(token)))
  return { ...server, path, tokens, requests, answer: { headers, body: await shown.text() } }
}

const startOurs = Effect.fnUntraced(function* (database: string) {
  const server = yield* startService(database)
  return yield* Effect.promise(async () => {
    const session = new OAuthSession(server.port)
    const tokens = (await session.grants(grants)).map(({ access_token }) => access_token)
    return targetOf(server, await session.createIntegration(tokens[0] ?? ""), tokens)
  })
})

const startFastify = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const server = yield* startPeer("fastify", ...args)
  const { path, tokens }: { readonly path: string; readonly tokens: ReadonlyArray<string> } = JSON.parse(server.line)
  return yield* Effect.promise(() => targetOf(server, path, tokens))
})

const startBare = Effect.fnUntraced(function* (target: Target) {
  const server = yield* startServer(bareProgram, JSON.stringify(target.answer))
  return { ...target, ...server } satisfies Target
})

/** Returns header names, content type and body, without digits because dates and ports differ. */
const formOf = ({ body, headers }: Answer): string =>
  JSON.stringify([Object.keys(headers).toSorted(), headers["content-type"], body.replaceAll(/\d+/g, "0")])

interface Sizes {
  readonly warmUp: number
  readonly seconds: number
}

const get = ({ pid, port, requests }: Target, sizes: Sizes) => load({ ...sizes, pid, port, connections, requests })

/** Measures one server, then stops it. Returns the measurement and the target. */
const measure = <E>(start: Effect.Effect<Target, E, Scope.Scope>, sizes: Sizes) =>
  start.pipe(
    Effect.flatMap((target) => Effect.map(get(target, sizes), (load) => ({ load, target }))),
    Effect.scoped
  )

const tell = (line: string, { cpu, p99, rate }: LoadAnswer): string =>
  `${line} ${Math.round(rate)}/s, p99 ${rounded(p99)} ms, ${cpu === null ? "?" : rounded(cpu)} us of processor time`

interface Comparison {
  readonly line: string
  readonly ours: Array<LoadAnswer>
  readonly peer: Array<LoadAnswer>
}

const comparison = (line: string): Comparison => ({ line, ours: [], peer: [] })

const rateOf = ({ rate }: LoadAnswer): number => rate

const findingOf = ({ line, ours, peer }: Comparison): Finding => ({
  line,
  ours: ours.map(rateOf),
  peer: peer.map(rateOf),
  more: cpuPerRequest({ ours, peer })
})

const run = Effect.fnUntraced(function* (options: Options) {
  const { quick } = options
  const rounds = roundsOf(options, 3)
  const sizes = quick ? { warmUp: 0.2, seconds: 0.5 } : { warmUp: 2, seconds: 4 }
  const postgres = yield* startPostgres
  const sqlite = comparison(name)
  const fastify = comparison(`${name}/fastify`)
  const onPostgres = comparison(`${name}/postgres`)
  const note = (round: number, { line, ours, peer }: Comparison, answers: Record<"ours" | "peer", LoadAnswer>) => {
    ours.push(answers.ours)
    peer.push(answers.peer)
    process.stderr.write(`round ${round + 1}: ${tell(line, answers.ours)}; ${tell("peer", answers.peer)}\n`)
  }
  const checkSame = (ours: Target, byHand: Target): void => {
    if (formOf(byHand.answer) === formOf(ours.answer)) return
    throw new Error(`answers differ: ${formOf(ours.answer)} ${formOf(byHand.answer)}`)
  }
  for (let round = 0; round < rounds; round++) {
    const ours = yield* measure(Effect.flatMap(temporaryDatabase, startOurs), sizes)
    note(round, sqlite, { ours: ours.load, peer: (yield* measure(startBare(ours.target), sizes)).load })
    const byHand = yield* measure(startFastify("sqlite", String(grants), yield* temporaryDatabase), sizes)
    checkSame(ours.target, byHand.target)
    note(round, fastify, { ours: ours.load, peer: byHand.load })
    const database = yield* postgres.newDatabase
    const other = yield* measure(startOurs(database), sizes)
    const { path, tokens } = other.target
    const onPg = yield* measure(startFastify("postgres", database, path, ...tokens), sizes)
    checkSame(other.target, onPg.target)
    note(round, onPostgres, { ours: other.load, peer: onPg.load })
  }
  return [findingOf(sqlite), findingOf(fastify), findingOf(onPostgres)]
})

const ours = "answers/s, SQLite"
const bare = "answers/s of bare node:http with the same bytes"

export const benchmark: Benchmark = {
  name,
  minutes: 3,
  summary:
    "authenticated reads of an integration per second, against bare node:http with the same bytes and hand-written servers on Fastify",
  compares:
    "The built `doorhook serve` on SQLite serves reads of an integration: token check, permission, rate limit, read. The requests are sent as fast as possible over 32 keep-alive connections, with the tokens of 400 grants. The bare server returns the same headers and body without any lookup. The server on Fastify and `node:sqlite` is written by hand for speed: prepared statements, users and clients in maps, the same rate limit and the same response. On PostgreSQL, the server by hand reads the same tables with the same two statements over ten connections of `pg`, which doorhook has, too. The requests come from another process on the same cores. Processor time per request is that of the server's process, without PostgreSQL's.",
  leavesOut: "Directories in a database, and lists of many integrations.",
  notes:
    "An authenticated read costs 35 µs of processor time on SQLite, compared with 15 µs for the bare server and 39 µs for the hand-written one; a third of it is the kernel's, for writing the answer. On PostgreSQL it costs 89 µs, compared with 150 µs for the hand-written server, because one statement reads the rows for requests that arrive together. With a statement for each request it cost 428 µs. The token is looked up at each request, and nothing is cached between them. The run below was beside 20 other busy processes, so its rates vary by a factor of five.",
  lines: {
    [name]: { ours, peer: bare, unit: "1/s", goal: { is: "at least", ratio: 0.7 } },
    [`${name}/fastify`]: {
      ours,
      peer: "answers/s of a hand-written server on Fastify and node:sqlite",
      unit: "1/s",
      goal: { is: "at least", ratio: 1.5 }
    },
    [`${name}/postgres`]: {
      ours: "answers/s, PostgreSQL",
      peer: "answers/s of a hand-written server on Fastify and pg, with the same statements",
      unit: "1/s",
      goal: { is: "at least", ratio: 1 }
    }
  },
  run
}
