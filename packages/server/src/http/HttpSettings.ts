/**
 * Settings for incoming requests: trusted proxies, the deadline of bodies, and browser origins.
 */
import type { AddressPolicy } from "@doorhook/core"
import { Context } from "effect"

export interface HttpSettingsShape {
  /** Networks of the reverse proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: AddressPolicy.AllowList
  /**
   * How long a request body may take to arrive, in milliseconds. Must be shorter than the server's own request timeout.
   */
  readonly bodyTimeout: number
  /** Origins whose pages may call the token, revocation and `/v4` routes (CORS), like `https://app.example`. */
  readonly browserOrigins: ReadonlyArray<string>
}

export const httpDefaults: HttpSettingsShape = { trustedProxies: [], bodyTimeout: 20_000, browserOrigins: [] }

/** The settings, read when the routes are built. */
export const HttpSettings = Context.Reference<HttpSettingsShape>("@doorhook/server/http/HttpSettings", {
  defaultValue: () => httpDefaults
})
