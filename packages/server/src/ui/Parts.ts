/**
 * Building blocks of pages: the visit, the frame, and HTML that several pages share.
 */
import type {
  Actor,
  DeliveryState,
  IntegrationId,
  IntegrationWithHealth,
  LastAttempt,
  ListedDelivery,
  RetryPolicies
} from "@doorhook/core"
import { Html, isoOf, RetryPolicy } from "@doorhook/core"
import type { Effect } from "effect"
import type { Exchange } from "../http/Exchange.ts"
import type { KnownError, PageSentence, RequestFailure } from "../http/Failures.ts"
import { failure } from "../http/Failures.ts"
import type { Answer, Params } from "../http/Route.ts"
import type { PageContent } from "./Page.ts"
import { formTokenField } from "./Session.ts"
import type { Language, TextKey } from "./Texts.ts"
import { english, isZone } from "./Texts.ts"

/** A request for a page by a visitor who may open the page. */
export interface Visit {
  readonly x: Exchange
  readonly params: Params
  readonly query: URLSearchParams
  readonly language: Language
  readonly role: "operator" | "owner"
  /** Path of the role's first page as the browser sees it: `/console` or `/portal`, with any mount prefix before it. */
  readonly home: string
  /** Name of the session, which form tokens are bound to. */
  readonly session: string
  readonly formToken: string
  /** The owner. Null for an operator, and for the holder of a link, who acts for the integration's creator. */
  readonly actor: Actor | null
  /** The integration that a link opened, and the link's expiry; null without a link. */
  readonly link: { readonly id: IntegrationId; readonly expires_at: number } | null
  /** Time zone of the browser; null if its script has not set it. */
  readonly zone: string | null
  /** Name of the visitor; null for the holder of a link. */
  readonly name: string | null
  /** Whether the visitor signed in to doorhook, and can therefore sign out. */
  readonly canSignOut: boolean
  /** Time of the request, in milliseconds since the epoch. */
  readonly now: number
}

/** Returns the path of an integration's page, below the home of the visitor's role. */
export const pathOf = ({ role }: Pick<Visit, "role">, id: IntegrationId): string =>
  role === "operator" ? `/integrations/${id}` : `/${id}`

/** Shows times in the zone of a building, unless the browser's zone is known. */
export const inZoneOf = (visit: Visit, zone: string | null): Visit =>
  visit.zone !== null || zone === null || !isZone(zone) ? visit : { ...visit, language: visit.language.inZone(zone) }

/** Contents of a page within its frame. */
export interface Shown {
  readonly title: string
  readonly body: Html.Html
  /** Path of the page's entry in the navigation, below the home; by default none. */
  readonly place?: string
  /** Interval at which the page refreshes itself, in seconds; by default never. */
  readonly refresh?: number
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** The name of a delivery's state. Owners get plain words for the two states in which it was not delivered. */
export const stateText = ({ language: { t }, role }: Visit, state: DeliveryState): string =>
  role === "owner" && (state === "exhausted" || state === "expired") ? t(`own_${state}`) : t(`state_${state}`)

/** What the name of a delivery's state now depends on. */
type Timed = Pick<ListedDelivery, "state" | "created_at" | "resource_type">

/** Whether a delivery has no attempt left, although its event is not too old yet. */
export const isGivenUp = (visit: Visit, retry: RetryPolicies, { created_at, resource_type, state }: Timed): boolean =>
  state === "expired" &&
  resource_type !== null &&
  !RetryPolicy.isExpired(RetryPolicy.policyOf(retry, resource_type), created_at, visit.now)

/** The name of a delivery's state now: while its event is not too old, `expired` would be wrong. */
export const stateNow = (visit: Visit, retry: RetryPolicies, delivery: Timed): string =>
  isGivenUp(visit, retry, delivery) ? visit.language.t("given_up") : stateText(visit, delivery.state)

/** What a page or a form is answered with, or the failure to show. */
export type PageEffect = Effect.Effect<Answer | Shown, KnownError>

const operatorPlaces: ReadonlyArray<readonly [string, TextKey]> = [
  ["", "overview"],
  ["/deliveries", "deliveries"],
  ["/integrations", "integrations"],
  ["/clients", "clients"],
  ["/notifications", "notifications"],
  ["/publish", "publish"]
]
const ownerPlaces: ReadonlyArray<readonly [string, TextKey]> = [
  ["", "integrations"],
  ["/new", "new_integration"],
  ["/grants", "own_grants"]
]

/** Adds the frame to a page's contents. */
export const framed = (visit: Visit, { body, place, refresh, title, ...answer }: Shown): PageContent => {
  const { home, language, link, role } = visit
  const { lang, t } = language
  const places = role === "operator" ? operatorPlaces : link === null ? ownerPlaces : []
  const of = t(role === "operator" ? "console" : "portal")
  return {
    title: `${title} - ${of}`,
    lang,
    zone: language.zone,
    wide: true,
    script: `${home}/live.js`,
    ...(refresh !== undefined && { refresh }),
    ...answer,
    header: (brand, homeUrl) => Html.template`<a class="skip" href="#main">${t("skip")}</a>
<header class="bar"><div>${homeUrl === null ? logoOf(brand) : Html.template`<a class="home" href="${homeUrl}"><span aria-hidden="true">&larr;</span>${logoOf(brand)}<span class="hidden">${t("back_home")}</span></a>`}
${
  places.length === 0
    ? null
    : Html.template`<nav aria-label="${of}">${places.map(
        ([path, key]) =>
          Html.template`<a href="${home}${path}"${path === place ? Html.template` aria-current="page"` : null}>${t(key)}</a>`
      )}</nav>`
}<div class="who">${visit.name === null ? null : Html.template`<span>${visit.name}</span>`}${
      visit.canSignOut
        ? form(visit, "/sign-out", Html.template`<button type="submit" class="quiet">${t("sign_out")}</button>`)
        : null
    }</div></div><p class="alert" id="stale" role="alert" hidden>${t("stale")}</p></header>
`,
    body: Html.template`${flash(visit)}${body}${
      link === null
        ? null
        : Html.template`
<p class="muted">${language.html("link_until", { time: at(language, link.expires_at) })}</p>`
    }`
  }
}

const logoOf = (brand: Html.Html | null): Html.Html => brand ?? Html.template`<strong>doorhook</strong>`

/** Texts for the results of forms. Each key is the value of `done` in the query of the next page. */
const done = {
  sent: "done_sent",
  recovered: "done_recovered",
  resent: "done_resent",
  created: "done_created",
  saved: "done_saved",
  enabled: "done_enabled",
  paused: "done_paused",
  deleted: "done_deleted",
  removed: "done_removed",
  revoked: "done_revoked",
  published: "done_published"
} as const satisfies Readonly<Record<string, TextKey>>
export type Done = keyof typeof done

/** Adds the result of a form to a page's address, with an optional count. */
export const after = (path: string, what: Done, n?: number): string =>
  `${path}${path.includes("?") ? "&" : "?"}done=${what}${n === undefined ? "" : `&n=${n}`}`

const flash = ({ language, query }: Visit): Html.Html | null => {
  const word = Object.entries(done).find(([name]) => name === query.get("done"))
  if (word === undefined) return null
  const n = /^\d{1,9}$/.exec(query.get("n") ?? "")?.[0] ?? "0"
  return Html.template`<p class="notice good" role="status" data-done>${language.t(word[1], { n: language.number(Number(n)) })}</p>
`
}

/** Makes a form with its form token. `path` is below the role's home. */
export const form = ({ formToken, home }: Visit, path: string, fields: Html.Html, name?: string): Html.Html =>
  Html.template`<form method="post" action="${home}${path}"${name === undefined ? null : Html.template` class="${name}"`}>
<input type="hidden" name="${formTokenField}" value="${formToken}">
${fields}
</form>`

/** What a button that asks for confirmation does. */
interface Question {
  /** Distinguishes the dialog from others on the page. */
  readonly id: string
  readonly label: string
  /** Heading of the dialog, which names what is changed; by default the label. */
  readonly title?: string
  readonly text: Html.Part
  /** Text of the button that carries out the action; by default the label. */
  readonly yes?: string
  readonly fields?: Html.Html
  /** `primary` for the main action of a page, `item` for an entry of a menu, `danger` for what can't be undone. */
  readonly kind?: "primary" | "item" | "danger"
}

/**
 * Makes a button that opens a dialog, which says what the action does and has a button to carry it out and one to
 * cancel. Browsers open and close it without a script.
 */
export const ask = (visit: Visit, path: string, question: Question): Html.Html => {
  const { fields = Html.nothing, id, kind = "", label, text, title = label, yes = label } = question
  const dialog = `ask-${id}`
  const heading = `${dialog}-title`
  return Html.template`<button type="button" class="${kind === "" ? "quiet" : kind}" popovertarget="${dialog}">${label}</button>
<div popover id="${dialog}" class="dialog" role="dialog" aria-labelledby="${heading}">${form(
    visit,
    path,
    Html.template`<h2 id="${heading}">${title}</h2>
<p>${text}</p>${fields}<div class="row end"><button type="button" class="quiet" popovertarget="${dialog}" popovertargetaction="hide" autofocus>${visit.language.t("cancel")}</button><button type="submit" class="${kind === "danger" ? "danger" : "primary"}">${yes}</button></div>`
  )}</div>
`
}

/** Makes a button that opens a menu of links and buttons. Works without a script. */
export const menu = (label: string, items: ReadonlyArray<Html.Html>): Html.Html =>
  Html.template`<details class="menu"><summary class="button quiet">${label}</summary><div>${items}</div></details>
`

/** Names of the login form's fields. */
export const loginNames = { login: "login", password: "password" } as const

/**
 * Makes the fields for login and password. `problem` is the id of the element that says why the last values were
 * refused.
 */
export const loginFields = ({ t }: Language, login: string, problem: string | null): Html.Html => {
  const describedBy = problem === null ? null : Html.template` aria-describedby="${problem}"`
  return Html.template`<label for="login">${t("login")}</label>
<input id="login" name="${loginNames.login}" type="text" value="${login}" autocomplete="username" autocapitalize="none" spellcheck="false" required${describedBy}>
<label for="password">${t("password")}</label>
<input id="password" name="${loginNames.password}" type="password" autocomplete="current-password" required${describedBy}>
`
}

/** Makes a field with its label above it, and a hint and the problem with its value below it. */
export const field = (
  id: string,
  label: string,
  control: (attributes: Html.Html) => Html.Html,
  hint: string | null = null,
  problem: Html.Html | null = null
): Html.Html => {
  const below = [...(problem === null ? [] : [`${id}-problem`]), ...(hint === null ? [] : [`${id}-hint`])]
  const described = below.length === 0 ? null : Html.template` aria-describedby="${below.join(" ")}"`
  const invalid = problem === null ? null : Html.template` aria-invalid="true" autofocus`
  return Html.template`<div class="field"><label for="${id}">${label}</label>
${control(Html.template`id="${id}" name="${id}"${described}${invalid}`)}
${problemText(id, problem)}${hint === null ? null : Html.template`<p class="muted" id="${id}-hint">${hint}</p>`}</div>
`
}

/** Makes the text about the problem with the value of a field. */
export const problemText = (id: string, problem: Html.Html | null): Html.Html | null =>
  problem === null ? null : Html.template`<p class="problem" id="${id}-problem">${problem}</p>`

/** Makes a drop-down list. Each option is a value and its label. */
export const select = (
  attributes: Html.Html,
  options: ReadonlyArray<readonly [string, string]>,
  chosen: string
): Html.Html =>
  Html.template`<select ${attributes}>${options.map(
    ([value, words]) =>
      Html.template`<option value="${value}"${value === chosen ? Html.template` selected` : null}>${words}</option>`
  )}</select>`

/** A hidden field. */
export const hidden = (name: string, value: string): Html.Html =>
  Html.template`<input type="hidden" name="${name}" value="${value}">`

/** Makes an alert about a problem with a form. */
export const alert = (problem: Html.Part): Html.Html => Html.template`<p class="alert" role="alert">${problem}</p>
`

/** Formats all problems as sentences in the visitor's language. A problem without `said` stays in English. */
export const problemList = (
  { say }: Language,
  problems: ReadonlyArray<{ readonly detail: string; readonly said?: PageSentence }>
): Html.Html =>
  Html.template`${problems.map(({ detail, said }, at) => Html.template`${at === 0 ? "" : " "}${said === undefined ? Html.template`<span lang="en">${detail}</span>` : say([said])}`)}`

/** Makes a failure whose message is one of the page texts. */
export const formFailure = (
  status: number,
  code: string,
  title: string,
  said: { readonly key: TextKey; readonly values?: Readonly<Record<string, number>> },
  headers?: Readonly<Record<string, string>>
): RequestFailure => failure(status, { code, title, detail: english.t(said.key, said.values), said }, headers)

/** Makes a button that copies the text of the element with this id. The script reveals the button. */
export const copyButton = ({ t }: Language, id: string): Html.Html =>
  Html.template`<button type="button" class="quiet" data-copy="${id}" data-copied="${t("copied")}" data-failed="${t("not_copied")}" hidden>${t("copy")}</button>`

/** Makes the heading of a page, with a line below it, and with states and actions beside it. */
export const heading = (title: string, below: Html.Part, beside: Html.Html): Html.Html =>
  Html.template`<header class="head"><div><h1>${title}</h1><p class="muted">${below}</p></div><div class="row">${beside}</div></header>`

/** A section with a heading. */
export const panel = (id: string, heading: Html.Part, body: Html.Html): Html.Html =>
  Html.template`<section class="panel" aria-labelledby="${id}"><h2 id="${id}">${heading}</h2>
${body}</section>
`

/** Makes a list of names with their values. Skips nulls. */
export const facts = (pairs: ReadonlyArray<readonly [string, Html.Part] | null>): Html.Html =>
  Html.template`<dl class="facts">${pairs.map((pair) =>
    pair === null ? Html.nothing : Html.template`<dt>${pair[0]}</dt><dd>${pair[1]}</dd>`
  )}</dl>
`

/** Makes a table. `kind` is the class that sets its column widths. On phones, the table becomes a list of cards, with each column's name before the value. */
export const table = (
  label: string,
  columns: ReadonlyArray<Html.Part>,
  rows: ReadonlyArray<ReadonlyArray<Html.Part>>,
  none: string,
  kind = ""
): Html.Html => {
  if (rows.length === 0) return Html.template`<p class="muted">${none}</p>`
  const labelled = (column: Html.Part | undefined, at: number) =>
    at > 1 && typeof column === "string" && column !== "" ? Html.template` data-label="${column}"` : null
  return Html.template`<table role="table" class="${kind}" aria-label="${label}"><thead role="rowgroup"><tr role="row">${columns.map(
    (column) => Html.template`<th role="columnheader" scope="col">${column}</th>`
  )}</tr></thead>
<tbody role="rowgroup">${rows.map(
    (cells) => Html.template`<tr role="row">${cells.map(
      (cell, at) => Html.template`<td role="cell"${labelled(columns[at], at)}>${cell}</td>`
    )}</tr>
`
  )}</tbody></table>`
}

/**
 * Makes links to the newest and to older entries of a list. `next` is the cursor of the older entries; null if there
 * are none.
 */
export const pager = ({ t }: Language, path: string, query: URLSearchParams, next: string | null): Html.Html | null => {
  const link = (cursor: string | null, words: string) => {
    const kept = new URLSearchParams([...query].filter(([name]) => !["after", "done", "n"].includes(name)))
    if (cursor !== null) kept.set("after", cursor)
    const text = kept.toString()
    return Html.template`<a class="button" href="${path}${text === "" ? "" : `?${text}`}">${words}</a>`
  }
  const first = query.has("after") ? link(null, t("newest")) : null
  const older = next === null ? null : link(next, t("older"))
  return first === null && older === null ? null : Html.template`<p class="row pager">${first}${older}</p>`
}

/** A time. */
export const at = ({ time }: Language, millis: number): Html.Html =>
  Html.template`<time datetime="${isoOf(millis)}" class="number">${time(millis)}</time>`

/** Formats a time as its distance from now, like "5 min ago". */
export const ago = ({ language, now }: Visit, millis: number): Html.Html =>
  Html.template`<time datetime="${isoOf(millis)}" class="number" title="${language.time(millis)}">${language.ago(millis, now)}</time>`

/** Makes a colored label. `kind` determines the color. */
export const badge = (kind: string, words: string): Html.Html =>
  Html.template`<span class="state ${kind}">${words}</span>`

/** Makes a badge with the outcome of an attempt. */
export const outcomeBadge = (
  { language: { t }, role }: Pick<Visit, "language" | "role">,
  { outcome, status }: Pick<LastAttempt, "outcome" | "status">
): Html.Html =>
  badge(
    outcome === "acknowledged" ? outcome : "failed",
    `${t(role === "owner" ? `own_${outcome}` : `outcome_${outcome}`)}${status === null ? "" : ` ${status}`}`
  )

/** Makes a badge with the health of an integration. */
export const health = ({ t }: Language, { failing, integration }: IntegrationWithHealth): Html.Html => {
  if (integration.status === "disabled")
    return badge("disabled", t(`disabled_${integration.disabled_reason ?? "manual"}`))
  return failing === null ? badge("enabled", t("enabled")) : badge("failing", t("failing"))
}

/** Makes a page that says what happened and what to do. */
export const messagePage = (
  { lang, t }: Language,
  key: "expired" | "unknown_link" | "deleted" | "gone_page",
  status: number
): PageContent => ({
  title: t(`${key}_title`),
  lang,
  status,
  body: Html.template`<h1>${t(`${key}_title`)}</h1>
<p>${t(`${key}_text`)}</p>
<p class="muted">${t(`${key}_help`)}</p>`
})

/** Says that a form had no effect because the visitor's session at the host has ended, with a link to log in again. */
export const sessionEndedPage = ({ lang, t }: Language, url: string): PageContent => ({
  title: t("error_title", { title: t("return_heading") }),
  lang,
  status: 403,
  body: Html.template`<h1>${t("return_heading")}</h1>
${alert(t("session_ended"))}<p><a href="${url}">${t("return_link")}</a></p>`
})

/** Makes the error page for a failure. */
export const failurePage = (
  language: Language,
  { errors, headers, status }: RequestFailure,
  requestId: string,
  back: string
): PageContent => {
  const { lang, t } = language
  return {
    title: t("failure_title"),
    lang,
    status,
    headers,
    body: Html.template`<h1>${t("failure_title")}</h1>
${alert(problemList(language, errors))}<p>${status >= 500 ? t("failure_report", { id: requestId }) : t("failure_back")}</p>
<p><a href="${back}">${t("failure_link")}</a></p>`
  }
}
