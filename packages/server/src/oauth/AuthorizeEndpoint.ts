/**
 * `/oauth/authorize` (interface document, section 4.1): GET shows a login or consent page, and POST receives its form.
 *
 * The server keeps no session. The form contains the parameters of the request, and POST checks them again. A
 * `client_secret` in the query is checked and removed from the address before a page is shown.
 */
import type { AuthorizeProblem, AuthorizeRequest, AuthorizeSource } from "@doorhook/core"
import { AuthorizationServer, authorizeParameters, denied, outOfBandUri, Parameters, RedirectUri } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import type { Exchange } from "../http/Exchange.ts"
import type { KnownError } from "../http/Failures.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { Answer } from "../http/Route.ts"
import { seeOther } from "../ui/Page.ts"
import type { Pages } from "../ui/Page.ts"
import { loginNames as fields } from "../ui/Parts.ts"
import { askHost, formTokenField, makeFormTokens } from "../ui/Session.ts"
import type { HostVisitor } from "../ui/Session.ts"
import type { Language } from "../ui/Texts.ts"
import { readParameters } from "./FormBody.ts"
import type { FormProblem } from "./FormPages.ts"
import { codePage, consentPage, decision, loginPage, problemPage, returnPage } from "./FormPages.ts"
import type { Scopes } from "./Metadata.ts"
import { descriptionsOf, paths } from "./Metadata.ts"

/**
 * Returns the parameters to repeat in a form or an address: all parameters of the authorize step except for the secret.
 */
const repeatable = ({ resources, values }: Parameters.Parameters): ReadonlyArray<readonly [string, string]> => [
  ...authorizeParameters.flatMap((name) => {
    const value = values.get(name)
    return value === undefined || name === "client_secret" ? [] : [[name, value] as const]
  }),
  ...resources.map((uri) => ["resource", uri] as const)
]

/** Returns the public address of the authorize step, with its parameters but without the secret. */
const cleanUrl = (publicUrl: string, parameters: Parameters.Parameters): string =>
  RedirectUri.withParameters(`${publicUrl}${paths.authorize}`, repeatable(parameters))

/** Calls the host to find out who its visitor is. */
const findVisitor = (
  authorization: AuthorizationServer["Service"],
  publicUrl: string,
  x: Exchange,
  parameters: Parameters.Parameters
) => askHost(authorization, publicUrl, x, cleanUrl(publicUrl, parameters))

const throttled = ({ t }: Language, retryAfter: number): FormProblem => ({
  message: t("throttled", { minutes: Math.ceil(retryAfter / 60) }),
  status: 429,
  headers: { "retry-after": String(retryAfter) }
})

const expired = ({ t }: Language): FormProblem => ({ message: t("form_expired"), status: 403 })

/** A visitor who gets a form. */
type Present = Exclude<HostVisitor, { readonly _tag: "Elsewhere" }>

/** Returns the id of the user that a form is for; empty for the login form. */
const userOf = (visitor: HostVisitor): string => (visitor._tag === "User" ? visitor.id : "")

/** Makes the handlers for both methods. */
export const makeAuthorizeEndpoint = Effect.fnUntraced(function* (
  pages: Pages,
  languageOf: (x: Exchange) => Language,
  scopes: Scopes
) {
  const authorization = yield* AuthorizationServer
  const publicUrl = yield* PublicUrl
  const csrf = yield* makeFormTokens("authorize form")

  /** Returns the path of this endpoint as the browser sees it, with any mount prefix. */
  const ownPath = (): string => new URL(`${publicUrl.url}${paths.authorize}`).pathname

  const sourceOf = ({ address }: Exchange): AuthorizeSource => ({ address, issuer: publicUrl.url })

  /** Redirects the browser to the client. `iss` names the issuer (RFC 9207). */
  const toClient = (
    { redirect_uri, state }: Pick<AuthorizeRequest, "redirect_uri" | "state">,
    answer: Readonly<Record<string, string>>
  ): Answer => {
    const echoed: Readonly<Record<string, string>> = state === null ? {} : { state }
    const added = Object.entries({ ...answer, ...echoed, iss: publicUrl.url })
    return seeOther(RedirectUri.withParameters(redirect_uri, added))
  }

  /** Answers a request that is refused before a form is shown. */
  const refuse = (x: Exchange, problem: AuthorizeProblem): Effect.Effect<Answer> => {
    switch (problem._tag) {
      case "Redirect": {
        const { error, error_description } = problem
        return Effect.succeed(toClient(problem, { error, error_description }))
      }
      case "Throttled": {
        const { headers, message, status } = throttled(languageOf(x), problem.retry_after)
        return pages.answer(problemPage(languageOf(x), message, status, headers))
      }
      case "Busy": {
        const headers = { "retry-after": String(problem.retry_after) }
        return pages.answer(problemPage(languageOf(x), problem.message, 429, headers))
      }
      case "Page": {
        // A 401 needs a challenge (RFC 9110 section 15.5.2). A `Bearer` challenge does not make browsers ask for a
        // password.
        const headers: Readonly<Record<string, string>> =
          problem.status === 401 ? { "www-authenticate": 'Bearer realm="doorhook"' } : {}
        return pages.answer(problemPage(languageOf(x), problem.message, problem.status, headers))
      }
    }
  }

  /** Shows the login or consent form. */
  const showForm = Effect.fnUntraced(function* (
    x: Exchange,
    request: AuthorizeRequest,
    parameters: Parameters.Parameters,
    present: Present,
    problem: FormProblem | null
  ) {
    const { setCookie, token } = yield* csrf.forForm(x, userOf(present))
    const input = {
      language: languageOf(x),
      request,
      scopes: descriptionsOf(request.scope, scopes),
      action: ownPath(),
      hidden: [...repeatable(parameters), [formTokenField, token] as const],
      problem
    }
    const page = yield* pages.answer(
      present._tag === "User"
        ? consentPage({ ...input, user: present.name })
        : loginPage({ ...input, login: parameters.values.get(fields.login) ?? "" })
    )
    return setCookie === null ? page : { ...page, headers: { ...page.headers, "set-cookie": setCookie } }
  })

  /** Ends the authorize step: passes the code to the client, or shows the code to the user. */
  const finish = (x: Exchange, request: AuthorizeRequest, code: string): Effect.Effect<Answer> =>
    request.redirect_uri === outOfBandUri
      ? pages.answer(codePage(languageOf(x), request, code))
      : Effect.succeed(toClient(request, { code }))

  const logIn = Effect.fnUntraced(function* (
    x: Exchange,
    request: AuthorizeRequest,
    form: Parameters.Parameters,
    present: Present
  ) {
    const result = yield* authorization.login(request, {
      login: form.values.get(fields.login) ?? "",
      password: Redacted.make(form.values.get(fields.password) ?? ""),
      address: x.address
    })
    switch (result._tag) {
      case "Refused":
        return yield* showForm(x, request, form, present, { message: languageOf(x).t("wrong_login"), status: 403 })
      case "Throttled":
        return yield* showForm(x, request, form, present, throttled(languageOf(x), result.retry_after))
      case "LoggedIn":
        return yield* finish(x, request, result.code)
    }
  })

  const get = Effect.fnUntraced(function* (x: Exchange): Effect.fn.Return<Answer, KnownError> {
    // `URLSearchParams` removes one leading question mark, which is the added one. A question mark that begins the
    // first name stays.
    const parameters = Parameters.fromPairs(new URLSearchParams(`?${x.query}`))
    const check = yield* authorization.checkAuthorize(parameters, sourceOf(x))
    if (check._tag !== "Valid") return yield* refuse(x, check)
    if (parameters.values.has("client_secret")) {
      return seeOther(RedirectUri.withParameters(ownPath(), repeatable(parameters)))
    }
    const present = yield* findVisitor(authorization, publicUrl.url, x, parameters)
    if (present._tag === "Elsewhere") return seeOther(present.loginUrl)
    // Drops unknown parameters, so that a link can't prefill the form's own fields.
    return yield* showForm(x, check.request, Parameters.fromPairs(repeatable(parameters)), present, null)
  })

  const post = Effect.fnUntraced(function* (x: Exchange, body: Uint8Array): Effect.fn.Return<Answer, KnownError> {
    const form = yield* readParameters(x.header("content-type"), body)
    const language = languageOf(x)
    if (form === null) return yield* pages.answer(problemPage(language, language.t("unknown_encoding"), 415))
    const present = yield* findVisitor(authorization, publicUrl.url, x, form)
    const isGenuine = yield* csrf.isGenuine(x, form.values.get(formTokenField), userOf(present))
    const check = yield* authorization.checkAuthorize(form, sourceOf(x))
    if (check._tag !== "Valid") {
      return isGenuine
        ? yield* refuse(x, check)
        : yield* pages.answer(problemPage(language, language.t("form_expired"), 403))
    }
    const { request } = check
    // This does not redirect to the login page, because the user pressed a button and must see that it had no effect.
    if (present._tag === "Elsewhere")
      return yield* pages.answer(returnPage(language, request, cleanUrl(publicUrl.url, form)))
    if (!isGenuine) return yield* showForm(x, request, form, present, expired(language))
    const chosen = form.values.get(decision.name)
    if (chosen === decision.deny) return yield* refuse(x, denied(request))
    if (present._tag === "Stranger") return yield* logIn(x, request, form, present)
    if (chosen !== decision.allow) {
      return yield* showForm(x, request, form, present, { message: language.t("undecided"), status: 400 })
    }
    return yield* finish(x, request, yield* authorization.approve(request, present.id))
  })

  return { get, post }
})
