/**
 * An integration's own pages, for whoever its owner is: what was sent to it, how the receiver answered, and a test. No
 * script; made for a phone and a screen reader. What doorhook knows of its own network (`detail` of an attempt) is not
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
import type { PageContent } from "../oauth/Page.ts"
import { look } from "./Look.ts"

/** What every page of an integration needs. */
export interface PortalFrame {
  readonly integration: SurveyedIntegration
  /** How it catches up after an outage; null when it does not. */
  readonly catchingUp: CatchingUp | null
  /** The path of the integration's page as the browser sees it. */
  readonly home: string
  readonly types: ResourceTypeTable
  /** When the page ends, in milliseconds since the epoch. */
  readonly expires_at: number
  /** Proof that a form was shown to this browser. */
  readonly formToken: string
}

/** The field of forms that carries it. */
export const formTokenField = "form_token"

/** A delivery with what it is about; null when its event is not kept any more. */
export interface Row {
  readonly delivery: Delivery
  readonly event: Event | null
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** A moment as people read it, in UTC because nobody says where they are. */
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
<p class="muted">Whoever has opened the link sees this page, until ${time(expires_at)}.</p>`
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

/** What can be tried, which depends on why nothing is sent. */
const trial = ({ formToken, home, integration: { integration }, types }: PortalFrame): Html.Html => {
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

/** The integration with its deliveries, the newest first. */
export const homePage = (
  input: PortalFrame,
  list: { readonly rows: ReadonlyArray<Row>; readonly state: string | null; readonly next: string | null },
  told: string | null
): PageContent => {
  const { home } = input
  const chosen = (value: string) => (value === (list.state ?? "") ? Html.template` selected` : null)
  const query = (next: string) =>
    `${home}?${new URLSearchParams({ ...(list.state !== null && { state: list.state }), after: next }).toString()}`
  return frame(
    input,
    "Deliveries",
    Html.template`<h1>Your webhooks</h1>
${told === null ? null : Html.template`<p class="alert" role="alert">${told}</p>`}
${status(input)}${trial(input)}
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
<p class="row">${list.next === null ? null : Html.template`<a class="button" href="${query(list.next)}">Older ones</a>`}</p>
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

/** One delivery, explained to an owner, with its attempts, and what was sent. */
export const deliveryPage = (input: PortalFrame, delivery: DeliveryWithAttempts, told: string | null): PageContent => {
  const id = formatDeliveryId(delivery.id)
  const { event, explanation, next_attempt_at, state } = delivery
  const due = state === "retrying" && next_attempt_at !== null ? next_attempt_at : null
  return frame(
    input,
    id,
    Html.template`<p><a href="${input.home}">All deliveries</a></p>
<div class="row apart"><h1>${capitalized(kindOf(event))} ${id}</h1>${badge(state)}</div>
${told === null ? null : Html.template`<p class="notice" role="status">${told}</p>`}
<section class="panel" aria-labelledby="now"><h2 id="now">What happens</h2>
<dl class="facts"><dt>Why</dt><dd>${explanation.why}</dd><dt>Next</dt><dd>${explanation.next}</dd><dt>webhook-id</dt><dd class="mono">${delivery.event_id}</dd><dt>Published</dt><dd>${time(delivery.created_at)}</dd></dl>
<p class="row"><a class="button" href="${input.home}/deliveries/${id}">Look again</a></p></section>
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
