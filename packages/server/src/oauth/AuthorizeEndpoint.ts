/**
 * `/oauth/authorize` (document section 4.1): GET shows the login page, POST takes it.
 *
 * The server keeps no session: the form carries the parameters of the request, and they are checked again when it comes
 * back. A `client_secret` in the query is checked and gone from the address before a page is shown.
 */
import type { AuthorizeProblem, AuthorizeRequest } from "@doorhook/core"
import { Authorization, authorizeParameters, denied, outOfBandUri, Parameters, RedirectUri } from "@doorhook/core"
import { Effect, Option, Redacted } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { PublicUrl } from "../http/PublicUrl.ts"
import { confidential } from "./Answers.ts"
import * as CsrfToken from "./CsrfToken.ts"
import { readParameters } from "./FormBody.ts"
import type { LoginProblem } from "./LoginPage.ts"
import { deny, fields, loginPage } from "./LoginPage.ts"
import { paths } from "./Metadata.ts"
import * as Page from "./Page.ts"
import { codePage, problemPage } from "./ResultPages.ts"

/** Sends the browser on with a GET, whatever it came with (RFC 9700 section 4.12). */
const seeOther = (location: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status: 303, headers: { ...confidential, location } })

/** Path of this endpoint as the browser sees it, behind whatever prefix the service is mounted at. */
const ownPath = Effect.map(PublicUrl, ({ url }) => new URL(`${url}${paths.authorize}`).pathname)

/** The parameters that a page or a clean address repeats: all that mean something, but for the secret. */
const repeatable = ({ values }: Parameters.Parameters): ReadonlyArray<readonly [string, string]> =>
  authorizeParameters.flatMap((name) => {
    const value = values.get(name)
    return value === undefined || name === "client_secret" ? [] : [[name, value]]
  })

/** Sends the browser to the client with an answer. `iss` says whose it is (RFC 9207). */
const toClient = Effect.fnUntraced(function* (
  target: { readonly redirect_uri: string; readonly state: string | null },
  answer: Readonly<Record<string, string>>
) {
  const { url: iss } = yield* PublicUrl
  const state: Readonly<Record<string, string>> = target.state === null ? {} : { state: target.state }
  return seeOther(RedirectUri.withParameters(target.redirect_uri, { ...answer, ...state, iss }))
})

/** Answers a request that can't be put before the user. */
const refuse = (problem: AuthorizeProblem) => {
  if (problem._tag === "Redirect") {
    const { error, error_description } = problem
    return toClient(problem, { error, error_description })
  }
  // A 401 needs a challenge (RFC 9110 section 15.5.2); this one makes no browser ask for a password.
  const headers: Readonly<Record<string, string>> =
    problem.status === 401 ? { "www-authenticate": 'Bearer realm="doorhook"' } : {}
  return Page.answer(problemPage(problem.message, problem.status, headers))
}

/** Shows the login form. */
const showForm = Effect.fnUntraced(function* (
  request: AuthorizeRequest,
  parameters: Parameters.Parameters,
  login: string,
  problem: LoginProblem | null
) {
  const { token, setCookie } = yield* CsrfToken.forForm
  const hidden = [...repeatable(parameters), [CsrfToken.fieldName, token] as const]
  const page = yield* Page.answer(loginPage({ request, action: yield* ownPath, hidden, login, problem }))
  return setCookie === null ? page : HttpServerResponse.setHeader(page, "set-cookie", setCookie)
})

const readQuery = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
  const start = url.indexOf("?")
  return Parameters.fromPairs(start === -1 ? [] : new URLSearchParams(url.slice(start)))
})

/** Takes a user in. */
export const get = Effect.gen(function* () {
  const parameters = yield* readQuery
  const check = yield* (yield* Authorization).checkAuthorize(parameters)
  if (check._tag !== "Valid") return yield* refuse(check)
  if (parameters.values.has("client_secret")) {
    return seeOther(RedirectUri.withParameters(yield* ownPath, Object.fromEntries(repeatable(parameters))))
  }
  return yield* showForm(check.request, parameters, "", null)
})

const expired: LoginProblem = {
  message: "The page was open for too long, or the browser refuses cookies. Please try again.",
  status: 403
}

const wrongLogin: LoginProblem = { message: "Login or password is wrong. Please try again.", status: 403 }

const throttled = (retryAfter: number): LoginProblem => ({
  message: `Too many attempts. Please wait ${Math.ceil(retryAfter / 60)} min. before you try again.`,
  status: 429,
  headers: { "retry-after": String(retryAfter) }
})

/** Somebody filled in the form. */
const logIn = Effect.fnUntraced(function* (request: AuthorizeRequest, form: Parameters.Parameters) {
  const { remoteAddress } = yield* HttpServerRequest.HttpServerRequest
  const login = form.values.get(fields.login) ?? ""
  const result = yield* (yield* Authorization).login(request, {
    login,
    password: Redacted.make(form.values.get(fields.password) ?? ""),
    address: Option.getOrElse(remoteAddress, () => "unknown")
  })
  switch (result._tag) {
    case "Refused":
      return yield* showForm(request, form, login, wrongLogin)
    case "Throttled":
      return yield* showForm(request, form, login, throttled(result.retry_after))
    case "LoggedIn":
      return request.redirect_uri === outOfBandUri
        ? yield* Page.answer(codePage(request, result.code))
        : yield* toClient(request, { code: result.code })
  }
})

/** Takes the login form. */
export const post = Effect.gen(function* () {
  const form = yield* readParameters
  if (form === null) return yield* Page.answer(problemPage("The form came in an unknown encoding.", 415))
  const isGenuine = yield* CsrfToken.isGenuine(form)
  const check = yield* (yield* Authorization).checkAuthorize(form)
  if (!isGenuine) {
    return check._tag === "Valid"
      ? yield* showForm(check.request, form, "", expired)
      : yield* Page.answer(problemPage(expired.message, expired.status))
  }
  if (check._tag !== "Valid") return yield* refuse(check)
  if (form.values.get(fields.decision) === deny) {
    return yield* refuse(denied(check.request))
  }
  return yield* logIn(check.request, form)
})
