/**
 * `doorhook deliveries`: what was not delivered, why, and sending it again, over the operator API.
 */
import { CommandFailure, deliveryStates } from "@doorhook/core"
import type { Redacted } from "effect"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { DoorhookError } from "../embed/DoorhookError.ts"
import type { DeliveriesClient, DeliveryDetail, DeliverySummary } from "../embed/OperatorCalls.ts"
import { makeDeliveriesClient } from "../embed/OperatorCalls.ts"
import { operatorKeyFlag, operatorKeyOf } from "./operatorKey.ts"

const connection = {
  url: Flag.String("url").pipe(
    Flag.withDescription("The service (default http://127.0.0.1:4000)"),
    Flag.withDefault("http://127.0.0.1:4000")
  ),
  operatorKey: operatorKeyFlag,
  json: Flag.Boolean("json").pipe(Flag.withDescription("Print the answer of the API as it is"), Flag.withDefault(false))
}

interface Connection {
  readonly url: string
  readonly operatorKey: Option.Option<Redacted.Redacted<string>>
}

const clientOf = Effect.fnUntraced(function* ({ operatorKey, url }: Connection) {
  return yield* Option.match(yield* operatorKeyOf(operatorKey), {
    onNone: () => CommandFailure.usage("No operator key. Set DOORHOOK_OPERATOR_KEY, or give --operator-key."),
    onSome: (key) => Effect.succeed(makeDeliveriesClient(fetch, key, url.replace(/\/+$/, "")))
  })
})

/** One call, whose failure is told in a line. */
const ask = Effect.fnUntraced(function* <A>(given: Connection, call: (client: DeliveriesClient) => Promise<A>) {
  const client = yield* clientOf(given)
  return yield* Effect.tryPromise({
    try: () => call(client),
    catch: (error) =>
      new CommandFailure({
        exitCode: 1,
        message:
          error instanceof DoorhookError
            ? error.message
            : `No answer from ${given.url}. Is the service running there? Give another address with --url.`
      })
  })
})

const printJson = (value: unknown): Effect.Effect<void> => Console.log(JSON.stringify(value, null, 2))

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

const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional, Flag.map(Option.getOrUndefined))

const list = Command.make(
  "list",
  {
    ...connection,
    state: optionalText("state", `Only deliveries in this state: ${deliveryStates.join(", ")}`),
    integration: optionalText("integration", "Only deliveries to this integration"),
    event: optionalText("event", "Only deliveries of this event"),
    after: optionalText("after", "Continue after this delivery"),
    limit: Flag.Int("limit").pipe(
      Flag.withDescription("At most so many (1 to 1,000; default 100)"),
      Flag.withDefault(100)
    )
  },
  Effect.fnUntraced(function* (given) {
    const { after, event: event_id, integration: integration_id, limit, state } = given
    const page = yield* ask(given, (client) => client.list({ state, integration_id, event_id, after, limit }))
    if (given.json) return yield* printJson(page)
    for (const delivery of page.deliveries) yield* Console.log(lineOf(delivery))
    if (page.deliveries.length === 0) yield* Console.log("no such deliveries")
    if (page.next !== null) yield* Console.log(`more: --after ${page.next}`)
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
