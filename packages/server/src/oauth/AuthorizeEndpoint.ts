/**
 * `/oauth/authorize` (document section 4.1): GET shows a page to log in or to consent, POST takes it.
 *
 * The server keeps no session: the form carries the parameters of the request, and they are checked again when it comes
 * back. A `client_secret` in the query is checked and gone from the address before a page is shown.
 */
import type { AuthorizeProblem, AuthorizeRequest } from "@doorhook/core"
import { AuthorizationServer, denied, outOfBandUri, Parameters, RedirectUri } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { clientAddress } from "../http/ClientAddress.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import { confidential } from "./Answers.ts"
import { consentPage } from "./ConsentPage.ts"
import * as CsrfToken from "./CsrfToken.ts"
import { readParameters } from "./FormBody.ts"
import type { FormProblem } from "./FormPage.ts"
import { decision } from "./FormPage.ts"
import { fields, loginPage } from "./LoginPage.ts"
import { paths } from "./Metadata.ts"
import * as Page from "./Page.ts"
import { codePage, problemPage, returnPage } from "./ResultPages.ts"
import type { Visitor } from "./Visitor.ts"
import { cleanUrl, repeatable, visitor } from "./Visitor.ts"

/** Sends the browser on with a GET, whatever it came with (RFC 9700 section 4.12). */
const seeOther = (location: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status: 303, headers: { ...confidential, location } })

/** Path of this endpoint as the browser sees it, behind whatever prefix the service is mounted at. */
const ownPath = Effect.map(PublicUrl, ({ url }) => new URL(`${url}${paths.authorize}`).pathname)

/** Sends the browser to the client with an answer. `iss` says whose it is (RFC 9207). */
const toClient = Effect.fnUntraced(function* (
  target: { readonly redirect_uri: string; readonly state: string | null },
  answer: Readonly<Record<string, string>>
) {
  const { url: iss } = yield* PublicUrl
  const state: Readonly<Record<string, string>> = target.state === null ? {} : { state: target.state }
  return seeOther(RedirectUri.withParameters(target.redirect_uri, { ...answer, ...state, iss }))
})

/** Waiting, in words. */
const throttled = (retryAfter: number): FormProblem => ({
  message: `Too many attempts. Please wait ${Math.ceil(retryAfter / 60)} min. before you try again.`,
  status: 429,
  headers: { "retry-after": String(retryAfter) }
})

/** Answers a request that can't be put before the user. */
const refuse = (problem: AuthorizeProblem) => {
  switch (problem._tag) {
    case "Redirect": {
      const { error, error_description } = problem
      return toClient(problem, { error, error_description })
    }
    case "Throttled": {
      const { headers, message, status } = throttled(problem.retry_after)
      return Page.answer(problemPage(message, status, headers))
    }
    case "Page": {
      // A 401 needs a challenge (RFC 9110 section 15.5.2); this one makes no browser ask for a password.
      const headers: Readonly<Record<string, string>> =
        problem.status === 401 ? { "www-authenticate": 'Bearer realm="doorhook"' } : {}
      return Page.answer(problemPage(problem.message, problem.status, headers))
    }
  }
}

/** Somebody who can be shown a form. */
type Present = Exclude<Visitor, { readonly _tag: "Elsewhere" }>

/** Whom a form is for; null when it asks for login and password. */
const userOf = (present: Visitor) => (present._tag === "User" ? present.id : null)

/** Shows the form to log in or to consent. */
const showForm = Effect.fnUntraced(function* (
  request: AuthorizeRequest,
  parameters: Parameters.Parameters,
  present: Present,
  problem: FormProblem | null
) {
  const { token, setCookie } = yield* CsrfToken.forForm(userOf(present))
  const hidden = [...repeatable(parameters), [CsrfToken.fieldName, token] as const]
  const input = { request, action: yield* ownPath, hidden, problem }
  const page = yield* Page.answer(
    present._tag === "User"
      ? consentPage({ ...input, user: present.name })
      : loginPage({ ...input, login: parameters.values.get(fields.login) ?? "" })
  )
  return setCookie === null ? page : HttpServerResponse.setHeader(page, "set-cookie", setCookie)
})

const readQuery = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
  const start = url.indexOf("?")
  return Parameters.fromPairs(start === -1 ? [] : new URLSearchParams(url.slice(start)))
})

/** Takes a user in. */
export const get = Effect.gen(function* () {
  const parameters = yield* readQuery
  const check = yield* (yield* AuthorizationServer).checkAuthorize(parameters, yield* clientAddress)
  if (check._tag !== "Valid") return yield* refuse(check)
  if (parameters.values.has("client_secret")) {
    return seeOther(RedirectUri.withParameters(yield* ownPath, Object.fromEntries(repeatable(parameters))))
  }
  const present = yield* visitor(parameters)
  if (present._tag === "Elsewhere") return seeOther(present.loginUrl)
  // What a link says is not what the user entered.
  return yield* showForm(check.request, Parameters.fromPairs(repeatable(parameters)), present, null)
})

const expired: FormProblem = {
  message: "The page was open for too long, or the browser refuses cookies. Please try again.",
  status: 403
}

const wrongLogin: FormProblem = { message: "Login or password is wrong. Please try again.", status: 403 }

const undecided: FormProblem = { message: "Please choose whether to allow or to deny.", status: 400 }

/** Goes on with the code of a user who has allowed it. */
const finish = (request: AuthorizeRequest, code: string) =>
  request.redirect_uri === outOfBandUri ? Page.answer(codePage(request, code)) : toClient(request, { code })

/** Somebody filled in login and password. */
const logIn = Effect.fnUntraced(function* (request: AuthorizeRequest, form: Parameters.Parameters, present: Present) {
  const result = yield* (yield* AuthorizationServer).login(request, {
    login: form.values.get(fields.login) ?? "",
    password: Redacted.make(form.values.get(fields.password) ?? ""),
    address: yield* clientAddress
  })
  switch (result._tag) {
    case "Refused":
      return yield* showForm(request, form, present, wrongLogin)
    case "Throttled":
      return yield* showForm(request, form, present, throttled(result.retry_after))
    case "LoggedIn":
      return yield* finish(request, result.code)
  }
})

/** Takes the form. */
export const post = Effect.gen(function* () {
  const form = yield* readParameters
  if (form === null) return yield* Page.answer(problemPage("The form came in an unknown encoding.", 415))
  const present = yield* visitor(form)
  const isGenuine = yield* CsrfToken.isGenuine(form, userOf(present))
  const authorization = yield* AuthorizationServer
  const check = yield* authorization.checkAuthorize(form, yield* clientAddress)
  if (check._tag !== "Valid") {
    return isGenuine ? yield* refuse(check) : yield* Page.answer(problemPage(expired.message, expired.status))
  }
  const { request } = check
  // Said rather than redirected to the login page: a button was pressed, and nothing came of it.
  if (present._tag === "Elsewhere") return yield* Page.answer(returnPage(request, yield* cleanUrl(form)))
  if (!isGenuine) return yield* showForm(request, form, present, expired)
  const chosen = form.values.get(decision.name)
  if (chosen === decision.deny) return yield* refuse(denied(request))
  if (present._tag === "Stranger") return yield* logIn(request, form, present)
  if (chosen !== decision.allow) return yield* showForm(request, form, present, undecided)
  return yield* finish(request, yield* authorization.approve(request, present.id))
})
