/**
 * `doorhook integrations portal-link`, `doorhook integrations test` and `doorhook portal`: commands for integrations'
 * owners and their pages.
 */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { ask, commandTo, connection, integrationArgument, printJson, printLine, whereDisabled } from "./operatorApi.ts"

export const portalLinkCommand = Command.make(
  "portal-link",
  {
    ...connection,
    id: integrationArgument,
    expiresIn: Flag.String("expires-in").pipe(
      Flag.withDescription("How long the link stays valid, 1s to 24h (default 15m)"),
      Flag.withMetavar("DURATION"),
      Flag.optional,
      Flag.map(Option.getOrUndefined)
    )
  },
  Effect.fnUntraced(function* (given) {
    const link = yield* ask(given, (api) => api.portalLink(given.id, { expiresIn: given.expiresIn }))
    if (given.json) return yield* printJson(link)
    yield* printLine(link.url)
    yield* printLine(`valid until ${link.expires_at} for anyone who has the link`)
  })
).pipe(Command.withDescription("Make a link to an integration's page for its owner"))

export const testCommand = Command.make(
  "test",
  { ...connection, id: integrationArgument },
  Effect.fnUntraced(function* (given) {
    const sent = yield* ask(given, (api) => api.sendTestEvent(given.id), whereDisabled(given, given.id))
    if (given.json) return yield* printJson(sent)
    yield* printLine(`a test event of type ${sent.resource_type} is being sent to integration ${given.id}`)
    yield* printLine(`see the outcome with: ${commandTo(given, "deliveries show", sent.delivery_id)}`)
  })
).pipe(Command.withDescription("Send a sample event, marked as a test, to this integration only"))

const rotateSecret = Command.make(
  "rotate-secret",
  connection,
  Effect.fnUntraced(function* (given) {
    yield* ask(given, (api) => api.rotatePortalSecret())
    if (given.json) return yield* printJson({ rotated: true })
    yield* printLine(
      "the portal secret was replaced: portal links and pages opened with them stop working within two seconds"
    )
    yield* printLine("login and consent forms that are open now must be reloaded")
  })
).pipe(Command.withDescription("Replace the secret that signs portal links; all links and open pages stop working"))

export const portalCommand = Command.make("portal").pipe(
  Command.withDescription("Manage the pages for integrations' owners"),
  Command.withSubcommands([rotateSecret])
)
