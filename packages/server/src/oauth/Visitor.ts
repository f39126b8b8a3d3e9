/**
 * Who has opened the page of the authorize step, as far as the host says: its own login can take the place of doorhook's.
 */
import { AuthorizationServer, authorizeParameters, DirectoryError, RedirectUri } from "@doorhook/core"
import type { Parameters, UserId } from "@doorhook/core"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { PublicUrl } from "../http/PublicUrl.ts"
import { paths } from "./Metadata.ts"

export type Visitor =
  /** Logged in at the host. */
  | { readonly _tag: "User"; readonly id: UserId; readonly name: string }
  /** Has to log in there first, and comes back from there. */
  | { readonly _tag: "Elsewhere"; readonly loginUrl: string }
  /** Has to log in here. */
  | { readonly _tag: "Stranger" }

/** The name of the parameter by which the host's login page is told where to come back to. */
const returnParameter = "return_to"

/** The parameters that a page or a clean address repeats: all that mean something, but for the secret. */
export const repeatable = ({ values }: Parameters.Parameters): ReadonlyArray<readonly [string, string]> =>
  authorizeParameters.flatMap((name) => {
    const value = values.get(name)
    return value === undefined || name === "client_secret" ? [] : [[name, value]]
  })

/** Where this step is, seen from outside, with what it needs to be opened again. */
export const cleanUrl = (parameters: Parameters.Parameters) =>
  Effect.map(PublicUrl, ({ url }) =>
    RedirectUri.withParameters(`${url}${paths.authorize}`, Object.fromEntries(repeatable(parameters)))
  )

/** Where a host sends those who are to log in; null when that is no place that a browser may be sent to. */
const loginPageOf = (given: string, base: string): URL | null => {
  const url = URL.parse(given, base)
  return url !== null && /^https?:$/.test(url.protocol) ? url : null
}

/** What is wrong with a `login_url`. Of it no more than the scheme is told: the rest may hold secrets. */
const wrongLoginUrl = (given: string, base: string): DirectoryError => {
  const scheme = URL.parse(given, base)?.protocol.slice(0, 40)
  const found = scheme === undefined ? "a text that is none" : `one that begins with \`${scheme}\``
  const flaw = `must return a \`login_url\` that is an http or https URL or a path, not ${found}`
  return new DirectoryError({ operation: "session", flaw, cause: new Error(flaw) })
}

/** Asks the host. The way back is made of what is public: no header of the request can change it. */
export const visitor = Effect.fnUntraced(function* (parameters: Parameters.Parameters) {
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const { url: base } = yield* PublicUrl
  const url = yield* cleanUrl(parameters)
  const answer = yield* (yield* AuthorizationServer).session({ url, headers: { ...headers } })
  if (answer === null) return { _tag: "Stranger" } satisfies Visitor
  if ("id" in answer) return { _tag: "User", id: answer.id, name: answer.name ?? answer.id } satisfies Visitor
  const page = loginPageOf(answer.login_url, `${base}/`)
  if (page === null) return yield* wrongLoginUrl(answer.login_url, `${base}/`)
  page.searchParams.set(returnParameter, url)
  return { _tag: "Elsewhere", loginUrl: page.href } satisfies Visitor
})
