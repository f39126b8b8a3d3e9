/**
 * The directory of a service without a host backend. It reads from one document, which can be replaced while the
 * service runs. A user's id is the login.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import type { DirectoryDocument } from "../model/DirectoryDocument.ts"
import { constantTimeEquals, Crypto } from "../ports/Crypto.ts"
import { Directory } from "../ports/Directory.ts"

type User = DirectoryDocument["users"][number]

/** Indexes a document. */
const index = ({ clients, users, buildings, tenants }: DirectoryDocument) => ({
  clients: new Map<string, DirectoryDocument["clients"][number]>(clients.map((client) => [client.id, client])),
  users: new Map<string, User>(users.map((user) => [user.login, user])),
  buildings,
  tenants
})

const encoder = new TextEncoder()

export class DocumentDirectory extends Context.Service<
  DocumentDirectory,
  {
    /** Replaces the document for all later answers. */
    readonly replace: (document: DirectoryDocument) => Effect.Effect<void>
  }
>()("@doorhook/core/memory/DocumentDirectory") {
  static layer(initial: DirectoryDocument): Layer.Layer<Directory | DocumentDirectory, never, Crypto> {
    return Layer.effectContext(
      Effect.gen(function* () {
        const crypto = yield* Crypto
        let current = index(initial)
        // Password to compare for unknown logins, so that checking them takes as long as checking known ones.
        const nobody = crypto.randomBytes(32)

        const authenticate: Directory["Service"]["authenticate"] = Effect.fnUntraced(function* (login, password) {
          const user = current.users.get(login)
          const expected = user === undefined ? nobody : encoder.encode(Redacted.value(user.password))
          const given = encoder.encode(Redacted.value(password))
          // Digests have the same length, so that the comparison reveals nothing about the passwords.
          const equal = constantTimeEquals(yield* crypto.sha256(expected), yield* crypto.sha256(given))
          return equal && user !== undefined ? { id: user.login } : null
        })

        const directory = Directory.of({
          kind: "file",
          client: (id) => Effect.succeed(current.clients.get(id) ?? null),
          authenticate,
          serviceUser: ({ id }) => Effect.sync(() => current.clients.get(id)?.service_user ?? null),
          isActive: (user) => Effect.succeed(current.users.has(user)),
          administers: (user, building) =>
            Effect.succeed(current.users.get(user)?.buildings.includes(building) ?? false),
          isTenant: (user, tenant) => Effect.succeed(current.users.get(user)?.tenants.includes(tenant) ?? false),
          buildings: (user) =>
            Effect.sync(() => {
              const ids = current.users.get(user)?.buildings ?? []
              return current.buildings.filter(({ id }) => ids.includes(id))
            }),
          tenants: (user) =>
            Effect.sync(() => {
              const ids = current.users.get(user)?.tenants ?? []
              return current.tenants.filter(({ id }) => ids.includes(id))
            }),
          hasBuilding: (building) => Effect.sync(() => current.buildings.some(({ id }) => id === building))
        })
        const replace = (document: DirectoryDocument) =>
          Effect.sync(() => {
            current = index(document)
          })
        return Context.make(Directory, directory).pipe(
          Context.add(DocumentDirectory, DocumentDirectory.of({ replace }))
        )
      })
    )
  }
}
