/**
 * What doorhook noticed, the newest first: for operators.
 */
import type { IntegrationId, Notice } from "@doorhook/core"
import { Html, NoticeId, Notices, parsePositiveInt } from "@doorhook/core"
import { Effect, Option } from "effect"
import { pageOf } from "../http/Query.ts"
import type { Shown, Visit } from "./Parts.ts"
import { ago, at, pager } from "./Parts.ts"

const perPage = 50

/** Notices of one integration on its page. */
const perIntegration = 10

export const makeNoticePages = Effect.gen(function* () {
  const notices = yield* Notices

  const page = Effect.fnUntraced(function* (visit: Visit) {
    const { home, language, query } = visit
    const after = Option.getOrUndefined(parsePositiveInt(NoticeId, query.get("after") ?? ""))
    const { items, next } = yield* pageOf(perPage, (limit) =>
      notices.list({ limit, order: "newest", ...(after !== undefined && { after }) })
    )
    const title = language.t("notices")
    return {
      title,
      place: "/notices",
      refresh: 10,
      body: Html.template`<h1>${title}</h1>
<section class="panel" aria-label="${title}">${noticeList(visit, items)}${pager(language, `${home}/notices`, query, next === null ? null : String(next.id))}</section>`
    } satisfies Shown
  })

  return {
    page,
    /** The latest of all integrations, or of one. */
    of: (visit: Visit, integration_id: IntegrationId | null, limit = perIntegration) =>
      Effect.map(
        notices.list({ limit, order: "newest", ...(integration_id !== null && { integration_id }) }),
        (items) => noticeList(visit, items)
      )
  }
})

const noticeList = (visit: Visit, items: ReadonlyArray<Notice>): Html.Html => {
  const {
    home,
    language: { t }
  } = visit
  if (items.length === 0) return Html.template`<p class="muted">${t("no_notices")}</p>`
  return Html.template`<ul class="plain">${items.map((notice) => {
    const id = notice.integration_id
    const of =
      id === null ? null : Html.template`<a href="${home}/integrations/${id}">${t("integration_title", { id })}</a>: `
    return Html.template`<li>${ago(visit, notice.at)} ${of}${words(visit, notice)}</li>
`
  })}</ul>`
}

const words = ({ language, language: { html, t } }: Visit, notice: Notice): Html.Part => {
  switch (notice.kind) {
    case "failing":
      return html("notice_failing", {
        since: at(language, notice.failing_since),
        disables: at(language, notice.disables_at)
      })
    case "disabled":
      return t(notice.reason === "gone" ? "notice_gone" : "notice_disabled")
    case "recovered":
      return t("notice_recovered")
    case "retention_paused":
      return t("notice_retention")
    case "exhausted":
      return language.count("notice_exhausted", notice.deliveries)
  }
}
