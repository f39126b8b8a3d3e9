/**
 * `doorhook integrations`: lists integrations, shows which fail, and changes their settings, over the operator API.
 */
import { CommandFailure, details, scopeText, statusFilters } from "@doorhook/core"
import { Effect, Option, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { parseRetryFlags } from "../config/ServeConfig.ts"
import type { IntegrationChange, IntegrationSummary } from "../embed/OperatorClient.ts"
import { importCommand } from "./importIntegrations.ts"
import { portalLinkCommand, testCommand } from "./portal.ts"
import { withFlags } from "./settingFlags.ts"
import type { Connection, Remedies } from "./operatorApi.ts"
import {
  ask,
  commandTo,
  connection,
  integrationArgument,
  paging,
  printJson,
  printLine,
  printPage,
  search,
  whereDisabled
} from "./operatorApi.ts"

const statusText = ({ disabled_reason, status }: IntegrationSummary): string =>
  disabled_reason === null ? status : `${status} (${disabled_reason})`

const failingText = ({ failing }: IntegrationSummary): string =>
  failing === null ? "" : `acknowledges nothing since ${failing.since}`

/** Returns a text about an integration that is failing or catching up after an outage; empty if it is healthy. */
const conditionOf = (integration: IntegrationSummary): string =>
  integration.catching_up === null ? failingText(integration) : `catches up since ${integration.catching_up.since}`

const creatorText = ({ client_id }: IntegrationSummary["created_by"]): string =>
  client_id === null ? "no client" : `client ${client_id}`

const rowOf = (integration: IntegrationSummary): ReadonlyArray<string> => [
  integration.id,
  statusText(integration),
  integration.name ?? "-",
  scopeText(integration.scope),
  creatorText(integration.created_by),
  integration.url,
  conditionOf(integration)
]

/** Returns the overrides as the flags that set them. */
const overridesText = ({ overrides }: IntegrationSummary): string => {
  const { acknowledge, allow_targets = [], headers = {}, requests_per_second: rate, retry = {} } = overrides
  return [
    ...(acknowledge === undefined ? [] : [`--acknowledge ${acknowledge}`]),
    ...Object.entries(retry).map(([type, delays]) => `--retry ${type}=${delays.join(",")}`),
    ...allow_targets.map((network) => `--allow-target ${network}`),
    ...Object.entries(headers).map(([name, value]) => `--header '${name}: ${value}'`),
    ...(rate === undefined ? [] : [`--requests-per-second ${rate}`])
  ].join(" ")
}

const describe = (integration: IntegrationSummary): ReadonlyArray<string> => [
  `${integration.id}: ${statusText(integration)}`,
  ...(integration.name === null ? [] : [`name: ${integration.name}`]),
  ...(integration.description === null ? [] : [`description: ${integration.description}`]),
  `of ${scopeText(integration.scope)}, to ${integration.url}`,
  `for ${integration.bindings.map(({ actions, resource_type }) => `${resource_type} (${actions.join(", ")})`).join(", ")}`,
  `detail: ${integration.detail}`,
  ...(conditionOf(integration) === "" ? [] : [conditionOf(integration)]),
  `set: ${overridesText(integration) || "nothing of its own"}`,
  `created by user ${integration.created_by.user_id}, ${creatorText(integration.created_by)}`,
  `created ${integration.created_at}, changed ${integration.updated_at}`
]

const statuses = ["enabled", "disabled"] as const

const list = Command.make(
  "list",
  {
    ...connection,
    status: Flag.Literals("status", statusFilters).pipe(
      Flag.withDescription("Only integrations with this status; unhealthy means failing, or disabled by doorhook"),
      Flag.optional,
      Flag.map(Option.getOrUndefined)
    ),
    ...search,
    ...paging
  },
  Effect.fnUntraced(function* (given) {
    const { after, client: client_id, host, limit, name, status } = given
    const page = yield* ask(given, (api) => api.integrations.list({ status, client_id, host, name, after, limit }))
    if (given.json) return yield* printJson(page)
    yield* printPage(page.integrations.map(rowOf), "no such integrations", page.next)
    for (const { id, scope, why } of page.unreadable) {
      yield* printLine(
        `integration ${id} of ${scopeText(scope)} can't be read: ${why}. Repair its row, delete it through the API, or restore a backup`
      )
    }
  })
).pipe(Command.withDescription("List integrations, and show which are failing"))

const id = integrationArgument

/** Returns what to do about a failed probe, by error code. */
const remediesFor = (given: Connection, { id: integration, status }: IntegrationSummary): Remedies => {
  const { integration_disabled: enable } = whereDisabled(given, integration)
  const recover = commandTo(given, "deliveries recover", integration, "--since 3d")
  return {
    not_disabled:
      status === "disabled" ? enable : `To send everything that this integration has not acknowledged: ${recover}`,
    nothing_to_send: enable
  }
}

const print = Effect.fnUntraced(function* (integration: IntegrationSummary, json: boolean) {
  if (json) return yield* printJson(integration)
  for (const line of describe(integration)) yield* printLine(line)
})

const show = Command.make(
  "show",
  { ...connection, id },
  Effect.fnUntraced(function* (given) {
    yield* print(yield* ask(given, (api) => api.integrations.show(given.id)), given.json)
  })
).pipe(Command.withDescription("Show one integration"))

/** Reads headers in the form `name: value`. */
const readHeaders = (given: ReadonlyArray<string>): Result.Result<Readonly<Record<string, string>>, CommandFailure> => {
  const headers = new Map<string, string>()
  for (const text of given) {
    const at = text.indexOf(":")
    if (at < 1) return Result.fail(CommandFailure.usage("--header: must be like 'x-api-key: value', with a colon"))
    headers.set(text.slice(0, at).trim().toLowerCase(), text.slice(at + 1).trim())
  }
  return Result.succeed(Object.fromEntries(headers))
}

const set = Command.make(
  "set",
  {
    ...connection,
    id,
    status: Flag.Literals("status", statuses).pipe(
      Flag.withDescription("Enable or disable the integration"),
      Flag.optional
    ),
    detail: Flag.Literals("detail", details).pipe(
      Flag.withDescription("Data that the receiver gets: all, without personal members, or only an id and a link"),
      Flag.optional
    ),
    acknowledge: Flag.Literals("acknowledge", ["200", "2xx"]).pipe(
      Flag.withDescription("Statuses that acknowledge: only 200, or any 2xx"),
      Flag.optional
    ),
    retry: Flag.String("retry").pipe(
      Flag.withDescription(
        "Delays between attempts, like access_log=5s,30s; nothing after = means no retry; repeatable"
      ),
      Flag.withMetavar("RESOURCE=d1,d2"),
      Flag.atLeast(0)
    ),
    allowTarget: Flag.String("allow-target").pipe(
      Flag.withDescription("Private or reserved network that only this integration may use; repeatable"),
      Flag.withMetavar("CIDR"),
      Flag.atLeast(0)
    ),
    header: Flag.String("header").pipe(
      Flag.withDescription("Additional request header; its value is never shown again; repeatable"),
      Flag.withMetavar("'NAME: VALUE'"),
      Flag.atLeast(0)
    ),
    requestsPerSecond: Flag.Finite("requests-per-second").pipe(
      Flag.withDescription("Maximum number of requests to start per second"),
      Flag.withMetavar("N"),
      Flag.optional
    ),
    clear: Flag.Boolean("clear").pipe(
      Flag.withDescription("Remove all earlier overrides first (default: keep overrides that are not given)"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* (given) {
    const retry = yield* Effect.fromResult(parseRetryFlags(given.retry)).pipe(Effect.mapError(withFlags))
    const headers = yield* Effect.fromResult(readHeaders(given.header))
    const named: NonNullable<IntegrationChange["overrides"]> = {
      ...Option.match(given.acknowledge, { onNone: () => ({}), onSome: (acknowledge) => ({ acknowledge }) }),
      ...(given.allowTarget.length > 0 && { allow_targets: given.allowTarget }),
      ...Option.match(given.requestsPerSecond, {
        onNone: () => ({}),
        onSome: (requests_per_second) => ({ requests_per_second })
      })
    }
    const changesOverrides =
      given.clear || given.retry.length > 0 || given.header.length > 0 || Object.keys(named).length > 0
    if (!changesOverrides && Option.isNone(given.status) && Option.isNone(given.detail)) {
      return yield* CommandFailure.usage(
        "Nothing to set. Give --status, --detail, --acknowledge, --retry, --allow-target, --header, --requests-per-second or --clear."
      )
    }
    // The API replaces all overrides, so the overrides to keep are sent again.
    const before: IntegrationChange["overrides"] =
      changesOverrides && !given.clear ? (yield* ask(given, (api) => api.integrations.show(given.id))).overrides : {}
    const change: IntegrationChange = {
      ...Option.match(given.status, { onNone: () => ({}), onSome: (status) => ({ status }) }),
      ...Option.match(given.detail, { onNone: () => ({}), onSome: (detail) => ({ detail }) }),
      ...(changesOverrides && {
        overrides: {
          ...before,
          ...named,
          ...(given.retry.length > 0 && { retry: { ...before.retry, ...retry } }),
          ...(given.header.length > 0 && { headers: { ...before.headers, ...headers } })
        }
      })
    }
    yield* print(yield* ask(given, (api) => api.integrations.set(given.id, change)), given.json)
  })
).pipe(
  Command.withDescription("Enable or disable an integration, or override how its deliveries are sent"),
  Command.withExamples([
    { command: "doorhook integrations set 12 --acknowledge 2xx", description: "A receiver that answers 204" },
    {
      command: "doorhook integrations set 12 --allow-target 10.1.2.0/24 --retry access_log=1s,10s",
      description: "A receiver in the building's network, with its own retry schedule"
    },
    { command: "doorhook integrations set 12 --clear", description: "Use the service's settings again" }
  ])
)

const probe = Command.make(
  "probe",
  { ...connection, id },
  Effect.fnUntraced(function* (given) {
    const integration = yield* ask(given, (api) => api.integrations.show(given.id))
    const { delivery_id } = yield* ask(
      given,
      (api) => api.integrations.probe(given.id),
      remediesFor(given, integration)
    )
    if (given.json) return yield* printJson({ id: given.id, delivery_id })
    yield* printLine(
      `delivery ${delivery_id} is being sent to integration ${given.id}, which is enabled if it acknowledges`
    )
    yield* printLine(`see the outcome with: ${commandTo(given, "deliveries show", delivery_id)}`)
  })
).pipe(
  Command.withDescription("Send one delivery to an integration that doorhook disabled; an acknowledgement enables it")
)

export const integrationsCommand = Command.make("integrations").pipe(
  Command.withDescription("List, import and configure integrations"),
  Command.withSubcommands([list, show, importCommand, set, probe, testCommand, portalLinkCommand])
)
