/**
 * The two forms of the authorize step: login and consent. Each names the application, what it asks for and where the user
 * goes next, and ends in two buttons. No script; made for a phone, a screen reader and a password manager.
 */
import type { AuthorizeRequest } from "@doorhook/core"
import { Html, outOfBandUri, publicScope } from "@doorhook/core"
import type { PageContent } from "./Page.ts"

/** The name of the two buttons, and their values. */
export const decision = { name: "decision", allow: "allow", deny: "deny" } as const

/** Names of the fields that the user fills in. */
export const fields = { login: "login", password: "password" } as const

/** What was wrong with the last attempt. */
export interface FormProblem {
  readonly message: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

/** What both forms need. */
interface FormInput {
  readonly request: AuthorizeRequest
  /** Descriptions of the scopes that are asked for beside `public`. */
  readonly scopes: ReadonlyArray<string>
  /** Path that the form is sent to. */
  readonly action: string
  /** Hidden fields. */
  readonly hidden: Iterable<readonly [string, string]>
  readonly problem: FormProblem | null
}

interface LoginPageInput extends FormInput {
  /** What was entered before; empty at first. A password is never put back. */
  readonly login: string
}

interface ConsentPageInput extends FormInput {
  /** The user's name at the host. */
  readonly user: string
}

/** What differs between the forms. */
interface FormWords {
  readonly title: string
  readonly heading: string
  /** What the user fills in; null for buttons only. */
  readonly inputs: Html.Html | null
  readonly allow: string
  readonly warning: Html.Html
}

/** The page that asks for login and password. Logging in to it is the consent. */
export const loginPage = (input: LoginPageInput): PageContent => {
  const describedBy = input.problem === null ? null : Html.template` aria-describedby="problem"`
  return formPage(input, {
    title: "Log in for",
    heading: "Log in",
    inputs: Html.template`<label for="login">Login</label>
<input id="login" name="${fields.login}" type="text" value="${input.login}" autocomplete="username" autocapitalize="none" spellcheck="false" required${describedBy}>
<label for="password">Password</label>
<input id="password" name="${fields.password}" type="password" autocomplete="current-password" required${describedBy}>
`,
    allow: "Log in and allow",
    warning: Html.template`Only log in if you started this yourself.`
  })
}

/** The page for a user of the host. It names the user: somebody else may have logged in on this device. */
export const consentPage = (input: ConsentPageInput): PageContent =>
  formPage(input, {
    title: "Allow access for",
    heading: "Allow access?",
    inputs: null,
    allow: "Allow",
    warning: Html.template`You are logged in as <strong>${input.user}</strong>. Only allow if that is you and you started this yourself.`
  })

const formPage = ({ request, scopes, action, hidden, problem }: FormInput, words: FormWords): PageContent => ({
  title: `${problem === null ? "" : "Error: "}${words.title} ${request.client.name}`,
  // Chromium checks `form-action` against every redirect that follows, also from the client's callback to wherever it leads.
  formsLeadOn: true,
  ...(problem === null ? {} : { status: problem.status, headers: problem.headers ?? {} }),
  body: Html.template`<h1>${words.heading}</h1>
<p><strong>${request.client.name}</strong> asks for ${access(request.scope)}.</p>
${abilities(scopes)}${alert(problem)}
<form method="post" action="${action}">
${[...hidden].map(hiddenField)}${words.inputs}<button type="submit" name="${decision.name}" value="${decision.allow}">${words.allow}</button>
<button type="submit" name="${decision.name}" value="${decision.deny}" class="quiet" formnovalidate>Deny</button>
</form>
<p class="muted">${destination(request.redirect_uri)} ${words.warning}</p>`
})

/** What the `public` scope opens; other scopes alone don't. */
const access = (scope: string): string =>
  scope.split(" ").includes(publicScope) ? "access to your buildings, doors and calls" : "your permission"

const abilities = (scopes: ReadonlyArray<string>): Html.Html | null =>
  scopes.length === 0
    ? null
    : Html.template`<p>It will be able to:</p>
<ul class="scopes">
${scopes.map((description) => Html.template`<li>${description}</li>\n`)}</ul>
`

const alert = (problem: FormProblem | null): Html.Html | null =>
  problem === null ? null : Html.template`<p class="alert" id="problem" role="alert">${problem.message}</p>`

const hiddenField = ([name, value]: readonly [string, string]): Html.Html =>
  Html.template`<input type="hidden" name="${name}" value="${value}">
`

/** Where the user goes next, in words. */
const destination = (redirectUri: string): string => {
  if (redirectUri === outOfBandUri) return "You will then be shown a code to enter there."
  const { host, protocol } = new URL(redirectUri)
  return `You will then go on to ${host === "" ? `the app that answers to ${protocol}` : host}.`
}
