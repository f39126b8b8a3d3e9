/**
 * `doorhook integrations`: lists integrations, shows which fail, and changes their settings, over the operator API.
 */
import { CommandFailure, scopeText, statusFilters } from "@doorhook/core"
import { Effect, Option, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { parseRetryFlags } from "../config/ServeConfig.ts"
import type { IntegrationChange, IntegrationSummary } from "../embed/OperatorClient.ts"
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
  printPage
} from "./operatorApi.ts"

const statusText = ({ disabled_reason, status }: IntegrationSummary): string =>
  disabled_reason === null ? status : `${status} (${disabled_reason})`

const failingText = ({ failing }: IntegrationSummary): string =>
  failing === null ? "" : `acknowledges nothing since ${failing.since}`

/** Whether it fails, or catches up after an outage; empty when it is healthy. */
const conditionOf = (integration: IntegrationSummary): string =>
  integration.catching_up === null ? failingText(integration) : `catches up since ${integration.catching_up.since}`

const rowOf = (integration: IntegrationSummary): ReadonlyArray<string> => [
  integration.id,
  statusText(integration),
  scopeText(integration.scope),
  integration.url,
  conditionOf(integration)
]

/** The overrides as the flags that set them. */
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
  `of ${scopeText(integration.scope)}, to ${integration.url}`,
  `for ${integration.bindings.map(({ actions, resource_type }) => `${resource_type} (${actions.join(", ")})`).join(", ")}`,
  ...(conditionOf(integration) === "" ? [] : [conditionOf(integration)]),
  `set: ${overridesText(integration) || "nothing of its own"}`,
  `created ${integration.created_at}, changed ${integration.updated_at}`
]

const statuses = ["enabled", "disabled"] as const

const list = Command.make(
  "list",
  {
    ...connection,
    status: Flag.Literals("status", statusFilters).pipe(
      Flag.withDescription(
        "Only integrations of this status; unhealthy are those that fail and those that doorhook disabled"
      ),
      Flag.optional,
      Flag.map(Option.getOrUndefined)
    ),
    ...paging
  },
  Effect.fnUntraced(function* (given) {
    const { after, limit, status } = given
    const page = yield* ask(given, (api) => api.integrations.list({ status, after, limit }))
    if (given.json) return yield* printJson(page)
    yield* printPage(page.integrations.map(rowOf), "no such integrations", page.next)
    for (const { id, scope, why } of page.unreadable) {
      yield* printLine(
        `integration ${id} of ${scopeText(scope)} can't be read: ${why}. Put its row right, delete it over the API, or restore a backup`
      )
    }
  })
).pipe(Command.withDescription("List integrations, and which of them fail"))

const id = integrationArgument

/** What to do with one that takes no probe. */
const remediesFor = (given: Connection & { readonly id: string }): Remedies => {
  const enable = commandTo(given, "integrations set", given.id, "--status enabled")
  return {
    not_disabled: `To send what was not acknowledged: ${commandTo(given, "deliveries recover", given.id, "--since 3d")}; before it, if it was disabled by hand: ${enable}`,
    nothing_to_send: `To enable it: ${enable}`
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
    status: Flag.Literals("status", statuses).pipe(Flag.withDescription("Enable or disable it"), Flag.optional),
    acknowledge: Flag.Literals("acknowledge", ["200", "2xx"]).pipe(
      Flag.withDescription("Which statuses acknowledge: 200 alone, or any of 2xx"),
      Flag.optional
    ),
    retry: Flag.String("retry").pipe(
      Flag.withDescription("Delays between attempts, like access_log=5s,30s; nothing after = is no retry; repeatable"),
      Flag.withMetavar("RESOURCE=d1,d2"),
      Flag.atLeast(0)
    ),
    allowTarget: Flag.String("allow-target").pipe(
      Flag.withDescription("Private or reserved network that it alone may use; repeatable"),
      Flag.withMetavar("CIDR"),
      Flag.atLeast(0)
    ),
    header: Flag.String("header").pipe(
      Flag.withDescription("Header of its requests, beside those of all; its value is not shown again; repeatable"),
      Flag.withMetavar("'NAME: VALUE'"),
      Flag.atLeast(0)
    ),
    requestsPerSecond: Flag.Finite("requests-per-second").pipe(
      Flag.withDescription("The most requests that are started in a second"),
      Flag.withMetavar("N"),
      Flag.optional
    ),
    clear: Flag.Boolean("clear").pipe(
      Flag.withDescription("Forget what was set before; without it, what is not named stays"),
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
    if (!changesOverrides && Option.isNone(given.status)) {
      return yield* CommandFailure.usage(
        "Nothing to set. Give --status, --acknowledge, --retry, --allow-target, --header, --requests-per-second or --clear."
      )
    }
    // The API replaces all overrides at once, so those that stay are sent again.
    const before: IntegrationChange["overrides"] =
      changesOverrides && !given.clear ? (yield* ask(given, (api) => api.integrations.show(given.id))).overrides : {}
    const change: IntegrationChange = {
      ...Option.match(given.status, { onNone: () => ({}), onSome: (status) => ({ status }) }),
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
  Command.withDescription("Enable or disable an integration, or set where its deliveries differ from the others'"),
  Command.withExamples([
    { command: "doorhook integrations set 12 --acknowledge 2xx", description: "For a receiver that answers 204" },
    {
      command: "doorhook integrations set 12 --allow-target 10.1.2.0/24 --retry access_log=1s,10s",
      description: "For a receiver in the building's own network, with a schedule of its own"
    },
    { command: "doorhook integrations set 12 --clear", description: "As all others again" }
  ])
)

const probe = Command.make(
  "probe",
  { ...connection, id },
  Effect.fnUntraced(function* (given) {
    const { delivery_id } = yield* ask(given, (api) => api.integrations.probe(given.id), remediesFor(given))
    if (given.json) return yield* printJson({ id: given.id, delivery_id })
    yield* printLine(
      `delivery ${delivery_id} is sent to integration ${given.id}; acknowledged, it enables the integration`
    )
    yield* printLine(`how it ended: ${commandTo(given, "deliveries show", delivery_id)}`)
  })
).pipe(Command.withDescription("Try an integration that doorhook disabled; it is enabled when it acknowledges"))

export const integrationsCommand = Command.make("integrations").pipe(
  Command.withDescription("See integrations and set what is particular to them"),
  Command.withSubcommands([list, show, set, probe, testCommand, portalLinkCommand])
)
