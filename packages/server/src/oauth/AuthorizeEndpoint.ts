/**
 * `/oauth/authorize` (document section 4.1): GET shows a page to log in or to consent, POST takes its form.
 *
 * The server keeps no session: the form carries the parameters of the request, and they are checked again when it comes
 * back. A `client_secret` in the query is checked and removed from the address before a page is shown.
 */
import type { AuthorizeProblem, AuthorizeRequest } from "@doorhook/core"
import { AuthorizationServer, denied, outOfBandUri, Parameters, RedirectUri } from "@doorhook/core"
import { Effect, Redacted } from "effect"
import type { Exchange } from "../http/Exchange.ts"
import type { KnownError } from "../http/Failures.ts"
import { PublicUrl } from "../http/PublicUrl.ts"
import type { Answer } from "../http/Route.ts"
import { readParameters } from "./FormBody.ts"
import type { FormProblem } from "./FormPages.ts"
import { consentPage, decision, fields, loginPage } from "./FormPages.ts"
import type { Scopes } from "./Metadata.ts"
import { descriptionsOf, paths } from "./Metadata.ts"
import type { Pages } from "./Page.ts"
import { codePage, confidential, problemPage, returnPage } from "./Page.ts"
import type { Visitor } from "./Visitor.ts"
import { cleanUrl, csrfField, findVisitor, makeCsrfTokens, repeatable } from "./Visitor.ts"

/** Sends the browser on with a GET, whatever the method was (RFC 9700 section 4.12). */
const seeOther = (location: string): Answer => ({ status: 303, headers: { ...confidential, location }, body: null })

const throttled = (retryAfter: number): FormProblem => ({
  message: `Too many attempts. Please wait ${Math.ceil(retryAfter / 60)} min. before you try again.`,
  status: 429,
  headers: { "retry-after": String(retryAfter) }
})

const expired: FormProblem = {
  message: "The page was open for too long, or the browser refuses cookies. Please try again.",
  status: 403
}

const wrongLogin: FormProblem = { message: "Login or password is wrong. Please try again.", status: 403 }

const undecided: FormProblem = { message: "Please choose whether to allow or to deny.", status: 400 }

/** A visitor who can be shown a form. */
type Present = Exclude<Visitor, { readonly _tag: "Elsewhere" }>

/** The user a form is for; null when it asks for login and password. */
const userOf = (visitor: Visitor) => (visitor._tag === "User" ? visitor.id : null)

/** Makes the handlers of the two methods. */
export const makeAuthorizeEndpoint = Effect.fnUntraced(function* (pages: Pages, scopes: Scopes) {
  const authorization = yield* AuthorizationServer
  const publicUrl = yield* PublicUrl
  const csrf = yield* makeCsrfTokens

  /** Path of this endpoint as the browser sees it, behind any prefix that the service is mounted at. */
  const ownPath = (): string => new URL(`${publicUrl.url}${paths.authorize}`).pathname

  /** Sends the browser to the client with an answer. `iss` names the issuer (RFC 9207). */
  const toClient = (
    { redirect_uri, state }: Pick<AuthorizeRequest, "redirect_uri" | "state">,
    answer: Readonly<Record<string, string>>
  ): Answer => {
    const echoed: Readonly<Record<string, string>> = state === null ? {} : { state }
    return seeOther(RedirectUri.withParameters(redirect_uri, { ...answer, ...echoed, iss: publicUrl.url }))
  }

  /** Answers a request that can't be put before the user. */
  const refuse = (problem: AuthorizeProblem): Effect.Effect<Answer> => {
    switch (problem._tag) {
      case "Redirect": {
        const { error, error_description } = problem
        return Effect.succeed(toClient(problem, { error, error_description }))
      }
      case "Throttled": {
        const { headers, message, status } = throttled(problem.retry_after)
        return pages.answer(problemPage(message, status, headers))
      }
      case "Page": {
        // A 401 needs a challenge (RFC 9110 section 15.5.2); this one makes no browser ask for a password.
        const headers: Readonly<Record<string, string>> =
          problem.status === 401 ? { "www-authenticate": 'Bearer realm="doorhook"' } : {}
        return pages.answer(problemPage(problem.message, problem.status, headers))
      }
    }
  }

  /** Shows the form to log in or to consent. */
  const showForm = Effect.fnUntraced(function* (
    x: Exchange,
    request: AuthorizeRequest,
    parameters: Parameters.Parameters,
    present: Present,
    problem: FormProblem | null
  ) {
    const { setCookie, token } = yield* csrf.forForm(x, userOf(present))
    const input = {
      request,
      scopes: descriptionsOf(request.scope, scopes),
      action: ownPath(),
      hidden: [...repeatable(parameters), [csrfField, token] as const],
      problem
    }
    const page = yield* pages.answer(
      present._tag === "User"
        ? consentPage({ ...input, user: present.name })
        : loginPage({ ...input, login: parameters.values.get(fields.login) ?? "" })
    )
    return setCookie === null ? page : { ...page, headers: { ...page.headers, "set-cookie": setCookie } }
  })

  /** Ends the step with the code that the user has allowed. */
  const finish = (request: AuthorizeRequest, code: string): Effect.Effect<Answer> =>
    request.redirect_uri === outOfBandUri
      ? pages.answer(codePage(request, code))
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
        return yield* showForm(x, request, form, present, wrongLogin)
      case "Throttled":
        return yield* showForm(x, request, form, present, throttled(result.retry_after))
      case "LoggedIn":
        return yield* finish(request, result.code)
    }
  })

  const get = Effect.fnUntraced(function* (x: Exchange): Effect.fn.Return<Answer, KnownError> {
    // Without a question mark of its own, a name that begins with one would lose it.
    const parameters = Parameters.fromPairs(new URLSearchParams(`?${x.query}`))
    const check = yield* authorization.checkAuthorize(parameters, x.address)
    if (check._tag !== "Valid") return yield* refuse(check)
    if (parameters.values.has("client_secret")) {
      return seeOther(RedirectUri.withParameters(ownPath(), Object.fromEntries(repeatable(parameters))))
    }
    const present = yield* findVisitor(authorization, publicUrl.url, x, parameters)
    if (present._tag === "Elsewhere") return seeOther(present.loginUrl)
    // A link must not fill in the form's own fields.
    return yield* showForm(x, check.request, Parameters.fromPairs(repeatable(parameters)), present, null)
  })

  const post = Effect.fnUntraced(function* (x: Exchange, body: Uint8Array): Effect.fn.Return<Answer, KnownError> {
    const form = yield* readParameters(x.header("content-type"), body)
    if (form === null) return yield* pages.answer(problemPage("The form came in an unknown encoding.", 415))
    const present = yield* findVisitor(authorization, publicUrl.url, x, form)
    const isGenuine = yield* csrf.isGenuine(x, form, userOf(present))
    const check = yield* authorization.checkAuthorize(form, x.address)
    if (check._tag !== "Valid") {
      return isGenuine ? yield* refuse(check) : yield* pages.answer(problemPage(expired.message, expired.status))
    }
    const { request } = check
    // No redirect to the login page: the user pressed a button, and must see that it did nothing.
    if (present._tag === "Elsewhere") return yield* pages.answer(returnPage(request, cleanUrl(publicUrl.url, form)))
    if (!isGenuine) return yield* showForm(x, request, form, present, expired)
    const chosen = form.values.get(decision.name)
    if (chosen === decision.deny) return yield* refuse(denied(request))
    if (present._tag === "Stranger") return yield* logIn(x, request, form, present)
    if (chosen !== decision.allow) return yield* showForm(x, request, form, present, undecided)
    return yield* finish(request, yield* authorization.approve(request, present.id))
  })

  return { get, post }
})
