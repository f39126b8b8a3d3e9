/**
 * Types of the members of `oidc-provider` that are used here. The package has no types.
 */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http"

  interface Client {
    readonly clientId: string
  }

  export default class Provider {
    constructor(issuer: string, configuration: object)
    readonly Client: { readonly find: (id: string) => Promise<Client> }
    readonly Grant: new (payload: { readonly accountId: string; readonly clientId: string }) => {
      readonly addOIDCScope: (scope: string) => void
      readonly save: () => Promise<string>
    }
    readonly RefreshToken: new (payload: {
      readonly accountId: string
      readonly client: Client
      readonly grantId: string
      readonly gty: string
      readonly scope: string
    }) => { readonly save: () => Promise<string> }
    readonly callback: () => (request: IncomingMessage, response: ServerResponse) => void
  }
}
