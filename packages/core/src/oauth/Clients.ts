/**
 * Clients registered by operators, in addition to those of the host's directory.
 */
import { Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import type { KeySet, RegisteredClient } from "../model/Client.ts"
import { ClientId, parseClientId } from "../model/Ids.ts"
import { InvalidInput } from "../model/InvalidInput.ts"
import { ClientStore } from "../ports/ClientStore.ts"
import { Crypto } from "../ports/Crypto.ts"
import type { DirectoryError } from "../ports/Directory.ts"
import { Directory } from "../ports/Directory.ts"
import { storeTime } from "../ports/StoreClock.ts"
import type { StoreError } from "../ports/StoreError.ts"
import { TokenStore } from "../ports/TokenStore.ts"
import * as RedirectUri from "../model/RedirectUri.ts"
import type { Sentence } from "../model/Sentences.ts"
import { english, say } from "../model/Sentences.ts"
import { ClientDocuments } from "./ClientDocuments.ts"
import { makeFindClient } from "../ports/KnownClients.ts"
import { makeSecrets } from "./Secrets.ts"

/** Default time for which a replaced secret remains valid, in milliseconds. */
export const defaultOverlap = 24 * 3_600_000

/** A client to register. */
export interface NewClient {
  /** Chosen by the operator; generated if absent. */
  readonly id?: string
  readonly name: string
  readonly redirect_uris: ReadonlyArray<string>
  /** Whether the client gets a secret. A client that can't keep a secret, like a mobile app, uses PKCE instead. */
  readonly confidential: boolean
  /** The public keys of a client that signs assertions instead of sending a secret (`private_key_jwt`). */
  readonly jwks?: typeof KeySet.Type
}

/** A client with its new secret, which is never shown again; null if the client is public or has keys. */
export interface ClientWithSecret {
  readonly client: RegisteredClient
  readonly secret: Redacted.Redacted<string> | null
}

export class ClientExists extends Schema.TaggedError<ClientExists>()("ClientExists", { id: Schema.String }) {
  get said(): Sentence {
    return say("error_client_exists", { id: this.id })
  }

  override get message(): string {
    return english(this.said)
  }
}

export class UnknownClient extends Schema.TaggedError<UnknownClient>()("UnknownClient", { id: Schema.String }) {
  get said(): Sentence {
    return say("error_unknown_client", { id: this.id })
  }

  override get message(): string {
    return english(this.said)
  }
}

/** The client is public or has keys, so it has no secret to rotate. */
export class ClientIsPublic extends Schema.TaggedError<ClientIsPublic>()("ClientIsPublic", { id: Schema.String }) {
  get said(): Sentence {
    return say("error_public_client", { id: this.id })
  }

  override get message(): string {
    return english(this.said)
  }
}

const problemsOf = ({ confidential, id, jwks, name, redirect_uris }: NewClient) => [
  ...(id === undefined || /^[\u0021-\u007e]{1,255}$/.test(id)
    ? []
    : [{ pointer: "/id", detail: "must be 1 to 255 visible ASCII characters" }]),
  ...(name.trim() === "" ? [{ pointer: "/name", detail: "must not be empty: users see it when they log in" }] : []),
  ...(/\p{Cc}/u.test(name) ? [{ pointer: "/name", detail: "must have no control characters" }] : []),
  // A back end with keys may have no users who log in.
  ...(redirect_uris.length === 0 && jwks === undefined
    ? [{ pointer: "/redirect_uris", detail: "must have at least one" }]
    : []),
  ...(jwks?.keys.length === 0 ? [{ pointer: "/jwks/keys", detail: "must have at least one" }] : []),
  ...(jwks !== undefined && !confidential
    ? [{ pointer: "/confidential", detail: "must be true for a client with keys" }]
    : []),
  ...redirect_uris.flatMap((uri, at) =>
    RedirectUri.isAcceptable(uri)
      ? []
      : [{ pointer: `/redirect_uris/${at}`, detail: `must be ${RedirectUri.expected}` }]
  )
]

export class Clients extends Context.Service<
  Clients,
  {
    readonly list: Effect.Effect<ReadonlyArray<RegisteredClient>, StoreError>
    /** Returns the name of a client of the host or of the service. Null if the client no longer exists. */
    readonly nameOf: (id: ClientId) => Effect.Effect<string | null, StoreError | DirectoryError>
    readonly add: (
      client: NewClient
    ) => Effect.Effect<ClientWithSecret, InvalidInput | ClientExists | StoreError | DirectoryError>
    /** Gives a client a new secret. Earlier secrets remain valid for up to `overlap` milliseconds. */
    readonly rotate: (
      id: string,
      overlap: number
    ) => Effect.Effect<ClientWithSecret, UnknownClient | ClientIsPublic | StoreError>
    /** Deletes a client and revokes everything granted to it. */
    readonly remove: (id: string) => Effect.Effect<void, UnknownClient | StoreError>
  }
>()("@doorhook/core/oauth/Clients") {
  static readonly layer: Layer.Layer<Clients, never, ClientStore | TokenStore | Directory | Crypto> = Layer.effect(
    Clients,
    Effect.gen(function* () {
      const store = yield* ClientStore
      const tokens = yield* TokenStore
      const now = yield* storeTime
      const directory = yield* Directory
      const secrets = makeSecrets(yield* Crypto)

      const add = Effect.fnUntraced(function* (wanted: NewClient) {
        const invalid = InvalidInput.of("Invalid client", problemsOf(wanted))
        if (invalid !== null) return yield* invalid
        const id = wanted.id ?? secrets.generateId("client_")
        // A directory may return a client for another spelling of an id; that is a different client (see `findClient`).
        if ((yield* directory.client(id))?.id === id) return yield* new ClientExists({ id })
        const made = wanted.confidential && wanted.jwks === undefined ? yield* secrets.generate("client") : null
        const client: RegisteredClient = {
          id: ClientId.make(id),
          name: wanted.name,
          redirect_uris: wanted.redirect_uris,
          secrets: made === null ? [] : [{ hash: made.hash, expires_at: null }],
          jwks: wanted.jwks ?? null,
          created_at: now()
        }
        if (!(yield* store.add(client))) return yield* new ClientExists({ id })
        return { client, secret: made === null ? null : Redacted.make(made.value) }
      })

      const find = (id: string): Effect.Effect<RegisteredClient | null, StoreError> =>
        Option.match(parseClientId(id), { onNone: () => Effect.succeed(null), onSome: store.find })

      const rotate = Effect.fnUntraced(function* (id: string, overlap: number) {
        const made = yield* secrets.generate("client")
        for (;;) {
          const client = yield* find(id)
          if (client === null) return yield* new UnknownClient({ id })
          if (client.secrets.length === 0) return yield* new ClientIsPublic({ id })
          const at = now()
          const before = client.secrets
            .filter(({ expires_at }) => expires_at === null || expires_at > at)
            .map(({ expires_at, hash }) => ({ hash, expires_at: Math.min(expires_at ?? Infinity, at + overlap) }))
          const renewed = [{ hash: made.hash, expires_at: null }, ...before]
          // Tries again after a conflict, because a secret from a concurrent rotation must remain valid too.
          if (!(yield* store.replaceSecrets(client, renewed))) continue
          return { client: { ...client, secrets: renewed }, secret: Redacted.make(made.value) }
        }
      })

      const remove = Effect.fnUntraced(function* (id: string) {
        const client = yield* find(id)
        if (client === null) return yield* new UnknownClient({ id })
        const revoke = Effect.suspend(() => tokens.revokeGrantsTo(client.id, now()))
        // Revokes before the removal, so that an interrupted removal can be repeated. Revokes again afterwards, because
        // a user may have logged in in the meantime.
        yield* revoke
        if (!(yield* store.remove(client.id))) return yield* new UnknownClient({ id })
        yield* revoke
      })

      const findClient = makeFindClient(directory, store, (yield* ClientDocuments).accepted)
      const nameOf = (id: ClientId) => Effect.map(findClient(id), (client) => client?.name ?? null)

      return Clients.of({ list: store.list, nameOf, add, rotate, remove })
    })
  )
}
