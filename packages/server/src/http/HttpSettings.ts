/**
 * How requests are taken: who stands between the service and its clients, and how long a body may take.
 */
import type { AddressPolicy } from "@doorhook/core"
import { Context } from "effect"

export interface HttpSettingsShape {
  /** The networks of reverse proxies whose `X-Forwarded-For` is believed. Nobody's, unless it is told. */
  readonly trustedProxies: AddressPolicy.AllowList
  /** How long a body may take to arrive, in milliseconds: less than servers wait before they close without an answer. */
  readonly bodyTimeout: number
}

export const httpDefaults: HttpSettingsShape = { trustedProxies: [], bodyTimeout: 20_000 }

/** Read when the routes are built. */
export const HttpSettings = Context.Reference<HttpSettingsShape>("@doorhook/server/http/HttpSettings", {
  defaultValue: () => httpDefaults
})
