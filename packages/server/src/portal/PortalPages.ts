/**
 * The pages of an integration for its owner: its deliveries, the answers of its receiver, and a test event.
 *
 * No scripts; made for phones and screen readers. The `detail` of an attempt, which may describe doorhook's own network, is not
 * shown here.
 */
import {
  bodyOf,
  counted,
  deliveryStates,
  Explanation,
  formatDeliveryId,
  Html,
  isoOf,
  labelOf,
  testKindOf
} from "@doorhook/core"
import type {
  Attempt,
  CatchingUp,
  Delivery,
  DeliveryWithAttempts,
  Event,
  ResourceTypeTable,
  SurveyedIntegration
} from "@doorhook/core"
import type { RequestFailure } from "../http/Failures.ts"
import type { PageContent } from "../oauth/Page.ts"
import { look } from "./Look.ts"

/** What every page of an integration needs. */
export interface PortalFrame {
  readonly integration: SurveyedIntegration
  /** Its recovery after an outage; null when there is none. */
  readonly catchingUp: CatchingUp | null
  /** The path of the integration's page as the browser sees it. */
  readonly home: string
  readonly types: ResourceTypeTable
  /** When the session ends, in milliseconds since the epoch. */
  readonly expires_at: number
  /** Proves that a form was shown to this browser. */
  readonly formToken: string
}

/** The form field with that proof. */
export const formTokenField = "form_token"

/** A delivery in a list. */
export interface Row {
  readonly delivery: Delivery
  /** Null when it is not kept any more. */
  readonly event: Event | null
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** A time for people, in UTC: the visitor's time zone is unknown. */
const time = (millis: number): Html.Html => {
  const iso = isoOf(millis)
  return Html.template`<time datetime="${iso}" class="number">${iso.slice(0, 19).replace("T", " ")} UTC</time>`
}

const badge = (state: string): Html.Html => Html.template`<span class="state ${state}">${state}</span>`

const kindOf = (event: Event | null): string => (event === null ? "event" : labelOf(event.resource_type))

const frame = (
  { integration: { integration }, expires_at }: PortalFrame,
  title: string,
  body: Html.Html
): PageContent => ({
  title: `${title} - ${new URL(integration.configuration.url).host}`,
  style: look,
  body: Html.template`${body}
<p class="muted">Everyone who opens the link can see this page, until ${time(expires_at)}.</p>`
})

const status = ({ catchingUp, integration: { failing, integration } }: PortalFrame): Html.Html => {
  const { bindings, configuration, disabled_reason, status } = integration
  const trouble =
    status === "disabled"
      ? Html.template`<p class="alert">${
          {
            gone: "It is disabled because the receiver answered 410 Gone.",
            failing: "It is disabled because the receiver acknowledged nothing for too long.",
            manual: "It was disabled by hand. Ask those who run this service to enable it: nothing is sent until then."
          }[disabled_reason ?? "manual"]
        }</p>`
      : failing === null
        ? null
        : Html.template`<p class="alert">The receiver has acknowledged nothing since ${time(failing.since)}.</p>`
  const recovery =
    catchingUp === null
      ? null
      : Html.template`<p class="notice">The receiver acknowledges again. Events that wait for a retry are sent to it early, since ${time(catchingUp.since)}.</p>`
  return Html.template`<section class="panel" aria-labelledby="integration">
<div class="row apart"><h2 id="integration">Integration ${String(integration.id)}</h2>${badge(status === "enabled" && failing !== null ? "failing" : status)}</div>
${trouble}${recovery}<dl class="facts"><dt>Sends to</dt><dd class="mono">${configuration.url}</dd>
<dt>Sends</dt><dd>${bindings.map(({ resource_type }) => labelOf(resource_type)).join(", ")}</dd></dl>`
}

/** The form for a test event, or for a probe of an integration that doorhook has disabled. */
const testForm = ({ formToken, home, integration: { integration }, types }: PortalFrame): Html.Html => {
  const { disabled_reason, status } = integration
  const form = (words: string, label: string): Html.Html => Html.template`<form method="post" action="${home}/test">
<input type="hidden" name="${formTokenField}" value="${formToken}">
<p class="muted" id="test-says">${words}</p>
<button type="submit" aria-describedby="test-says">${label}</button>
</form></section>`
  if (status === "enabled") {
    const { resource_type, urgent } = testKindOf(integration, types)
    const words = `Sends one made-up ${labelOf(resource_type)} event to this integration and to no other. It is marked with “test”: true and is signed and retried like any other.${urgent ? " Your receiver may ring." : ""}`
    return form(words, "Send a test event")
  }
  return disabled_reason === "manual"
    ? Html.template`</section>`
    : form(
        "Sends the newest event that was not acknowledged. Acknowledged, it enables the integration.",
        "Try it again"
      )
}

const row = (home: string, { delivery, event }: Row): Html.Html => {
  const id = formatDeliveryId(delivery.id)
  const attempts = counted(delivery.attempts, "attempt")
  return Html.template`<tr role="row"><td role="cell"><a class="whole" href="${home}/deliveries/${id}">${id}</a></td><td role="cell">${badge(delivery.state)}</td>
<td role="cell">${kindOf(event)}</td><td role="cell" data-label="Published">${time(delivery.created_at)}</td><td role="cell">${attempts}</td></tr>
`
}

/** The integration with its deliveries, newest first, and an alert; null for none. */
export const homePage = (
  input: PortalFrame,
  list: { readonly rows: ReadonlyArray<Row>; readonly state: string | null; readonly next: string | null },
  alert: string | null
): PageContent => {
  const { home } = input
  const chosen = (value: string) => (value === (list.state ?? "") ? Html.template` selected` : null)
  const query = (next: string) =>
    `${home}?${new URLSearchParams({ ...(list.state !== null && { state: list.state }), after: next }).toString()}`
  return frame(
    input,
    "Deliveries",
    Html.template`<h1>Your webhooks</h1>
${alert === null ? null : Html.template`<p class="alert" role="alert">${alert}</p>`}
${status(input)}${testForm(input)}
<section class="panel" aria-labelledby="deliveries">
<div class="row apart"><h2 id="deliveries">Deliveries</h2>
<form method="get" action="${home}" class="row"><label for="state" class="hidden">State</label>
<select id="state" name="state"><option value="">every state</option>${deliveryStates.map(
      (state) => Html.template`<option value="${state}"${chosen(state)}>${state}</option>`
    )}</select> <button type="submit" class="quiet">Show</button></form></div>
${
  list.rows.length === 0
    ? Html.template`<p>Nothing here yet.</p>`
    : Html.template`<table role="table" aria-labelledby="deliveries"><thead><tr><th scope="col">Delivery</th><th scope="col">State</th><th scope="col">Event</th><th scope="col">Published</th><th scope="col">Attempts</th></tr></thead>
<tbody>${list.rows.map((one) => row(home, one))}</tbody></table>`
}
<p class="row">${list.next === null ? null : Html.template`<a class="button" href="${query(list.next)}">Older</a>`}</p>
</section>`
  )
}

const excerpt = ({ response_excerpt }: Attempt): Html.Html | null =>
  response_excerpt === null || response_excerpt === ""
    ? null
    : Html.template`<details><summary>What the receiver answered</summary><pre tabindex="0">${response_excerpt}</pre></details>`

const attemptItem = (attempt: Attempt): Html.Html =>
  Html.template`<li class="${attempt.outcome}"><strong>Attempt ${String(attempt.number)}</strong> ${time(attempt.started_at)}, ${String(attempt.duration_ms)} ms
<p>${Explanation.explainAttempt(attempt, "owner")}</p>${excerpt(attempt)}</li>
`

/** A delivery with its explanation for owners, its attempts and its body. */
export const deliveryPage = (input: PortalFrame, delivery: DeliveryWithAttempts): PageContent => {
  const id = formatDeliveryId(delivery.id)
  const { event, explanation, next_attempt_at, state } = delivery
  const due = state === "retrying" && next_attempt_at !== null ? next_attempt_at : null
  return frame(
    input,
    id,
    Html.template`<p><a href="${input.home}">All deliveries</a></p>
<div class="row apart"><h1>${capitalized(kindOf(event))} ${id}</h1>${badge(state)}</div>
<section class="panel" aria-labelledby="now"><h2 id="now">Status</h2>
<dl class="facts"><dt>Why</dt><dd>${explanation.why}</dd><dt>Next</dt><dd>${explanation.next}</dd><dt>webhook-id</dt><dd class="mono">${delivery.event_id}</dd><dt>Published</dt><dd>${time(delivery.created_at)}</dd></dl>
<p class="row"><a class="button" href="${input.home}/deliveries/${id}">Refresh</a></p></section>
<section class="panel" aria-labelledby="attempts"><h2 id="attempts">Attempts</h2>
${
  delivery.history.length === 0 && due === null
    ? Html.template`<p>None yet.</p>`
    : Html.template`<ol class="timeline">${delivery.history.map(attemptItem)}${
        due === null
          ? null
          : Html.template`<li class="coming"><strong>Attempt ${String(delivery.attempts + 1)}</strong> comes at ${time(due)}</li>`
      }</ol>`
}</section>
${
  event === null
    ? null
    : Html.template`<section class="panel" aria-labelledby="sent"><h2 id="sent">What is sent</h2><pre tabindex="0">${bodyOf(event)}</pre></section>`
}`
  )
}

const messagePage = (heading: string, message: string, help: Html.Part, status: number): PageContent => ({
  title: heading,
  status,
  body: Html.template`<h1>${heading}</h1>
<p>${message}</p>
<p class="muted">${help}</p>`
})

/** The link, or the session that it opened, has ended. */
export const expiredPage = messagePage(
  "This link has expired",
  "Links to this page work for a short time only.",
  "Go back to where you found the link and open it anew.",
  403
)

/** The token in the address is not one of a link. */
export const unknownLinkPage = messagePage(
  "This link does not work",
  "It is incomplete, or was never valid.",
  "If you copied it, copy all of it; otherwise go back to where you found it and open it anew.",
  403
)

/** The browser has no session for this integration. */
export const noSessionPage = messagePage(
  "This page is not open",
  "Your session has ended, was opened in another browser, or this browser refuses cookies.",
  "Allow cookies of this site, go back to where you found the link and open it anew, in this browser.",
  403
)

/** The integration was deleted after its link was made. */
export const deletedPage = messagePage(
  "This integration was deleted",
  "Nothing is sent to it any more.",
  "If that was a mistake, ask those who run this service: a new integration has a link of its own.",
  404
)

/** The form was not shown in this session. */
export const forgedPage = (home: string): PageContent =>
  messagePage(
    "Nothing was sent",
    "The form did not come from this page, or it was open for too long.",
    Html.template`Go to <a href="${home}">your deliveries</a> and press the button there.`,
    403
  )

export const noDeliveryPage = (home: string): PageContent =>
  messagePage(
    "Not found",
    "This integration has no such delivery.",
    Html.template`It may be too old to be kept. See <a href="${home}">your deliveries</a>.`,
    404
  )

/** Any other failure. */
export const failurePage = ({ headers, message, status }: RequestFailure, requestId: string): PageContent => {
  const help =
    status >= 500
      ? `If this continues, report it to those who run this service, with the id of this request: ${requestId}`
      : "Go back, reload that page and press its button again."
  return { ...messagePage("That did not work", message, help, status), headers }
}
