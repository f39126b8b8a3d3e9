/**
 * Deliveries as the command shows them: a row in a list, or all about one and what can be done about it.
 */
import type { Explanation } from "@doorhook/core"
import { counted, shownText } from "@doorhook/core"
import type { DeliveryAttempt, DeliveryDetail, DeliverySummary } from "../embed/OperatorClient.ts"
import type { Connection } from "./operatorApi.ts"
import { commandTo } from "./operatorApi.ts"

/** How an attempt ended, in the words of the API: what can be searched for. */
const outcomeText = ({ outcome, status }: Pick<DeliveryAttempt, "outcome" | "status">): string =>
  status === null ? outcome : `${outcome} ${status}`

const reasonText = (reason: string): string => reason.replaceAll("_", " ")

/** A time to the second: a list is read, not calculated with. */
const toTheSecond = (iso: string): string => iso.replace(/\.\d+Z$/, "Z")

/** Why a delivery stands as it does, or when something happens with it, in few words. */
const standing = ({ next_attempt_at: at, reason, state }: DeliverySummary): string => {
  if (reason !== null) return reasonText(reason)
  if (state === "delivering") return "is being sent"
  return at === null ? "" : `next ${toTheSecond(at)}`
}

/** A delivery in a list. */
export const rowOf = (delivery: DeliverySummary): ReadonlyArray<string> => [
  delivery.id,
  delivery.state,
  `integration ${delivery.integration_id}`,
  counted(delivery.attempts, "attempt"),
  delivery.last_attempt === null ? "-" : outcomeText(delivery.last_attempt),
  `created ${toTheSecond(delivery.created_at)}`,
  standing(delivery)
]

/** A whole command for each thing that can be done about a delivery. */
const commandFor = (
  given: Connection,
  { created_at, id, integration_id }: DeliveryDetail,
  action: Explanation.Action
): string => {
  switch (action) {
    case "allow":
      // Which network is for somebody to decide, not for a line to be copied.
      return commandTo(given, "integrations set", integration_id, "--allow-target CIDR")
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
  `${delivery.id}: ${delivery.state}${delivery.reason === null ? "" : ` (${reasonText(delivery.reason)})`}`,
  `event ${delivery.event_id} to integration ${delivery.integration_id}, created ${delivery.created_at}`,
  `why:  ${delivery.explanation.why}`,
  `next: ${delivery.explanation.next}`,
  ...delivery.explanation.actions.map(
    (action, index) => `${index === 0 ? "do:  " : "     "} ${commandFor(given, delivery, action)}`
  ),
  ...delivery.attempts.map((attempt) => {
    const more = attempt.detail ?? attempt.response_excerpt ?? ""
    const first = shownText(more.split("\n")[0] ?? "", 100)
    return `  ${attempt.number}. ${attempt.started_at}  ${outcomeText(attempt)} after ${attempt.duration_ms} ms${first === "" ? "" : `: ${first}`}`
  })
]
