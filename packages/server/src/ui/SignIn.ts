/**
 * The sign-in form: operators enter the operator key, owners their login and password.
 */
import { Html } from "@doorhook/core"
import type { PageContent } from "./Page.ts"
import { alert, hidden, loginFields } from "./Parts.ts"
import { formTokenField } from "./Session.ts"
import type { Language } from "./Texts.ts"

interface SignIn {
  readonly role: "operator" | "owner"
  readonly home: string
  readonly token: string
  /** The login entered before; empty at first. Entered passwords and keys are never sent back. */
  readonly login: string
  /** The requested page, to return to after signing in. */
  readonly next: string
  readonly problem: string | null
}

export const signInPage = (language: Language, { home, login, next, problem, role, token }: SignIn): PageContent => {
  const { lang, t } = language
  // Another page than the first was asked for, by a link or before the session ended.
  const isLinked = role === "owner" && /^\/portal\/[^?]/.test(next)
  const title = t(role === "operator" ? "operator_sign_in" : "owner_sign_in")
  const keyField = Html.template`<label for="key">${t("operator_key")}</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
`
  return {
    title: problem === null ? title : t("error_title", { title }),
    lang,
    body: Html.template`<h1>${title}</h1>
${problem === null ? null : alert(problem)}<form method="post" action="${home}/sign-in">
${hidden(formTokenField, token)}${hidden("next", next)}
${role === "operator" ? keyField : loginFields(language, login, null)}<button type="submit">${t("sign_in")}</button>
</form>
<p class="muted">${t(role === "operator" ? "operator_key_hint" : "owner_sign_in_hint")}${isLinked ? ` ${t("owner_link_hint")}` : null}</p>`
  }
}
