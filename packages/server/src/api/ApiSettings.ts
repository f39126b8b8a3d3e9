/**
 * How `/v4` answers, where real clients differ from the standards that it follows by default, and what only its operator
 * knows.
 */
import { Context, Layer } from "effect"
import type { IpNetwork } from "effect/net"

export interface ApiSettingsShape {
  /** Answer in `application/json` whatever `Accept` says, for clients that can't read another type. */
  readonly plainJson: boolean
  /** The status of a creation; some clients wait for 200. */
  readonly createdStatus: 200 | 201
  /** Repeat `configuration` as `config`, the name that some clients read. */
  readonly configAlias: boolean
  /** Repeat `meta.page_info` at the top of a list, where some clients look for the next page. */
  readonly topLevelPageInfo: boolean
  /** How many requests one authorization may make in a minute; null is any number. */
  readonly requestsPerMinute: number | null
  /** The networks that deliveries come from, for receivers that filter by address. Not known by default. */
  readonly webhookSources: ReadonlyArray<IpNetwork.IpNetwork>
}

export const apiDefaults: ApiSettingsShape = {
  plainJson: false,
  createdStatus: 201,
  configAlias: false,
  topLevelPageInfo: false,
  requestsPerMinute: 600,
  webhookSources: []
}

export class ApiSettings extends Context.Service<ApiSettings, ApiSettingsShape>()("@doorhook/server/api/ApiSettings") {
  /** The defaults with some of them replaced. */
  static layer(overrides: Partial<ApiSettingsShape> = {}): Layer.Layer<ApiSettings> {
    return Layer.succeed(ApiSettings, { ...apiDefaults, ...overrides })
  }
}
