/**
 * Settings of `/v4`: compatibility with existing clients, a rate limit, and the networks that deliveries are sent from.
 */
import { Context, Layer } from "effect"
import type { IpNetwork } from "effect/net"

export interface ApiSettingsShape {
  /** Whether all answers are `application/json` regardless of `Accept`, for clients that can't read another type. */
  readonly plainJson: boolean
  /** Status of the answer when an integration is created. Some clients expect 200. */
  readonly createdStatus: 200 | 201
  /** Whether `configuration` is repeated as `config`, the name that some clients read. */
  readonly configAlias: boolean
  /** Whether `meta.page_info` is repeated at the top level of a list, where some clients look for it. */
  readonly topLevelPageInfo: boolean
  /** Maximum number of requests per minute for each authorization; null for no limit. */
  readonly requestsPerMinute: number | null
  /** Maximum number of event streams for each authorization. */
  readonly streamsPerGrant: number
  /** Maximum number of event streams of this process. */
  readonly streams: number
  /** Longest pause between two lines of an event stream, in milliseconds. */
  readonly streamHeartbeat: number
  /** How often the token and the right of an event stream are checked, in milliseconds. */
  readonly streamCheck: number
  /** The networks that deliveries are sent from, for receivers that filter by address. Empty by default. */
  readonly webhookSources: ReadonlyArray<IpNetwork.IpNetwork>
}

export const apiDefaults: ApiSettingsShape = {
  plainJson: false,
  createdStatus: 201,
  configAlias: false,
  topLevelPageInfo: false,
  requestsPerMinute: 600,
  streamsPerGrant: 20,
  streams: 2_000,
  streamHeartbeat: 15_000,
  streamCheck: 30_000,
  webhookSources: []
}

export class ApiSettings extends Context.Service<ApiSettings, ApiSettingsShape>()("@doorhook/server/api/ApiSettings") {
  /** Provides the given settings, and defaults for all others. */
  static layer(overrides: Partial<ApiSettingsShape> = {}): Layer.Layer<ApiSettings> {
    return Layer.succeed(ApiSettings, { ...apiDefaults, ...overrides })
  }
}
