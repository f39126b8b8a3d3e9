/**
 * The form of the authorize step, whoever fills it in: it names the application and where the user goes on to, and ends in
 * two buttons. No script; made for a phone, a screen reader and a password manager.
 */
import type { AuthorizeRequest } from "@doorhook/core"
import { Html, outOfBandUri } from "@doorhook/core"
import type { PageContent } from "./Page.ts"

/** The name of the two buttons, and their values. */
export const decision = { name: "decision", allow: "allow", deny: "deny" } as const

/** What is wrong with the last try, and how the answer says so. */
export interface FormProblem {
  readonly message: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

/** What every such form needs. */
export interface FormInput {
  readonly request: AuthorizeRequest
  /** Path that the form is sent to. */
  readonly action: string
  /** What the form carries along unseen. */
  readonly hidden: Iterable<readonly [string, string]>
  readonly problem: FormProblem | null
}

/** What differs between the forms. */
export interface FormWords {
  readonly title: string
  readonly heading: string
  /** What the user fills in; null for buttons only. */
  readonly inputs: Html.Html | null
  readonly allow: string
  readonly warning: Html.Html
}

/** Where the user goes on to, in words. */
const destination = (redirectUri: string): string => {
  if (redirectUri === outOfBandUri) return "You will then be shown a code to enter there."
  const { host, protocol } = new URL(redirectUri)
  return `You will then go on to ${host === "" ? `the app that answers to ${protocol}` : host}.`
}

const hiddenField = ([name, value]: readonly [string, string]): Html.Html =>
  Html.template`<input type="hidden" name="${name}" value="${value}">
`

const alert = (problem: FormProblem | null): Html.Html | null =>
  problem === null ? null : Html.template`<p class="alert" id="problem" role="alert">${problem.message}</p>`

/** What the page shows. */
export const formPage = ({ request, action, hidden, problem }: FormInput, words: FormWords): PageContent => ({
  title: `${problem === null ? "" : "Error: "}${words.title} ${request.client.name}`,
  // Chromium holds `form-action` against every redirect that follows, also from the client's callback to wherever it leads.
  formsLeadOn: true,
  ...(problem === null ? {} : { status: problem.status, headers: problem.headers ?? {} }),
  body: Html.template`<h1>${words.heading}</h1>
<p><strong>${request.client.name}</strong> asks for access to your buildings, doors and calls.</p>
${alert(problem)}
<form method="post" action="${action}">
${[...hidden].map(hiddenField)}${words.inputs}<button type="submit" name="${decision.name}" value="${decision.allow}">${words.allow}</button>
<button type="submit" name="${decision.name}" value="${decision.deny}" class="quiet" formnovalidate>Deny</button>
</form>
<p class="muted">${destination(request.redirect_uri)} ${words.warning}</p>`
})
