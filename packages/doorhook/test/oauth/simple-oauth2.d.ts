/**
 * Types for the parts of simple-oauth2 that the tests use.
 */
declare module "simple-oauth2" {
  type Fields = Readonly<Record<string, unknown>>

  class AccessToken {
    readonly token: Fields
    expired(windowSeconds?: number): boolean
    refresh(parameters?: Fields): Promise<AccessToken>
    revoke(type: "access_token" | "refresh_token"): Promise<void>
    revokeAll(): Promise<void>
  }

  export class AuthorizationCode {
    constructor(config: {
      readonly client: { readonly id: string; readonly secret: string }
      readonly auth: { readonly tokenHost: string }
      readonly options?: {
        readonly bodyFormat?: "form" | "json"
        readonly authorizationMethod?: "header" | "body"
        readonly credentialsEncodingMode?: "strict" | "loose"
      }
    })
    authorizeURL(parameters: Fields): string
    getToken(parameters: Fields): Promise<AccessToken>
    createToken(token: Fields): AccessToken
  }
}
