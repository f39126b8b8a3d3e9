/**
 * The pages at the end of the authorize step, where there is nobody to redirect to: the code, or what went wrong.
 */
import type { AuthorizeRequest } from "@doorhook/core"
import { codeLifetimeSeconds, Html } from "@doorhook/core"
import type { PageContent } from "./Page.ts"

/** Shows a code to be copied. Somebody may have asked the user on the phone to read it out: the page warns of that. */
export const codePage = (request: AuthorizeRequest, code: string): PageContent => ({
  title: `Code for ${request.client.name}`,
  body: Html.template`<h1>Your code</h1>
<p>Copy this code into <strong>${request.client.name}</strong>:</p>
<code id="authorization_code">${code}</code>
<p class="muted">It works once, within ${String(codeLifetimeSeconds / 60)} minutes. Whoever has it gets access in your
name: give it to nobody, whoever calls or writes and asks for it.</p>`
})

/** Says that the user is not logged in any more, and leads to where they can be again. */
export const returnPage = (request: AuthorizeRequest, url: string): PageContent => ({
  title: `Error: log in again for ${request.client.name}`,
  status: 403,
  body: Html.template`<h1>Log in again</h1>
<p class="alert" role="alert">You are not logged in any more. Nothing was shared with the application.</p>
<p><a href="${url}">Log in and go on</a></p>`
})

/** Says what went wrong and what can be done about it. */
export const problemPage = (
  message: string,
  status: number,
  headers: Readonly<Record<string, string>> = {}
): PageContent => ({
  title: "Error: log-in is not possible",
  status,
  headers,
  body: Html.template`<h1>Log-in is not possible</h1>
<p class="alert" role="alert">${message}</p>
<p>Go back to the application and start again. If that does not help, tell its maker what this page says.</p>`
})
