/**
 * Compares the token endpoint with other OAuth servers for Node.js.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Benchmark, Finding } from "../harness/Benchmark.ts"
import { answersOf, contest, failureOf } from "../harness/Contest.ts"
import type { LoadAnswer } from "../harness/Load.ts"
import { cpuPerRequest, load } from "../harness/Load.ts"
import { OAuthSession } from "../harness/OAuthSession.ts"
import type { Options } from "../harness/Options.ts"
import { roundsOf } from "../harness/Options.ts"
import type { Encoding } from "../harness/RefreshRequest.ts"
import { refreshRequest } from "../harness/RefreshRequest.ts"
import type { ProgramFailed } from "../harness/RunProgram.ts"
import type { ServerProcess } from "../harness/ServerProcess.ts"
import { profileWhile, startPeer, startService } from "../harness/ServerProcess.ts"
import { countStatements } from "../harness/StatementCounts.ts"
import { median, rounded } from "../harness/Statistics.ts"
import { temporaryDatabase } from "../harness/TemporaryFile.ts"

const name = "oauth-refresh"

const connections = 32

/**
 * Number of users whose tokens are refreshed in turn. Small, because one of the peers keeps only a thousand records in
 * memory.
 */
const grants = 64

interface TokenServer extends Pick<ServerProcess, "ask" | "pid" | "port"> {
  readonly refreshTokens: ReadonlyArray<string>
}

const startOurs = Effect.fnUntraced(function* (database: string, observed = false) {
  const server = yield* startService(database, { observed })
  const tokens = yield* Effect.promise(() => new OAuthSession(server.port).grants(grants))
  return { ...server, refreshTokens: tokens.map(({ refresh_token }) => refresh_token) } satisfies TokenServer
})

const startOther = Effect.fnUntraced(function* (peer: string, ...database: ReadonlyArray<string>) {
  const server = yield* startPeer(peer, [String(grants), ...database])
  const { refreshTokens }: TokenServer = JSON.parse(server.line)
  return { ...server, refreshTokens } satisfies TokenServer
})

const ours = ["ours", "ours/multipart", "ours/sqlite"] as const
const inMemory = ["oauth2-server", "oidc-provider"] as const
const onSqlite = "oauth2-server/sqlite"

type Contender = (typeof ours)[number] | (typeof inMemory)[number] | typeof onSqlite

const servers: Readonly<Record<Contender, Effect.Effect<TokenServer, never, Scope.Scope>>> = {
  ours: startOurs("memory"),
  "ours/multipart": startOurs("memory"),
  "ours/sqlite": Effect.flatMap(temporaryDatabase, startOurs),
  "oauth2-server": startOther("oauth2-server"),
  "oidc-provider": startOther("oidc-provider"),
  [onSqlite]: Effect.flatMap(temporaryDatabase, (file) => startOther("oauth2-server", file))
}

const encodingOf = (contender: Contender): Encoding => (contender === "ours/multipart" ? "multipart" : "urlencoded")

interface Sizes {
  readonly warmUp: number
  readonly seconds: number
}

const refresh = (server: TokenServer, encoding: Encoding, sizes: Sizes) =>
  load({
    ...sizes,
    pid: server.pid,
    port: server.port,
    connections,
    requests: server.refreshTokens.map((token) => refreshRequest(token, encoding))
  })

const run = Effect.fnUntraced(function* (options: Options) {
  const { profile, quick } = options
  const rounds = roundsOf(options, 3)
  const sizes = quick ? { warmUp: 0.2, seconds: 0.5 } : { warmUp: 2, seconds: 5 }
  if (profile) {
    const server = yield* startOurs("memory", true)
    yield* refresh(server, "urlencoded", { warmUp: 0, seconds: 3 })
    yield* profileWhile(server, name, refresh(server, "urlencoded", { warmUp: 0, seconds: 5 }))
    return []
  }
  const outcome = yield* contest<Contender, LoadAnswer, ProgramFailed, never>(
    { ours, peers: [...inMemory, onSqlite] },
    rounds,
    (contender) =>
      Effect.scoped(Effect.flatMap(servers[contender], (server) => refresh(server, encodingOf(contender), sizes))),
    ({ cpu, p50, p99, rate }) =>
      `${Math.round(rate)}/s, p50 ${rounded(p50)} ms, p99 ${rounded(p99)} ms, ${cpu === null ? "?" : rounded(cpu)} us of processor time`
  )
  const of = (contender: Contender): ReadonlyArray<number> => answersOf(outcome, contender).map(({ rate }) => rate)
  const best = inMemory.toSorted((a, b) => median(of(b)) - median(of(a)))[0] ?? inMemory[0]
  const p99 = (contender: Contender): number => rounded(median(answersOf(outcome, contender).map((one) => one.p99)))
  const against = (line: string, peer: Contender, our: Contender = "ours"): Finding => ({
    line,
    ours: of(our),
    peer: of(peer),
    more: {
      against: peer,
      ...cpuPerRequest({ ours: answersOf(outcome, our), peer: answersOf(outcome, peer) }),
      ours_p99_ms: p99(our),
      peer_p99_ms: p99(peer)
    },
    ...failureOf(outcome, peer)
  })
  const headline = against(name, best)
  return [
    { ...headline, more: { ...headline.more, ...(yield* countStatements(["exchange", "refresh"])) } },
    against(`${name}/multipart`, best, "ours/multipart"),
    against(`${name}/sqlite`, onSqlite, "ours/sqlite"),
    ...inMemory.map((peer) => against(`${name}/${peer}`, peer))
  ]
})

const unit = "1/s"
const urlencoded = "refresh grants/s, urlencoded bodies"

export const benchmark: Benchmark = {
  name,
  minutes: 3,
  summary: "refresh grants per second in memory and on SQLite, against @node-oauth/oauth2-server and oidc-provider",
  compares:
    "A confidential client refreshes the tokens of 64 users over 32 keep-alive connections, as fast as possible. In memory: the built `doorhook serve --database memory`, `@node-oauth/oauth2-server` on bare `node:http`, and `oidc-provider`. All servers keep the refresh token unchanged and issue access tokens valid for a day. doorhook stores tokens only as SHA-256 hashes, and keeps only the newest hundred access tokens of a grant. On SQLite: `doorhook serve` on a file, and `@node-oauth/oauth2-server` over `node:sqlite` with WAL and `synchronous=FULL`, one transaction per refresh. Both sync a token to disk before they respond. doorhook's limit on token requests is off. Each round is a new process. In the second line doorhook gets multipart bodies and the best peer gets urlencoded bodies, because no peer reads multipart bodies. Processor time is that of the server's process. Statements are counted twice: without and with the statements that begin or end transactions.",
  leavesOut:
    "PostgreSQL, logging in, rotating refresh tokens, and purging old tokens, which the peers do not do. In memory, the peers use the models from their documentation, which are not meant for production.",
  lines: {
    [name]: {
      ours: urlencoded,
      peer: "refresh grants/s of the best server",
      unit,
      goal: { is: "at least", ratio: 2 }
    },
    [`${name}/multipart`]: {
      ours: "refresh grants/s, multipart bodies",
      peer: "refresh grants/s of the best server, urlencoded bodies",
      unit,
      goal: { is: "at least", ratio: 1.5 }
    },
    [`${name}/sqlite`]: {
      ours: "refresh grants/s, durable on SQLite",
      peer: "@node-oauth/oauth2-server over node:sqlite",
      unit,
      goal: { is: "at least", ratio: 3 }
    },
    [`${name}/oauth2-server`]: { ours: urlencoded, peer: "@node-oauth/oauth2-server", unit, goal: null },
    [`${name}/oidc-provider`]: { ours: urlencoded, peer: "oidc-provider", unit, goal: null }
  },
  canProfile: true,
  run
}
