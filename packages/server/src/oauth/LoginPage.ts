/**
 * The login page: login and password. Logging in to it is the consent.
 */
import { Html } from "@doorhook/core"
import type { FormInput } from "./FormPage.ts"
import { formPage } from "./FormPage.ts"
import type { PageContent } from "./Page.ts"

/** Names of the fields that the user fills in. */
export const fields = { login: "login", password: "password" } as const

export interface LoginPageInput extends FormInput {
  /** What was entered before; empty at first. A password is never put back. */
  readonly login: string
}

/** What the page shows. */
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
