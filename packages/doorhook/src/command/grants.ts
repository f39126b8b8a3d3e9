/**
 * `doorhook grants`: lists and revokes users' grants to clients, over the operator API.
 */
import { counted } from "@doorhook/core"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { GrantSummary } from "../embed/OperatorClient.ts"
import { ask, connection, optionalText, printJson, printLine, printPage } from "./operatorApi.ts"

const user = Flag.String("user").pipe(Flag.withDescription("The user's id in the directory"))

const rowOf = ({ client_id, client_name, created_at, id }: GrantSummary): ReadonlyArray<string> => [
  id,
  created_at,
  client_id,
  client_name ?? "(client no longer exists)"
]

const list = Command.make(
  "list",
  { ...connection, user },
  Effect.fnUntraced(function* (given) {
    const grants = yield* ask(given, (api) => api.grants.list(given.user))
    if (given.json) return yield* printJson({ grants })
    yield* printPage(grants.map(rowOf), `user ${given.user} has no grants`, null)
  })
).pipe(Command.withDescription("List a user's grants to clients, oldest first"))

const revoke = Command.make(
  "revoke",
  { ...connection, user, client: optionalText("client", "Only grants to the client with this id") },
  Effect.fnUntraced(function* (given) {
    const only = given.client === undefined ? {} : { client: given.client }
    const grants = yield* ask(given, (api) => api.grants.revoke(given.user, only))
    if (given.json) return yield* printJson({ grants })
    const to = given.client === undefined ? "" : ` to ${given.client}`
    yield* printLine(`${counted(grants, "grant")} of user ${given.user}${to} ended`)
  })
).pipe(
  Command.withDescription(
    "Revoke a user's grants to one client or all clients, for example after a password change or the loss of a phone"
  ),
  Command.withExamples([
    { command: "doorhook grants revoke --user 42", description: "All grants of user 42" },
    { command: "doorhook grants revoke --user 42 --client acme", description: "Grants to one client" }
  ])
)

export const grantsCommand = Command.make("grants").pipe(
  Command.withDescription("List and revoke users' grants to clients"),
  Command.withSubcommands([list, revoke])
)
