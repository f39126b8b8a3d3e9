/**
 * The operator's page of notifications, newest first.
 */
import type { IntegrationId, Notification, StoreError } from "@doorhook/core"
import {
  DurationText,
  Html,
  NotificationId,
  Notifications,
  OperatorIntegrations,
  parsePositiveInt
} from "@doorhook/core"
import { Effect, Option } from "effect"
import { pageOf } from "../http/Query.ts"
import { nameOf } from "./Labels.ts"
import type { PageEffect, Visit } from "./Parts.ts"
import * as Parts from "./Parts.ts"

const perPage = 50

/** Maximum number of notifications on an integration's page. */
const perIntegration = 10

export class NotificationPages {
  static readonly make = Effect.gen(function* () {
    return new NotificationPages(yield* Notifications, yield* OperatorIntegrations)
  })
  readonly #notifications: Notifications["Service"]
  readonly #integrations: OperatorIntegrations["Service"]

  constructor(notifications: Notifications["Service"], integrations: OperatorIntegrations["Service"]) {
    this.#notifications = notifications
    this.#integrations = integrations
  }

  page(visit: Visit): PageEffect {
    const { home, language, query } = visit
    const after = Option.getOrUndefined(parsePositiveInt(NotificationId, query.get("after") ?? ""))
    const listed = pageOf(perPage, (limit) =>
      this.#notifications.list({ limit, order: "newest", ...(after !== undefined && { after }) })
    )
    return Effect.gen({ self: this }, function* () {
      const { items, next } = yield* listed
      const title = language.t("notifications")
      return {
        title,
        place: "/notifications",
        refresh: 10,
        body: Html.template`<h1>${title}</h1>
<section class="panel" aria-label="${title}">${notificationList(visit, items, yield* this.#namesOf(items))}${Parts.pager(language, `${home}/notifications`, query, next === null ? null : String(next.id))}</section>`
      }
    })
  }

  /** Lists the latest notifications about one integration, or about all if `integration_id` is null. */
  latest(
    visit: Visit,
    integration_id: IntegrationId | null,
    limit = perIntegration
  ): Effect.Effect<Html.Html, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const of = integration_id === null ? {} : { integration_id }
      const items = yield* this.#notifications.list({ limit, order: "newest", ...of })
      return notificationList(visit, items, yield* this.#namesOf(items))
    })
  }

  /** Returns the names of the integrations that notifications are about, without deleted ones. */
  #namesOf(items: ReadonlyArray<Notification>): Effect.Effect<ReadonlyMap<IntegrationId, string>, StoreError> {
    return Effect.gen({ self: this }, function* () {
      const names = new Map<IntegrationId, string>()
      for (const { integration_id: id } of items) {
        if (id === null || names.has(id)) continue
        const found = yield* Effect.catchTag(this.#integrations.show(id), "IntegrationNotFound", () =>
          Effect.succeed(null)
        )
        if (found !== null) names.set(id, nameOf(found.integration))
      }
      return names
    })
  }
}

const notificationList = (
  visit: Visit,
  items: ReadonlyArray<Notification>,
  names: ReadonlyMap<IntegrationId, string>
): Html.Html => {
  const { home } = visit
  const { t } = visit.language
  if (items.length === 0) return Html.template`<p class="muted">${t("no_notifications")}</p>`
  return Html.template`<ul class="plain">${items.map((notification) => {
    const id = notification.integration_id
    const of =
      id === null
        ? null
        : Html.template`<a href="${home}/integrations/${id}">${names.get(id) ?? t("deleted_integration")}</a>: `
    return Html.template`<li>${Parts.ago(visit, notification.at)} ${of}${words(visit, notification)}</li>
`
  })}</ul>`
}

const words = ({ language, language: { html, t } }: Visit, notification: Notification): Html.Part => {
  switch (notification.kind) {
    case "failing":
      return html("notification_failing", {
        since: Parts.at(language, notification.failing_since),
        disables: Parts.at(language, notification.disables_at)
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
