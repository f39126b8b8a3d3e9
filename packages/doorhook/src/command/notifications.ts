/**
 * `doorhook notifications`: lists notifications for operators, over the operator API.
 */
import { aheadText, counted, scopeText } from "@doorhook/core"
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { DoorhookNotification } from "../embed/OperatorClient.ts"
import { ask, connection, optionalText, paging, printJson, printPage } from "./operatorApi.ts"

const detailOf = (notification: DoorhookNotification): string => {
  switch (notification.kind) {
    case "failing":
      return `since ${notification.failing_since}, disabled at ${notification.disables_at} at the earliest`
    case "disabled":
      return notification.reason
    case "recovered":
      return notification.failing_since === null ? "" : `had failed since ${notification.failing_since}`
    case "exhausted":
      return `${counted(notification.deliveries, "delivery", "deliveries")} given up`
    case "retention_paused":
      return "the clock jumped ahead: retention deletes nothing for 24 hours"
    case "clock_offset":
      return `${notification.machine} is ${aheadText(notification.ahead_ms)} the database server`
  }
}

const rowOf = (notification: DoorhookNotification): ReadonlyArray<string> => [
  notification.id,
  notification.at,
  notification.kind,
  notification.integration_id === null ? "-" : `integration ${notification.integration_id}`,
  notification.scope === null ? "-" : scopeText(notification.scope),
  detailOf(notification)
]

const list = Command.make(
  "list",
  { ...connection, integration: optionalText("integration", "Only notifications about this integration"), ...paging },
  Effect.fnUntraced(function* (given) {
    const { after, integration: integration_id, limit } = given
    const page = yield* ask(given, (api) => api.notifications.list({ integration_id, after, limit }))
    if (given.json) return yield* printJson(page)
    yield* printPage(page.notifications.map(rowOf), "no notifications", page.next)
  })
).pipe(Command.withDescription("List notifications, oldest first"))

export const notificationsCommand = Command.make("notifications").pipe(
  Command.withDescription("Show which integrations failed, were disabled, recovered, or have exhausted deliveries"),
  Command.withSubcommands([list])
)
