/**
 * `doorhook grants`: lists and revokes what users have granted to clients, over the operator API.
 */
import { counted } from "@doorhook/core"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { GrantSummary } from "../embed/OperatorClient.ts"
import { ask, connection, optionalText, printJson, printLine, printPage } from "./operatorApi.ts"

const user = Flag.String("user").pipe(Flag.withDescription("The user's id, as the directory knows it"))

const rowOf = ({ client_id, client_name, created_at, id }: GrantSummary): ReadonlyArray<string> => [
  id,
  created_at,
  client_id,
  client_name ?? "(there is no such client any more)"
]

const list = Command.make(
  "list",
  { ...connection, user },
  Effect.fnUntraced(function* (given) {
    const grants = yield* ask(given, (api) => api.grants.list(given.user))
    if (given.json) return yield* printJson({ grants })
    yield* printPage(grants.map(rowOf), `user ${given.user} has granted nothing`, null)
  })
).pipe(Command.withDescription("List what a user has granted to clients, the oldest first"))

const revoke = Command.make(
  "revoke",
  { ...connection, user, client: optionalText("client", "Only what was granted to the client of this id") },
  Effect.fnUntraced(function* (given) {
    const only = given.client === undefined ? {} : { client: given.client }
    const grants = yield* ask(given, (api) => api.grants.revoke(given.user, only))
    if (given.json) return yield* printJson({ grants })
    const to = given.client === undefined ? "" : ` to ${given.client}`
    yield* printLine(`${counted(grants, "grant")} of user ${given.user}${to} ended`)
  })
).pipe(
  Command.withDescription(
    "End what a user has granted, to all clients or to one: when a password changes or a phone is lost"
  ),
  Command.withExamples([
    { command: "doorhook grants revoke --user 42", description: "All that user 42 has granted" },
    { command: "doorhook grants revoke --user 42 --client acme", description: "What was granted to one client" }
  ])
)

export const grantsCommand = Command.make("grants").pipe(
  Command.withDescription("See what a user has granted to clients, and end it"),
  Command.withSubcommands([list, revoke])
)
