/**
 * OAuth clients that are registered with the service: who they are, new ones, new secrets, and their end.
 */
import { ClientDocument, ClientWithSecretDocument } from "@doorhook/server"
import { Schema } from "effect"
import { bodyOf, idInPath, optionsOf } from "./Arguments.ts"
import type { OperatorCalls } from "./OperatorCalls.ts"

/** A client, without its secrets. Times are ISO 8601 UTC. */
export type ClientSummary = ClientDocument

/** A client with the secret that was just made for it, which is shown this once; null when the client is public. */
export type ClientAdded = ClientWithSecretDocument

/** What to register. */
export interface ClientToAdd {
  /** The `client_id`. Default: made up. */
  readonly id?: string | undefined
  /** What users are shown when they log in. */
  readonly name: string
  /** At least one; `urn:ietf:wg:oauth:2.0:oob` shows codes on a page. */
  readonly redirect_uris: ReadonlyArray<string>
  /** Whether it gets a secret; one without must use PKCE. Default true. */
  readonly confidential?: boolean | undefined
}

/** How a new secret replaces the old ones. */
export interface ClientRotateOptions {
  /** How long the old secrets stay valid, like `24h`, which is the default. */
  readonly overlap?: string | undefined
}

const ClientList = Schema.Struct({ clients: Schema.Array(ClientDocument) })

/** Calls reject with a `DoorhookError`: `client_exists`, `invalid`, `not_found`, `client_is_public` for a secret of one that has none, `bad_request` for what is no id or no client at all. */
export interface ClientsClient {
  /** All registered clients. */
  readonly list: () => Promise<ReadonlyArray<ClientSummary>>
  /** Registers a client; its secret is in this answer only. */
  readonly add: (client: ClientToAdd) => Promise<ClientAdded>
  /** Gives a client a new secret. */
  readonly rotate: (id: string, options?: ClientRotateOptions) => Promise<ClientAdded>
  /** Deletes a client, and ends everything that users have granted it. */
  readonly remove: (id: string) => Promise<void>
}

const pathOf = (id: string): string => `/operator/clients/${idInPath(id, "the id of a client")}`

const example = '{ name: "Acme", redirect_uris: ["https://client.example/callback"] }'

export const makeClientsClient = ({ done, read }: OperatorCalls): ClientsClient => ({
  list: async () => (await read(ClientList, "GET", "/operator/clients")).clients,
  add: async (client) => read(ClientWithSecretDocument, "POST", "/operator/clients", bodyOf("client", client, example)),
  rotate: async (id, options) => {
    const { overlap } = optionsOf(options, ["overlap"])
    return read(
      ClientWithSecretDocument,
      "POST",
      `${pathOf(id)}/rotate`,
      overlap === undefined || overlap === null ? {} : { overlap }
    )
  },
  remove: async (id) => done("DELETE", pathOf(id))
})
