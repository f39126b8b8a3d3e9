/**
 * `doorhook deliveries`: lists, explains and resends deliveries over the operator API.
 */
import type { Explanation } from "@doorhook/core"
import {
  CommandFailure,
  counted,
  deliveryStates,
  DurationText,
  isoOf,
  parseDeliveryId,
  shownText
} from "@doorhook/core"
import { Clock, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type {
  DeliveryAttempt,
  DeliveryCounts,
  DeliveryDetail,
  DeliveryListOptions,
  DeliveryPage,
  DeliverySummary
} from "../embed/OperatorClient.ts"
import type { Connection } from "./operatorApi.ts"
import {
  ask,
  commandTo,
  connection,
  integrationArgument,
  newest,
  optionalText,
  paging,
  printJson,
  printLine,
  printPage,
  search,
  whereDisabled
} from "./operatorApi.ts"

/** Returns a line with the number of deliveries in each state, leaving out states without deliveries. */
const countsLine = ({ deliveries }: DeliveryCounts): string =>
  `total: ${
    deliveryStates
      .filter((state) => deliveries[state] > 0)
      .map((state) => `${state} ${deliveries[state]}`)
      .join(", ") || "none"
  }`

/** Returns the last line of a list: totals for the filter, or the number on this page if the total is unknown. */
const totals = (page: DeliveryPage, filter: DeliveryListOptions, summary: DeliveryCounts): string => {
  const { after, client_id, event_id, host, integration_id, name, state } = filter
  const shown = page.deliveries.length
  if ([event_id, integration_id, client_id, host, name].some((given) => given !== undefined)) {
    const what = counted(shown, "such delivery", "such deliveries")
    return page.next === null && after === undefined ? `total: ${what}` : `on this page: ${what}`
  }
  if (state === undefined || state === "") return countsLine(summary)
  const asked = String(state)
    .split(",")
    .map((word) => word.trim())
  const counts = deliveryStates
    .filter((each) => asked.includes(each))
    .map((each) => `${each} ${summary.deliveries[each]}`)
  return `total: ${counts.join(", ")}`
}

const list = Command.make(
  "list",
  {
    ...connection,
    state: optionalText("state", `Only deliveries in these states, separated by commas: ${deliveryStates.join(", ")}`),
    integration: optionalText("integration", "Only deliveries to this integration"),
    event: optionalText("event", "Only deliveries of this event"),
    ...search,
    newest,
    ...paging
  },
  Effect.fnUntraced(function* (given) {
    const { after, client: client_id, event: event_id, host, integration: integration_id, limit, name, state } = given
    const order = given.newest
    const filter: DeliveryListOptions = { state, integration_id, event_id, client_id, host, name, order, after, limit }
    const page = yield* ask(given, (api) => api.deliveries.list(filter))
    if (given.json) return yield* printJson(page)
    yield* printPage(page.deliveries.map(rowOf), "no such deliveries", page.next)
    yield* printLine(totals(page, filter, yield* ask(given, (api) => api.deliveries.summary())))
  })
).pipe(
  Command.withDescription("List deliveries and the outcome of their last attempt, oldest first"),
  Command.withExamples([
    {
      command: "doorhook deliveries list --state retrying,exhausted,expired --newest",
      description: "Deliveries that were not acknowledged, and why"
    },
    {
      command: "doorhook deliveries list --integration 12",
      description: "All deliveries of one integration"
    }
  ])
)

const id = Argument.String("delivery").pipe(
  Argument.filter(
    (text) => Option.isSome(parseDeliveryId(text)),
    () => "must be the id of a delivery, like dlv_42"
  ),
  Argument.withDescription("The delivery, like dlv_42")
)

const show = Command.make(
  "show",
  { ...connection, id },
  Effect.fnUntraced(function* (given) {
    const delivery = yield* ask(given, (api) => api.deliveries.show(given.id))
    if (given.json) return yield* printJson(delivery)
    for (const line of describe(given, delivery)) yield* printLine(line)
  })
).pipe(Command.withDescription("Show one delivery: its state with the reason, suggested actions, and all attempts"))

const resend = Command.make(
  "resend",
  { ...connection, id },
  Effect.fnUntraced(function* (given) {
    const { integration_id } = yield* ask(given, (api) => api.deliveries.show(given.id))
    yield* ask(given, (api) => api.deliveries.resend(given.id), whereDisabled(given, integration_id))
    if (given.json) return yield* printJson({ id: given.id })
    yield* printLine(
      `${given.id} is being sent; see the outcome with: ${commandTo(given, "deliveries show", given.id)}`
    )
  })
).pipe(Command.withDescription("Send a delivery now, whatever its state"))

/** Reads a point in time, given in ISO 8601 or as a duration before now, and returns it in ISO 8601. */
const sinceOf = Effect.fnUntraced(function* (text: string) {
  const ago = DurationText.parse(text)
  if (Option.isSome(ago)) return isoOf((yield* Clock.currentTimeMillis) - ago.value)
  if (/^\d{4}-\d{2}-\d{2}(?:$|T\S*(?:Z|[+-]\d{2}:\d{2})$)/.test(text)) return text
  return yield* CommandFailure.usage(
    `--since: must be a time with its offset, like 2026-03-02T00:00:00Z, or how long ago, like 2h or 3d, not ${JSON.stringify(text)}.`
  )
})

const recover = Command.make(
  "recover",
  {
    ...connection,
    integration: integrationArgument,
    since: Flag.String("since").pipe(
      Flag.withDescription(
        "Start of the period: a time like 2026-03-02T00:00:00Z or 2026-03-02, or how long ago, like 2h (default 3d)"
      ),
      Flag.withMetavar("TIME|DURATION"),
      Flag.withDefault("3d")
    )
  },
  Effect.fnUntraced(function* (given) {
    const since = yield* sinceOf(given.since)
    const { deliveries } = yield* ask(
      given,
      (api) => api.deliveries.recover(given.integration, since),
      whereDisabled(given, given.integration)
    )
    if (given.json) return yield* printJson({ deliveries, since })
    const list = commandTo(given, "deliveries list --newest --integration", given.integration)
    yield* printLine(
      deliveries === 0
        ? `nothing to send: every delivery to integration ${given.integration} since ${since} was acknowledged or is being sent`
        : `${counted(deliveries, "delivery", "deliveries")} since ${since} will be sent; see the outcomes with: ${list}`
    )
  })
).pipe(
  Command.withDescription(
    "Send all unacknowledged deliveries of an integration since a given time, both ended deliveries (even expired calls) and waiting retries"
  ),
  Command.withExamples([
    { command: "doorhook deliveries recover 12 --since 6h", description: "Deliveries missed in the last six hours" }
  ])
)

export const deliveriesCommand = Command.make("deliveries").pipe(
  Command.withDescription("List deliveries and send them again"),
  Command.withSubcommands([list, show, resend, recover])
)

export const explainCommand = Command.make(
  "explain",
  {
    ...connection,
    event: Argument.String("event").pipe(Argument.withDescription("The event's id, like evt_...: the webhook-id")),
    integration: optionalText("integration", "Explain only this integration, also one of another building")
  },
  Effect.fnUntraced(function* (given) {
    const { event: id, integration: integration_id } = given
    const found = yield* ask(given, (api) => api.deliveries.explain(id, { integration_id }))
    if (given.json) return yield* printJson(found)
    if (found.event === null) return yield* printLine(`${found.verdict}: ${found.why}`)
    const { action, building_id, created_at, resource_type, tenant_ids } = found.event
    const tenants = tenant_ids.map((tenant) => `, tenant ${tenant}`).join("")
    yield* printLine(`${resource_type} (${action}) of building ${building_id}${tenants}, published ${created_at}`)
    if (found.integrations.length === 0) yield* printLine("no integration of the building or the tenants")
    for (const { delivery_id, integration_id: its, name, verdict, why } of found.integrations) {
      const what = `integration ${its}${name === null ? "" : ` (${name})`}: ${reasonText(verdict)}`
      yield* printLine(`${what}${delivery_id === null ? "" : ` (${delivery_id})`}. ${why}`)
    }
  })
).pipe(
  Command.withDescription("Explain which integrations got an event, and why others did not"),
  Command.withExamples([
    {
      command: "doorhook explain evt_0mb1k2j3n4p5q6r7s8t9 --integration 12",
      description: "Why integration 12 did not get it"
    }
  ])
)

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
const rowOf = (delivery: DeliverySummary): ReadonlyArray<string> => [
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
const describe = (given: Connection, delivery: DeliveryDetail): ReadonlyArray<string> => [
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
