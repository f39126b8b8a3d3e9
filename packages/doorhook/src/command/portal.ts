/**
 * `doorhook integrations portal-link` and `test`, for an integration's owner, and `doorhook portal`.
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
      Flag.withDescription("How long it is good, 1s to 24h (default 15m)"),
      Flag.withMetavar("DURATION"),
      Flag.optional,
      Flag.map(Option.getOrUndefined)
    )
  },
  Effect.fnUntraced(function* (given) {
    const link = yield* ask(given, (api) => api.portalLink(given.id, { expiresIn: given.expiresIn }))
    if (given.json) return yield* printJson(link)
    yield* printLine(link.url)
    yield* printLine(`good until ${link.expires_at}, for whoever has it`)
  })
).pipe(Command.withDescription("Make a link to an integration's own page, to give to its owner"))

export const testCommand = Command.make(
  "test",
  { ...connection, id: integrationArgument },
  Effect.fnUntraced(function* (given) {
    const sent = yield* ask(given, (api) => api.sendTestEvent(given.id), whereDisabled(given, given.id))
    if (given.json) return yield* printJson(sent)
    yield* printLine(`a test event of type ${sent.resource_type} is on its way to integration ${given.id}`)
    yield* printLine(`how it ended: ${commandTo(given, "deliveries show", sent.delivery_id)}`)
  })
).pipe(Command.withDescription("Send a made-up event, marked as a test, to an integration and to no other"))

const rotateSecret = Command.make(
  "rotate-secret",
  connection,
  Effect.fnUntraced(function* (given) {
    yield* ask(given, (api) => api.rotatePortalSecret())
    if (given.json) return yield* printJson({ rotated: true })
    yield* printLine("the portal secret is replaced: links and pages opened by them stop working within two seconds")
    yield* printLine("login and consent forms that are open now must be loaded again")
  })
).pipe(Command.withDescription("Replace the secret behind portal links; all links and open pages stop working"))

export const portalCommand = Command.make("portal").pipe(
  Command.withDescription("The pages of integrations' owners"),
  Command.withSubcommands([rotateSecret])
)
