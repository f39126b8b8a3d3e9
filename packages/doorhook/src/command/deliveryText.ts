/**
 * Texts that describe deliveries: a row of a list, and all details with suggested commands.
 */
import type { Explanation } from "@doorhook/core"
import { counted, shownText } from "@doorhook/core"
import type { DeliveryAttempt, DeliveryDetail, DeliverySummary } from "../embed/OperatorClient.ts"
import type { Connection } from "./operatorApi.ts"
import { commandTo } from "./operatorApi.ts"

/** Returns the outcome of an attempt in the API's terms, which users can search for. */
const outcomeText = ({ outcome, status }: Pick<DeliveryAttempt, "outcome" | "status">): string =>
  status === null ? outcome : `${outcome} ${status}`

const reasonText = (reason: string): string => reason.replaceAll("_", " ")

/** Removes fractions of a second from a time. */
const toTheSecond = (iso: string): string => iso.replace(/\.\d+Z$/, "Z")

/** Returns why a delivery is in its state, or when its next attempt is due. */
const situation = ({ next_attempt_at: at, reason, state }: DeliverySummary): string => {
  if (reason !== null) return reasonText(reason)
  if (state === "delivering") return "is being sent"
  return at === null ? "" : `next ${toTheSecond(at)}`
}

/** Returns a delivery as a row of a list. */
export const rowOf = (delivery: DeliverySummary): ReadonlyArray<string> => [
  delivery.id,
  delivery.state,
  `integration ${delivery.integration_id}`,
  counted(delivery.attempts, "attempt"),
  delivery.last_attempt === null ? "-" : outcomeText(delivery.last_attempt),
  `created ${toTheSecond(delivery.created_at)}`,
  situation(delivery)
]

/** Returns the complete command for a suggested action. */
const commandFor = (
  given: Connection,
  { created_at, id, integration_id }: DeliveryDetail,
  action: Explanation.Action
): string => {
  switch (action) {
    case "allow":
      // A placeholder, because the operator must choose the network.
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

/** Returns all details of a delivery as lines. */
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
