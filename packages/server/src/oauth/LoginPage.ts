/**
 * The login page: one form that names the application and where the user goes on to. No script; made for a phone, a
 * screen reader and a password manager.
 */
import type { AuthorizeRequest } from "@doorhook/core"
import { outOfBandUri } from "@doorhook/core"
import { markup } from "./Html.ts"
import type { Html } from "./Html.ts"
import type { PageContent } from "./Page.ts"

/** Names of the fields that the user fills in, and of the buttons. */
export const fields = { login: "login", password: "password", decision: "decision" } as const

/** The value of the button that refuses. */
export const deny = "deny"

/** What is wrong with the last try, and how the answer says so. */
export interface LoginProblem {
  readonly message: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

export interface LoginPageInput {
  readonly request: AuthorizeRequest
  /** Path that the form is sent to. */
  readonly action: string
  /** What the form carries along unseen. */
  readonly hidden: Iterable<readonly [string, string]>
  /** What was entered before; empty at first. A password is never put back. */
  readonly login: string
  readonly problem: LoginProblem | null
}

/** The origin, or scheme, that the browser is sent to after the form, as a source of a content security policy. */
const targetOf = (redirectUri: string): string | null => {
  if (redirectUri === outOfBandUri) return null
  const url = new URL(redirectUri)
  // Policies can't name IPv6 hosts, and schemes other than http have no origin.
  return /^https?:$/.test(url.protocol) && !url.hostname.startsWith("[") ? url.origin : url.protocol
}

/** Where the user goes on to, in words. */
const destination = (redirectUri: string): string => {
  if (redirectUri === outOfBandUri) return "You will then be shown a code to enter there."
  const { host, protocol } = new URL(redirectUri)
  return `You will then go on to ${host === "" ? `the app that answers to ${protocol}` : host}.`
}

const hiddenField = ([name, value]: readonly [string, string]): Html =>
  markup`<input type="hidden" name="${name}" value="${value}">
`

const alert = (problem: LoginProblem | null): Html | null =>
  problem === null ? null : markup`<p class="alert" id="problem" role="alert">${problem.message}</p>`

/** What the page shows. */
export const loginPage = ({ request, action, hidden, login, problem }: LoginPageInput): PageContent => {
  const describedBy = problem === null ? null : markup` aria-describedby="problem"`
  const target = targetOf(request.redirect_uri)
  return {
    title: `${problem === null ? "" : "Error: "}Log in for ${request.client.name}`,
    formTargets: target === null ? [] : [target],
    ...(problem === null ? {} : { status: problem.status, headers: problem.headers ?? {} }),
    body: markup`<h1>Log in</h1>
<p><strong>${request.client.name}</strong> asks for access to your buildings, doors and calls.</p>
${alert(problem)}
<form method="post" action="${action}">
${[...hidden].map(hiddenField)}<label for="login">Login</label>
<input id="login" name="${fields.login}" type="text" value="${login}" autocomplete="username" autocapitalize="none" spellcheck="false" required${describedBy}>
<label for="password">Password</label>
<input id="password" name="${fields.password}" type="password" autocomplete="current-password" required${describedBy}>
<button type="submit" name="${fields.decision}" value="allow">Log in and allow</button>
<button type="submit" name="${fields.decision}" value="${deny}" class="quiet" formnovalidate>Deny</button>
</form>
<p class="muted">${destination(request.redirect_uri)} Only log in if you started this yourself.</p>`
  }
}
