/**
 * What is told in place of an integration's page.
 */
import { Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { KnownError } from "../http/KnownFailures.ts"
import { recover } from "../http/KnownFailures.ts"
import * as Page from "../oauth/Page.ts"
import { closedPage } from "./PortalPages.ts"

export const expired = closedPage("This link has expired", "Links to this page are good for a short while only.", 403)
export const unknown = closedPage("This link does not work", "It may be incomplete, or it was never one of ours.", 403)
export const notOpen = closedPage(
  "This page is not open",
  "It ended, was opened in another browser, or this browser refuses cookies.",
  403
)
export const forged = closedPage(
  "Nothing was sent",
  "The form did not come from this page, or it was open for too long.",
  403
)

/** Tells failures on pages too: nobody reads JSON here. */
export const onPage = <R>(handler: Effect.Effect<HttpServerResponse.HttpServerResponse, KnownError, R>) =>
  recover(handler).pipe(
    Effect.catch(({ headers, message, status }) =>
      Page.answer({ ...closedPage(status === 404 ? "Not found" : "That did not work", message, status), headers })
    )
  )
