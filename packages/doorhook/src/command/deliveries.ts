/**
 * `doorhook deliveries`: what was not delivered, why, and sending it again, over the operator API.
 */
import { deliveryStates } from "@doorhook/core"
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { DeliveryDetail, DeliverySummary, Summary } from "../embed/DeliveriesClient.ts"
import { makeDeliveriesClient } from "../embed/DeliveriesClient.ts"
import { askThrough, connection, optionalText, paging, printJson, printPage } from "./operatorApi.ts"

const ask = askThrough(makeDeliveriesClient)

const lineOf = (delivery: DeliverySummary): string =>
  [
    delivery.id.padEnd(12),
    delivery.state.padEnd(10),
    `integration ${delivery.integration_id}`.padEnd(16),
    `${delivery.attempts} attempt${delivery.attempts === 1 ? "" : "s"}`.padEnd(12),
    delivery.created_at,
    delivery.event_id,
    delivery.next_attempt_at === null
      ? (delivery.reason ?? "").replaceAll("_", " ")
      : `next ${delivery.next_attempt_at}`
  ].join(" ")

const describe = (delivery: DeliveryDetail): ReadonlyArray<string> => [
  `${delivery.id}: ${delivery.state}${delivery.reason === null ? "" : ` (${delivery.reason.replaceAll("_", " ")})`}`,
  `event ${delivery.event_id} to integration ${delivery.integration_id}, created ${delivery.created_at}`,
  ...(delivery.next_attempt_at === null ? [] : [`next attempt ${delivery.next_attempt_at}`]),
  ...delivery.attempts.map((attempt) => {
    const what = attempt.status === null ? attempt.outcome : `${attempt.outcome} ${attempt.status}`
    const more = attempt.detail ?? attempt.response_excerpt ?? ""
    const first = more.split("\n")[0]?.slice(0, 100) ?? ""
    return `  ${attempt.number}. ${attempt.started_at}  ${what} after ${attempt.duration_ms} ms${first === "" ? "" : `: ${first}`}`
  })
]

/** How many there are in each state, of those states in which there are any. */
const countsLine = ({ deliveries }: Summary): string =>
  `in all: ${
    deliveryStates
      .filter((state) => deliveries[state] > 0)
      .map((state) => `${state} ${deliveries[state]}`)
      .join(", ") || "none"
  }`

const list = Command.make(
  "list",
  {
    ...connection,
    state: optionalText("state", `Only deliveries in this state: ${deliveryStates.join(", ")}`),
    integration: optionalText("integration", "Only deliveries to this integration"),
    event: optionalText("event", "Only deliveries of this event"),
    ...paging
  },
  Effect.fnUntraced(function* (given) {
    const { after, event: event_id, integration: integration_id, limit, state } = given
    const page = yield* ask(given, (client) => client.list({ state, integration_id, event_id, after, limit }))
    if (given.json) return yield* printJson(page)
    yield* printPage(page.deliveries.map(lineOf), "no such deliveries", page.next)
    yield* Console.log(countsLine(yield* ask(given, (client) => client.summary())))
  })
).pipe(Command.withDescription("List deliveries"))

const id = Argument.String("delivery").pipe(Argument.withDescription("The delivery, like dlv_42"))

const show = Command.make(
  "show",
  { ...connection, id },
  Effect.fnUntraced(function* (given) {
    const delivery = yield* ask(given, (client) => client.show(given.id))
    if (given.json) return yield* printJson(delivery)
    for (const line of describe(delivery)) yield* Console.log(line)
  })
).pipe(Command.withDescription("Show one delivery with all its attempts"))

const resend = Command.make(
  "resend",
  { ...connection, id },
  Effect.fnUntraced(function* (given) {
    yield* ask(given, (client) => client.resend(given.id))
    yield* Console.log(`${given.id} is sent again`)
  })
).pipe(Command.withDescription("Send a delivery again, at once"))

const recover = Command.make(
  "recover",
  {
    ...connection,
    integration: Argument.String("integration").pipe(Argument.withDescription("The integration's id")),
    since: Flag.String("since").pipe(Flag.withDescription("From when on, like 2026-03-02T00:00:00Z"))
  },
  Effect.fnUntraced(function* (given) {
    const { deliveries } = yield* ask(given, (client) => client.recover(given.integration, given.since))
    yield* Console.log(`${deliveries} ${deliveries === 1 ? "delivery is" : "deliveries are"} sent again`)
  })
).pipe(Command.withDescription("Send again all that an integration has not acknowledged since a time"))

export const deliveriesCommand = Command.make("deliveries").pipe(
  Command.withDescription("See what was delivered and what not, and send it again"),
  Command.withSubcommands([list, show, resend, recover])
)
