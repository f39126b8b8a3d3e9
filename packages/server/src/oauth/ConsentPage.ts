/**
 * The page for a user whom the host knows already: to allow or to deny, nothing to fill in. It says who is asked, so that
 * whoever was logged in by somebody else can see it.
 */
import { Html } from "@doorhook/core"
import type { FormInput } from "./FormPage.ts"
import { formPage } from "./FormPage.ts"
import type { PageContent } from "./Page.ts"

export interface ConsentPageInput extends FormInput {
  /** How the user is called. */
  readonly user: string
}

/** What the page shows. */
export const consentPage = (input: ConsentPageInput): PageContent =>
  formPage(input, {
    title: "Allow access for",
    heading: "Allow access?",
    inputs: null,
    allow: "Allow",
    warning: Html.template`You are logged in as <strong>${input.user}</strong>. Only allow if that is you and you started this yourself.`
  })
