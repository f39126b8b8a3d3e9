/**
 * `doorhook clients`: lists and changes the service's registered OAuth clients over the operator API.
 */
import { CommandFailure, fileTrouble } from "@doorhook/core"
import { Effect, FileSystem, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { ClientAdded, ClientSummary } from "../embed/OperatorClient.ts"
import { ask, connection, optionalText, printJson, printLine, printPage } from "./operatorApi.ts"

const kindText = ({ confidential, jwks, secrets }: ClientSummary): string => {
  if (!confidential) return "public"
  if (jwks !== null) return "confidential, signs with its keys"
  const ending = secrets.flatMap(({ expires_at }) => expires_at ?? [])
  return ending.length === 0 ? "confidential" : `confidential, old secret valid until ${ending.toSorted().at(-1)}`
}

const rowOf = (client: ClientSummary): ReadonlyArray<string> => [
  client.id,
  `${client.name}: ${client.redirect_uris.join(", ")} (${kindText(client)})`
]

/** Prints a client with its new secret, and warns that the secret is shown only once. */
const printAdded = Effect.fnUntraced(function* ({ client, client_secret }: ClientAdded) {
  yield* printLine(`client_id:     ${client.id}`)
  if (client.jwks !== null) return yield* printLine("no secret: the client signs with its keys (private_key_jwt)")
  if (client_secret === null) return yield* printLine("no secret: the client must use PKCE")
  yield* printLine(`client_secret: ${client_secret}`)
  yield* printLine("The secret is not shown again. To replace a lost secret: doorhook clients rotate.")
})

const list = Command.make(
  "list",
  connection,
  Effect.fnUntraced(function* (given) {
    const clients = yield* ask(given, (api) => api.clients.list())
    if (given.json) return yield* printJson({ clients })
    yield* printPage(
      clients.map(rowOf),
      "no clients are registered; clients in the directory are not listed here",
      null
    )
  })
).pipe(Command.withDescription("List the clients that are registered with the service"))

const decodeKeys = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Struct({ keys: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)) }))
)

/** Reads a JSON Web Key Set. The service checks the keys. */
const readKeys = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const unusable = (why: string) => CommandFailure.usage(`--jwks ${file}: ${why}`)
  const text = yield* files.readFileString(file).pipe(Effect.mapError((error) => unusable(fileTrouble(error))))
  return yield* Effect.mapError(decodeKeys(text), () => unusable('must be JSON like {"keys":[{"kty":"EC", ...}]}'))
})

const add = Command.make(
  "add",
  {
    ...connection,
    name: Flag.String("name").pipe(Flag.withDescription("Name that users see when they log in")),
    redirectUri: Flag.String("redirect-uri").pipe(
      Flag.withDescription("Where users return after login, or urn:ietf:wg:oauth:2.0:oob; repeatable"),
      Flag.withMetavar("URI"),
      Flag.atLeast(0)
    ),
    id: optionalText("id", "The client_id (default: generated)"),
    jwks: optionalText(
      "jwks",
      "File with the public keys of a client that signs (private_key_jwt), as a JSON Web Key Set"
    ),
    public: Flag.Boolean("public").pipe(
      Flag.withDescription("No secret, for apps that can't keep one; they must use PKCE"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* (given) {
    const { id, name, redirectUri: redirect_uris } = given
    const jwks = given.jwks === undefined ? undefined : yield* readKeys(given.jwks)
    const added = yield* ask(given, (api) =>
      api.clients.add({ id, name, redirect_uris, confidential: !given.public, ...(jwks !== undefined && { jwks }) })
    )
    yield* given.json ? printJson(added) : printAdded(added)
  })
).pipe(
  Command.withDescription("Register a client; its secret is printed once"),
  Command.withExamples([
    {
      command: "doorhook clients add --name Acme --redirect-uri https://acme.example/callback",
      description: "A client with a secret"
    },
    {
      command: "doorhook clients add --name Pocket --redirect-uri http://127.0.0.1/callback --public",
      description: "An app on a user's own device"
    },
    {
      command: "doorhook clients add --name Backend --jwks keys.json",
      description: "A back end that signs instead of sending a secret"
    }
  ])
)

const id = Argument.String("client").pipe(Argument.withDescription("The client_id"))

const rotate = Command.make(
  "rotate",
  {
    ...connection,
    id,
    overlap: Flag.String("overlap").pipe(
      Flag.withDescription("How long the previous secret stays valid (default 24h)"),
      Flag.withMetavar("DURATION"),
      Flag.optional,
      Flag.map(Option.getOrUndefined)
    )
  },
  Effect.fnUntraced(function* (given) {
    const added = yield* ask(given, (api) => api.clients.rotate(given.id, { overlap: given.overlap }))
    yield* given.json ? printJson(added) : printAdded(added)
  })
).pipe(Command.withDescription("Give a client a new secret, printed once"))

const remove = Command.make(
  "remove",
  { ...connection, id },
  Effect.fnUntraced(function* (given) {
    yield* ask(given, (api) => api.clients.remove(given.id))
    yield* given.json ? printJson({ id: given.id }) : printLine(`deleted ${given.id} and all grants to it`)
  })
).pipe(Command.withDescription("Delete a client and all grants to it"))

export const clientsCommand = Command.make("clients").pipe(
  Command.withDescription("Manage registered OAuth clients and their secrets"),
  Command.withSubcommands([add, list, rotate, remove])
)
