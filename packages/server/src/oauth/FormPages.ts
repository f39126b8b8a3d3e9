/**
 * The pages of the authorize step. The login and consent forms name the application, the requested access and the
 * destination, and have two buttons: allow and deny. The other pages end the authorize step. All pages work without
 * scripts, on phones, with screen readers and with password managers.
 */
import type { AuthorizeRequest } from "@doorhook/core"
import { codeLifetimeSeconds, Html, outOfBandUri, publicScope } from "@doorhook/core"
import type { PageContent } from "../ui/Page.ts"
import { loginFields } from "../ui/Parts.ts"
import type { Language, TextKey } from "../ui/Texts.ts"

/** The name of the two buttons, and their values. */
export const decision = { name: "decision", allow: "allow", deny: "deny" } as const

/** The problem with the last attempt. */
export interface FormProblem {
  readonly message: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Input that both forms need. */
interface FormInput {
  readonly language: Language
  readonly request: AuthorizeRequest
  /** Descriptions of the requested scopes other than `public`. */
  readonly scopes: ReadonlyArray<string>
  /** The path that the form is sent to. */
  readonly action: string
  /** Hidden fields. */
  readonly hidden: Iterable<readonly [string, string]>
  readonly problem: FormProblem | null
}

interface LoginPageInput extends FormInput {
  /** The login that was entered before; empty at first. Entered passwords are never sent back. */
  readonly login: string
}

interface ConsentPageInput extends FormInput {
  /** The user's name at the host. */
  readonly user: string
}

/** The parts that differ between the two forms. */
interface FormWords {
  readonly title: TextKey
  readonly heading: TextKey
  /** Fields for the user to fill in; null for buttons only. */
  readonly inputs: Html.Html | null
  readonly allow: TextKey
  readonly warning: Html.Html
}

/** Makes the login page. A user who logs in consents at the same time. */
export const loginPage = (input: LoginPageInput): PageContent =>
  formPage(input, {
    title: "login_title",
    heading: "log_in",
    inputs: loginFields(input.language, input.login, input.problem === null ? null : "problem"),
    allow: "login_allow",
    warning: Html.template`${input.language.t("login_warning")}`
  })

/**
 * Makes the consent page for a user who is logged in at the host. The page names the user, because somebody else might
 * be logged in on this device.
 */
export const consentPage = (input: ConsentPageInput): PageContent =>
  formPage(input, {
    title: "consent_title",
    heading: "consent_heading",
    inputs: null,
    allow: "consent_allow",
    warning: input.language.html("consent_warning", { user: Html.template`<strong>${input.user}</strong>` })
  })

const formPage = (
  { action, hidden, language: { html, lang, t }, problem, request, scopes }: FormInput,
  words: FormWords
): PageContent => {
  const title = t(words.title, { client: request.client.name })
  const isPublic = request.scope.split(" ").includes(publicScope)
  const asked = isPublic ? "asks_public" : "asks_other"
  const abilities = [...(isPublic ? [t("may_see"), t("may_receive"), t("may_manage")] : []), ...scopes]
  return {
    title: problem === null ? title : t("error_title", { title }),
    lang,
    // Chromium applies `form-action` to all later redirects, including those from the client's callback.
    formsLeadOn: true,
    ...(problem === null ? {} : { status: problem.status, headers: problem.headers ?? {} }),
    body: Html.template`<h1>${t(words.heading)}</h1>
<p>${html(asked, { client: Html.template`<strong>${request.client.name}</strong>` })}</p>
${
  request.client_host === null
    ? null
    : Html.template`<p>${html("client_host", { host: Html.template`<strong>${request.client_host}</strong>` })}</p>
`
}${
      abilities.length === 0
        ? null
        : Html.template`<p>${t("abilities")}</p>
<ul class="scopes">
${abilities.map((description) => Html.template`<li>${description}</li>\n`)}</ul>
`
    }${problem === null ? null : Html.template`<p class="alert" id="problem" role="alert">${problem.message}</p>`}
<form method="post" action="${action}">
${[...hidden].map(hiddenField)}${words.inputs}<button type="submit" name="${decision.name}" value="${decision.allow}">${t(words.allow)}</button>
<button type="submit" name="${decision.name}" value="${decision.deny}" class="quiet" formnovalidate>${t("deny")}</button>
</form>
<p class="muted">${destination(t, request.redirect_uri)}</p>
<p class="muted">${words.warning}</p>`
  }
}

const hiddenField = ([name, value]: readonly [string, string]): Html.Html =>
  Html.template`<input type="hidden" name="${name}" value="${value}">
`

/** Returns a sentence that says where the user will be sent. */
const destination = (t: Language["t"], redirectUri: string): string => {
  if (redirectUri === outOfBandUri) return t("then_code")
  const { host, protocol } = new URL(redirectUri)
  return host === "" ? t("then_app", { protocol }) : t("then_host", { host })
}

/** Shows a code to copy. The page warns the user, because an attacker might ask for the code, for example by phone. */
export const codePage = ({ html, lang, t }: Language, request: AuthorizeRequest, code: string): PageContent => ({
  title: t("code_title", { client: request.client.name }),
  lang,
  body: Html.template`<h1>${t("code_heading")}</h1>
<p>${html("code_copy", { client: Html.template`<strong>${request.client.name}</strong>` })}</p>
<code id="authorization_code">${code}</code>
<p class="muted">${t("code_warning", { minutes: codeLifetimeSeconds / 60 })}</p>`
})

/** Reports that the user's session at the host has ended, with a link to log in again. */
export const returnPage = ({ lang, t }: Language, request: AuthorizeRequest, url: string): PageContent => ({
  title: t("error_title", { title: t("return_title", { client: request.client.name }) }),
  lang,
  status: 403,
  body: Html.template`<h1>${t("return_heading")}</h1>
<p class="alert" role="alert">${t("return_message")}</p>
<p><a href="${url}">${t("return_link")}</a></p>`
})

/** Reports a problem and what to do about it. */
export const problemPage = (
  { lang, t }: Language,
  message: string,
  status: number,
  headers: Readonly<Record<string, string>> = {}
): PageContent => ({
  title: t("error_title", { title: t("problem_title") }),
  lang,
  status,
  headers,
  body: Html.template`<h1>${t("problem_heading")}</h1>
<p class="alert" role="alert">${message}</p>
<p>${t("problem_help")}</p>`
})
