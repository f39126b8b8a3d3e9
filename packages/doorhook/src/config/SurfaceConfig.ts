/**
 * What can be set about the HTTP surface: where real clients differ from the standards that it follows by default, who stands
 * in front of it, and how its pages look.
 */
import type { AuthorizationSettingsShape, ResourceType } from "@doorhook/core"
import { AppearanceShape, TextsShape } from "@doorhook/server"
import type { ApiSettingsShape, HttpSettingsShape } from "@doorhook/server"
import { Result, Schema } from "effect"
import type { InvalidConfig } from "./ReadingSettings.ts"
import { collect, collectAll, invalid, parseNetworks, parseTimeout } from "./ReadingSettings.ts"

const Text = Schema.String
const Texts = Schema.Array(Text)

/** A limit that may be left out. */
export const CountOrUnlimited = Schema.Union([
  Schema.Int.check(Schema.isGreaterThanOrEqualTo(1, { message: "must be a whole number from 1, or unlimited" })),
  Schema.Literal("unlimited")
])

export const surfaceFields = {
  /** The networks that deliveries come from, listed at `GET /v4/webhook_sources` for receivers that filter by address. Default none. */
  webhookSources: Schema.optional(Texts),
  /**
   * The networks of reverse proxies in front of the service, like `10.0.0.0/8`: their `X-Forwarded-For` says who a client
   * is. Default none: that header is not read.
   */
  trustedProxies: Schema.optional(Texts),
  /**
   * Origins whose pages may call the token, revocation and `/v4` routes from a browser (CORS), like `https://app.example`.
   * Default none.
   */
  browserOrigins: Schema.optional(Texts),
  /** How long the body of a request may take to arrive; a slower one gets 408. Default `20s`. */
  bodyTimeout: Schema.optional(Text),
  /** Who may read `/metrics` without a `metricsKey`: programs on this machine, or anyone. Default `loopback`. */
  metricsFor: Schema.optional(Schema.Literals(["loopback", "anyone"])),
  /**
   * Key for `/metrics`, sent as `Authorization: Bearer KEY`: 32 characters or more. With a key, every client must send it, and
   * the address does not matter. Default: no key.
   */
  metricsKey: Schema.optional(Text),
  /** How many requests to `/v4` one authorization may make in a minute, or `unlimited`. Default 600. */
  requestsPerMinute: Schema.optional(CountOrUnlimited),
  /**
   * How many tokens one client may be issued in a minute by one process, or `unlimited`; of a client without a secret, for one
   * user. Default 600.
   */
  tokenRequestsPerMinute: Schema.optional(CountOrUnlimited),
  /** The most live access tokens of one authorization: with one more, the oldest ends. Default 100. */
  accessTokensPerGrant: Schema.optional(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(1, { message: "must be a whole number from 1" }))
  ),
  /** The host's own look of the pages that people see. Default: doorhook's. */
  appearance: Schema.optional(AppearanceShape),
  /**
   * The host's own texts of the pages, by language and name, like `{ "fr": { "log_in": "Se connecter" } }`. Default: doorhook's,
   * in English and German.
   */
  texts: Schema.optional(TextsShape),
  /**
   * Scopes of the host's own beside `public`, each with what the consent page says that it allows, like
   * `{ "doors:open": "Open your doors" }`. Default none.
   */
  scopes: Schema.optional(Schema.Record(Text, Text)),
  /** Whether a client that has a secret must send it to refresh. Default false. */
  refreshRequiresSecret: Schema.optional(Schema.Boolean),
  /** Whose refresh tokens rotate. Default `public`: those of clients without a secret. */
  refreshRotation: Schema.optional(Schema.Literals(["never", "public", "always"])),
  /** What a scope that is neither `public` nor declared is: an error, or left out of what is granted. Default `refuse`. */
  unknownScope: Schema.optional(Schema.Literals(["refuse", "ignore"])),
  /** The status of a creation in `/v4`. Default 201; some clients wait for 200. */
  createdStatus: Schema.optional(Schema.Literals([200, 201])),
  /** Answer `/v4` in `application/json`, whatever `Accept` says. Default false. */
  plainJson: Schema.optional(Schema.Boolean),
  /** Repeat `meta.page_info` at the top of a list. Default false. */
  topLevelPageInfo: Schema.optional(Schema.Boolean),
  /** Repeat `configuration` of an integration as `config`. Default false. */
  configAlias: Schema.optional(Schema.Boolean),
  /** Take `door_release` in bindings for `access_log`. Default false. */
  doorReleaseAlias: Schema.optional(Schema.Boolean)
} as const

const SurfaceConfig = Schema.Struct(surfaceFields)
type SurfaceConfig = typeof SurfaceConfig.Type

/** A limit as the engine takes it: null for unlimited. */
export const limitOf = (limit: number | "unlimited"): number | null => (limit === "unlimited" ? null : limit)

/** The settings of the authorization server that a configuration changes. */
export const authorizationOverrides = (config: SurfaceConfig): Partial<AuthorizationSettingsShape> => ({
  ...(config.scopes !== undefined && { scopes: config.scopes }),
  ...(config.refreshRequiresSecret !== undefined && { refreshRequiresSecret: config.refreshRequiresSecret }),
  ...(config.refreshRotation !== undefined && { refreshRotation: config.refreshRotation }),
  ...(config.unknownScope !== undefined && { unknownScope: config.unknownScope }),
  ...(config.accessTokensPerGrant !== undefined && { accessTokensPerGrant: config.accessTokensPerGrant }),
  ...(config.tokenRequestsPerMinute !== undefined && {
    tokenRequestsPerMinute: limitOf(config.tokenRequestsPerMinute)
  })
})

/** How `/v4` answers, as far as a configuration says. */
export const apiOverrides = (config: SurfaceConfig): Result.Result<Partial<ApiSettingsShape>, InvalidConfig> =>
  Result.map(parseNetworks("webhookSources", config.webhookSources), (webhookSources) => ({
    webhookSources,
    ...(config.createdStatus !== undefined && { createdStatus: config.createdStatus }),
    ...(config.plainJson !== undefined && { plainJson: config.plainJson }),
    ...(config.topLevelPageInfo !== undefined && { topLevelPageInfo: config.topLevelPageInfo }),
    ...(config.configAlias !== undefined && { configAlias: config.configAlias }),
    ...(config.requestsPerMinute !== undefined && {
      requestsPerMinute: limitOf(config.requestsPerMinute)
    })
  }))

/** Origins as browsers send them: a scheme and a host, and a port that is not the scheme's own. */
const parseOrigins = (given: ReadonlyArray<string> = []): Result.Result<ReadonlyArray<string>, InvalidConfig> =>
  collectAll(
    given.map((origin) => {
      const url = URL.parse(origin)
      return url !== null && /^https?:$/.test(url.protocol) && url.origin === origin
        ? Result.succeed(origin)
        : invalid(
            `browserOrigins: must be origins as browsers send them, like https://app.example or http://localhost:5173, not ${JSON.stringify(origin)}`
          )
    })
  )

/** How requests are taken, as far as a configuration says. */
export const httpOverrides = (config: SurfaceConfig): Result.Result<Partial<HttpSettingsShape>, InvalidConfig> => {
  const all = collect({
    trustedProxies: parseNetworks("trustedProxies", config.trustedProxies),
    browserOrigins: parseOrigins(config.browserOrigins),
    bodyTimeout: parseTimeout("bodyTimeout", config.bodyTimeout)
  })
  return Result.map(all, ({ bodyTimeout, browserOrigins, trustedProxies }) => ({
    trustedProxies,
    browserOrigins,
    ...(bodyTimeout !== undefined && { bodyTimeout })
  }))
}

/** Other names for resource types that bindings may have. */
export const resourceTypeAliases = ({
  doorReleaseAlias = false
}: SurfaceConfig): Readonly<Record<string, ResourceType>> => (doorReleaseAlias ? { door_release: "access_log" } : {})
