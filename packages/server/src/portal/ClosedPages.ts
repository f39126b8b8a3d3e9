/**
 * What is told in place of an integration's page, each with what helps against it.
 */
import { Html } from "@doorhook/core"
import { Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { KnownError } from "../http/KnownFailures.ts"
import { recover } from "../http/KnownFailures.ts"
import { RequestId } from "../http/RequestId.ts"
import * as Page from "../oauth/Page.ts"

const closedPage = (heading: string, message: string, help: Html.Part, status: number): Page.PageContent => ({
  title: heading,
  status,
  body: Html.template`<h1>${heading}</h1>
<p>${message}</p>
<p class="muted">${help}</p>`
})

export const expired = closedPage(
  "This link has expired",
  "Links to this page are good for a short while only.",
  "Go back to where you found the link and open it anew.",
  403
)

export const unknown = closedPage(
  "This link does not work",
  "It may be incomplete, or it was never one of ours.",
  "If you copied it, copy it as a whole; else go back to where you found it and open it anew.",
  403
)

export const notOpen = closedPage(
  "This page is not open",
  "It ended, was opened in another browser, or this browser refuses cookies.",
  "Let this browser keep cookies of this site, go back to where you found the link and open it anew, here.",
  403
)

/** The integration was deleted since its link was made: no link leads to it any more. */
export const gone = closedPage(
  "This integration was deleted",
  "Nothing is sent to it any more.",
  "If that was a mistake, ask those who run this service: a new integration has a link of its own.",
  404
)

export const forged = (home: string): Page.PageContent =>
  closedPage(
    "Nothing was sent",
    "The form did not come from this page, or it was open for too long.",
    Html.template`Go to <a href="${home}">your deliveries</a> and press the button there.`,
    403
  )

export const noDelivery = (home: string): Page.PageContent =>
  closedPage(
    "Not found",
    "This integration has no such delivery.",
    Html.template`It may be too old to be kept. Look among <a href="${home}">your deliveries</a>.`,
    404
  )

/** What the visitor can do about a failure that says itself what it is. */
const helpFor = (status: number, request: string): string =>
  status >= 500
    ? `If it stays so, tell those who run this service, with the id of this request: ${request}`
    : "Go back, load that page anew and press its button again."

/** Tells failures on pages too: nobody reads JSON here. */
export const onPage = <R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, KnownError, R>) =>
  recover(handler).pipe(
    Effect.catch(({ headers, message, status }) =>
      Effect.flatMap(RequestId, (request) =>
        Page.answer({ ...closedPage("That did not work", message, helpFor(status, request), status), headers })
      )
    )
  )
