/**
 * The token endpoint against the OAuth servers that Node has.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import { fileURLToPath } from "node:url"
import type { Benchmark, Finding } from "../harness/Benchmark.ts"
import { answersOf, contest, failureOf } from "../harness/Contest.ts"
import type { LoadAnswer } from "../harness/Load.ts"
import { load } from "../harness/Load.ts"
import { OAuthSession } from "../harness/OAuthSession.ts"
import type { Options } from "../harness/Options.ts"
import { roundsOf } from "../harness/Options.ts"
import type { Encoding } from "../harness/RefreshRequest.ts"
import { refreshRequest } from "../harness/RefreshRequest.ts"
import type { ServerProcess } from "../harness/ServerProcess.ts"
import { profileWhile, startProgram, startService } from "../harness/ServerProcess.ts"
import { countStatements } from "../harness/StatementCounts.ts"
import type { ProgramFailed } from "../harness/RunProgram.ts"
import { median, rounded } from "../harness/Statistics.ts"

const name = "oauth-refresh"

const connections = 32

/** As many users take turns: few enough for the thousand records that one of the peers keeps in memory. */
const grants = 64

interface TokenServer extends Pick<ServerProcess, "ask" | "port"> {
  readonly refreshTokens: ReadonlyArray<string>
}

const startOurs = Effect.fnUntraced(function* (observed = false) {
  const server = yield* startService("memory", { observed })
  const tokens = yield* Effect.promise(() => new OAuthSession(server.port).grants(grants))
  return { ...server, refreshTokens: tokens.map(({ refresh_token }) => refresh_token) } satisfies TokenServer
})

const startPeer = Effect.fnUntraced(function* (peer: string) {
  const program = fileURLToPath(new URL(`../peers/${peer}/serve.ts`, import.meta.url))
  const server = yield* startProgram(program, [String(grants)])
  const { refreshTokens }: TokenServer = JSON.parse(server.line)
  return { ...server, refreshTokens } satisfies TokenServer
})

const peers = ["oauth2-server", "oidc-provider"] as const

type Contender = "ours" | "ours/multipart" | (typeof peers)[number]

const encodingOf = (contender: Contender): Encoding => (contender === "ours/multipart" ? "multipart" : "urlencoded")

const start = (contender: Contender): Effect.Effect<TokenServer, never, Scope.Scope> =>
  contender === "ours" || contender === "ours/multipart" ? startOurs() : startPeer(contender)

interface Sizes {
  readonly warmUp: number
  readonly seconds: number
}

const refresh = (server: TokenServer, encoding: Encoding, sizes: Sizes) =>
  load({
    ...sizes,
    port: server.port,
    connections,
    requests: server.refreshTokens.map((token) => refreshRequest(token, encoding))
  })

const run = Effect.fnUntraced(function* (options: Options) {
  const { profile, quick } = options
  const rounds = roundsOf(options, 3)
  const sizes = quick ? { warmUp: 0.2, seconds: 0.5 } : { warmUp: 2, seconds: 5 }
  if (profile) {
    const server = yield* startOurs(true)
    yield* refresh(server, "urlencoded", { warmUp: 0, seconds: 3 })
    yield* profileWhile(server, name, refresh(server, "urlencoded", { warmUp: 0, seconds: 5 }))
    return []
  }
  const outcome = yield* contest<Contender, LoadAnswer, ProgramFailed, never>(
    { ours: ["ours", "ours/multipart"], peers },
    rounds,
    (contender) =>
      Effect.scoped(Effect.flatMap(start(contender), (server) => refresh(server, encodingOf(contender), sizes))),
    ({ p50, p99, rate }) => `${Math.round(rate)}/s, p50 ${rounded(p50)} ms, p99 ${rounded(p99)} ms`
  )
  const of = (contender: Contender): ReadonlyArray<number> => answersOf(outcome, contender).map(({ rate }) => rate)
  const best = peers.toSorted((a, b) => median(of(b)) - median(of(a)))[0] ?? peers[0]
  const p99 = (contender: Contender): number => rounded(median(answersOf(outcome, contender).map((one) => one.p99)))
  const against = (line: string, peer: Contender, ours: Contender = "ours"): Finding => ({
    line,
    ours: of(ours),
    peer: of(peer),
    more: { against: peer, ours_p99_ms: p99(ours), peer_p99_ms: p99(peer) },
    ...failureOf(outcome, peer)
  })
  const headline = against(name, best)
  return [
    { ...headline, more: { ...headline.more, ...(yield* countStatements(["exchange", "refresh"])) } },
    against(`${name}/multipart`, best, "ours/multipart"),
    ...peers.map((peer) => against(`${name}/${peer}`, peer))
  ]
})

const ours = "refresh grants/s, urlencoded bodies"

export const benchmark: Benchmark = {
  name,
  minutes: 2,
  summary: "refresh grants a second in memory, against @node-oauth/oauth2-server and oidc-provider",
  compares:
    "A confidential client refreshes tokens of 64 users over 32 connections that stay open, as fast as it is answered: `doorhook serve --database memory` as it comes, `@node-oauth/oauth2-server` on bare `node:http`, and `oidc-provider`. All keep the refresh token and issue a new access token for a day; ours keeps only SHA-256 of each, and of a grant the newest hundred access tokens, the others keep all as they are. Its limit of token requests a minute is off. Each round is a new process of the server; rounds take turns. The second line sends multipart bodies, as the document does, which no peer reads, against the best peer with its own. The results tell the statements of a code exchange and of a refresh on each database too, without those that begin and end a transaction and with them.",
  leavesOut:
    "Databases, where a disk or a server takes most of the time; logging in; rotating refresh tokens. The peers do their in-memory models of the documentation, which are not meant for production.",
  lines: {
    [name]: { ours, peer: "the same of the best server", unit: "1/s", goal: { is: "at least", ratio: 1.5 } },
    [`${name}/multipart`]: {
      ours: "refresh grants/s, multipart bodies",
      peer: "refresh grants/s of the best server, urlencoded bodies",
      unit: "1/s",
      goal: { is: "at least", ratio: 1.5 }
    },
    [`${name}/oauth2-server`]: { ours, peer: "@node-oauth/oauth2-server", unit: "1/s", goal: null },
    [`${name}/oidc-provider`]: { ours, peer: "oidc-provider", unit: "1/s", goal: null }
  },
  canProfile: true,
  run
}
