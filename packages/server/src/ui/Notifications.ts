/**
 * The operator's page of notifications, newest first.
 */
import type { IntegrationId, Notification } from "@doorhook/core"
import { DurationText, Html, NotificationId, Notifications, parsePositiveInt } from "@doorhook/core"
import { Effect, Option } from "effect"
import { pageOf } from "../http/Query.ts"
import type { Shown, Visit } from "./Parts.ts"
import { ago, at, pager } from "./Parts.ts"

const perPage = 50

/** Maximum number of notifications on an integration's page. */
const perIntegration = 10

export const makeNotificationPages = Effect.gen(function* () {
  const notifications = yield* Notifications

  const page = Effect.fnUntraced(function* (visit: Visit) {
    const { home, language, query } = visit
    const after = Option.getOrUndefined(parsePositiveInt(NotificationId, query.get("after") ?? ""))
    const { items, next } = yield* pageOf(perPage, (limit) =>
      notifications.list({ limit, order: "newest", ...(after !== undefined && { after }) })
    )
    const title = language.t("notifications")
    return {
      title,
      place: "/notifications",
      refresh: 10,
      body: Html.template`<h1>${title}</h1>
<section class="panel" aria-label="${title}">${notificationList(visit, items)}${pager(language, `${home}/notifications`, query, next === null ? null : String(next.id))}</section>`
    } satisfies Shown
  })

  return {
    page,
    /** Lists the latest notifications about one integration, or about all if `integration_id` is null. */
    of: (visit: Visit, integration_id: IntegrationId | null, limit = perIntegration) =>
      Effect.map(
        notifications.list({ limit, order: "newest", ...(integration_id !== null && { integration_id }) }),
        (items) => notificationList(visit, items)
      )
  }
})

const notificationList = (visit: Visit, items: ReadonlyArray<Notification>): Html.Html => {
  const {
    home,
    language: { t }
  } = visit
  if (items.length === 0) return Html.template`<p class="muted">${t("no_notifications")}</p>`
  return Html.template`<ul class="plain">${items.map((notification) => {
    const id = notification.integration_id
    const of =
      id === null ? null : Html.template`<a href="${home}/integrations/${id}">${t("integration_title", { id })}</a>: `
    return Html.template`<li>${ago(visit, notification.at)} ${of}${words(visit, notification)}</li>
`
  })}</ul>`
}

const words = ({ language, language: { html, t } }: Visit, notification: Notification): Html.Part => {
  switch (notification.kind) {
    case "failing":
      return html("notification_failing", {
        since: at(language, notification.failing_since),
        disables: at(language, notification.disables_at)
      })
    case "disabled":
      return t(notification.reason === "gone" ? "notification_gone" : "notification_disabled")
    case "recovered":
      return t("notification_recovered")
    case "retention_paused":
      return t("notification_retention")
    case "clock_offset":
      return t("notification_clock", {
        machine: notification.machine,
        offset: DurationText.format(Math.round(Math.abs(notification.ahead_ms) / 1_000) * 1_000)
      })
    case "exhausted":
      return language.count("notification_exhausted", notification.deliveries)
  }
}
