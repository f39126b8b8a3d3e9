/**
 * How requests are taken: which proxies are in front, how long a body may take, and which browser origins may call.
 */
import type { AddressPolicy } from "@doorhook/core"
import { Context } from "effect"

export interface HttpSettingsShape {
  /** The networks of reverse proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: AddressPolicy.AllowList
  /** How long a body may take to arrive, in milliseconds: less than servers wait before they close without an answer. */
  readonly bodyTimeout: number
  /** Origins whose pages may call the token, revocation and `/v4` routes (CORS), like `https://app.example`. */
  readonly browserOrigins: ReadonlyArray<string>
}

export const httpDefaults: HttpSettingsShape = { trustedProxies: [], bodyTimeout: 20_000, browserOrigins: [] }

/** Read when the routes are built. */
export const HttpSettings = Context.Reference<HttpSettingsShape>("@doorhook/server/http/HttpSettings", {
  defaultValue: () => httpDefaults
})
