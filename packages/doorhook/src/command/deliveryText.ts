/**
 * Deliveries as the command shows them: a line in a list, or all about one and what can be done about it.
 */
import type { Explanation } from "@doorhook/core"
import type { DeliveryAttempt, DeliveryDetail, DeliverySummary } from "../embed/DeliveriesClient.ts"
import type { Connection } from "./operatorApi.ts"
import { commandTo } from "./operatorApi.ts"

/** How an attempt ended, in the words of the API: what can be searched for. */
const outcomeText = ({ outcome, status }: Pick<DeliveryAttempt, "outcome" | "status">): string =>
  status === null ? outcome : `${outcome} ${status}`

/** A delivery in a list. */
export const lineOf = (delivery: DeliverySummary): string =>
  [
    delivery.id.padEnd(12),
    delivery.state.padEnd(10),
    `integration ${delivery.integration_id}`.padEnd(16),
    `${delivery.attempts} attempt${delivery.attempts === 1 ? "" : "s"}`.padEnd(12),
    (delivery.last_attempt === null ? "-" : outcomeText(delivery.last_attempt)).padEnd(18),
    delivery.created_at,
    delivery.event_id,
    delivery.next_attempt_at === null
      ? (delivery.reason ?? "").replaceAll("_", " ")
      : `next ${delivery.next_attempt_at}`
  ].join(" ")

/** A whole command for each thing that can be done about a delivery. */
const commandFor = (
  given: Connection,
  { created_at, id, integration_id }: DeliveryDetail,
  action: Explanation.Action
): string => {
  switch (action) {
    case "probe":
      return commandTo(given, "integrations probe", integration_id)
    case "enable":
      return commandTo(given, "integrations set", integration_id, "--status enabled")
    case "resend":
      return commandTo(given, "deliveries resend", id)
    case "recover":
      return commandTo(given, "deliveries recover", integration_id, `--since ${created_at}`)
  }
}

/** All about a delivery, line by line. */
export const describe = (given: Connection, delivery: DeliveryDetail): ReadonlyArray<string> => [
  `${delivery.id}: ${delivery.state}${delivery.reason === null ? "" : ` (${delivery.reason.replaceAll("_", " ")})`}`,
  `event ${delivery.event_id} to integration ${delivery.integration_id}, created ${delivery.created_at}`,
  ...(delivery.next_attempt_at === null ? [] : [`next attempt ${delivery.next_attempt_at}`]),
  `why:  ${delivery.explanation.why}`,
  `next: ${delivery.explanation.next}`,
  ...delivery.explanation.actions.map(
    (action, index) => `${index === 0 ? "do:  " : "     "} ${commandFor(given, delivery, action)}`
  ),
  ...delivery.attempts.map((attempt) => {
    const more = attempt.detail ?? attempt.response_excerpt ?? ""
    const first = more.split("\n")[0]?.slice(0, 100) ?? ""
    return `  ${attempt.number}. ${attempt.started_at}  ${outcomeText(attempt)} after ${attempt.duration_ms} ms${first === "" ? "" : `: ${first}`}`
  })
]
