/**
 * `doorhook notices`: notifications for operators, over the operator API.
 */
import { counted, scopeText } from "@doorhook/core"
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { DoorhookNotice } from "../embed/OperatorClient.ts"
import { ask, connection, optionalText, paging, printJson, printPage } from "./operatorApi.ts"

const detailOf = (notice: DoorhookNotice): string => {
  switch (notice.kind) {
    case "failing":
      return `since ${notice.failing_since}, disabled at ${notice.disables_at} at the earliest`
    case "disabled":
      return notice.reason
    case "recovered":
      return notice.failing_since === null ? "" : `had failed since ${notice.failing_since}`
    case "exhausted":
      return `${counted(notice.deliveries, "delivery", "deliveries")} given up`
    case "retention_paused":
      return "the clock jumped ahead: nothing is deleted for its age for 24 hours"
  }
}

const rowOf = (notice: DoorhookNotice): ReadonlyArray<string> => [
  notice.id,
  notice.at,
  notice.kind,
  notice.integration_id === null ? "-" : `integration ${notice.integration_id}`,
  notice.scope === null ? "-" : scopeText(notice.scope),
  detailOf(notice)
]

const list = Command.make(
  "list",
  { ...connection, integration: optionalText("integration", "Only notices about this integration"), ...paging },
  Effect.fnUntraced(function* (given) {
    const { after, integration: integration_id, limit } = given
    const page = yield* ask(given, (api) => api.notices.list({ integration_id, after, limit }))
    if (given.json) return yield* printJson(page)
    yield* printPage(page.notices.map(rowOf), "no notices", page.next)
  })
).pipe(Command.withDescription("List notices, the oldest first"))

export const noticesCommand = Command.make("notices").pipe(
  Command.withDescription("See which integrations failed, were disabled, recovered or had deliveries given up"),
  Command.withSubcommands([list])
)
