/**
 * Settings for requests and answers: trusted proxies, browser origins, deadlines, and limits of unread answers.
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
  /** How long a client may take no bytes of its answer before its connection is closed, in milliseconds. */
  readonly unreadTimeout: number
  /** Limit of the bytes that large unread answers occupy, per client. */
  readonly unreadBytesPerClient: number
  /** The same limit for the process. */
  readonly unreadBytes: number
}

export const httpDefaults: HttpSettingsShape = {
  trustedProxies: [],
  bodyTimeout: 20_000,
  browserOrigins: [],
  unreadTimeout: 30_000,
  unreadBytesPerClient: 8 * 2 ** 20,
  unreadBytes: 32 * 2 ** 20
}

/** The settings, read when the routes are built. */
export const HttpSettings = Context.Reference<HttpSettingsShape>("@doorhook/server/http/HttpSettings", {
  defaultValue: () => httpDefaults
})
