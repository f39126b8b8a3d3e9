/**
 * HTTP settings: exceptions to the standards for existing clients, reverse proxies, browser origins, and the look of
 * the pages.
 */
import type { AuthorizationSettingsShape, ResourceSettings, ResourceType } from "@doorhook/core"
import { DurationText } from "@doorhook/core"
import { AppearanceShape, HomeUrlShape, TextsShape } from "@doorhook/server"
import type { ApiSettingsShape, HttpSettingsShape } from "@doorhook/server"
import { Option, Result, Schema, Struct } from "effect"
import type { InvalidConfig } from "./ReadingSettings.ts"
import { collect, collectAll, givenOf, invalid, parseNetworks, parseTimeout } from "./ReadingSettings.ts"

const Text = Schema.String
const Texts = Schema.Array(Text)

/** A duration, which stays text until the settings of the authorization server are made. */
const Lifetime = Text.check(
  Schema.makeFilter((text) =>
    Result.match(DurationText.read(text), { onSuccess: () => true, onFailure: (wanted) => `must be ${wanted}` })
  )
)

/** A limit, or `unlimited`. */
export const CountOrUnlimited = Schema.Union([
  Schema.Int.check(Schema.isGreaterThanOrEqualTo(1, { message: "must be a whole number of at least 1, or unlimited" })),
  Schema.Literal("unlimited")
])

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1, { message: "must be a whole number from 1" }))

export const surfaceFields = {
  /**
   * Networks from which deliveries are sent, listed at `GET /v4/webhook_sources` for receivers that filter by address.
   * Default none.
   */
  webhookSources: Schema.optional(Texts),
  /**
   * Networks of the reverse proxies in front of the service, like `10.0.0.0/8`. Their `X-Forwarded-For` header gives the
   * client's address. Default none: the header is ignored.
   */
  trustedProxies: Schema.optional(Texts),
  /**
   * Origins whose pages may call the token, revocation and `/v4` routes from a browser (CORS), like `https://app.example`.
   * Default none.
   */
  browserOrigins: Schema.optional(Texts),
  /** How long the body of a request may take to arrive. A slower request gets 408. Default `20s`. */
  bodyTimeout: Schema.optional(Text),
  /**
   * Who may read `/metrics` without a `metricsKey`: `loopback` (programs on this machine) or `anyone`. Default
   * `loopback`.
   */
  metricsFor: Schema.optional(Schema.Literals(["loopback", "anyone"])),
  /**
   * Key for `/metrics`, sent as `Authorization: Bearer KEY`: 32 characters or more. With a key, every client must send it,
   * and `metricsFor` has no effect. Default: no key.
   */
  metricsKey: Schema.optional(Text),
  /** Maximum number of requests per minute to `/v4` for one grant, or `unlimited`. Default 600. */
  requestsPerMinute: Schema.optional(CountOrUnlimited),
  /** Maximum number of live event streams of `/v4` for one grant. Default 20. */
  streamsPerGrant: Schema.optional(Count),
  /** Maximum number of live event streams of `/v4` in one process. Default 2000. */
  streams: Schema.optional(Count),
  /**
   * Maximum number of tokens per minute that one process issues to one client, or `unlimited`. For a client without a
   * secret, the limit is per user. Default 600.
   */
  tokenRequestsPerMinute: Schema.optional(CountOrUnlimited),
  /** Maximum number of valid access tokens for one grant. A further token revokes the oldest. Default 100. */
  accessTokensPerGrant: Schema.optional(Count),
  /**
   * The page of your product to which the pages lead back, like `https://app.example`: an http or https URL. Default:
   * none.
   */
  homeUrl: Schema.optional(HomeUrlShape),
  /** The look of the pages. Default: doorhook's. */
  appearance: Schema.optional(AppearanceShape),
  /**
   * Texts that replace the pages' own texts, by language and name, like `{ "fr": { "log_in": "Se connecter" } }`.
   * Default: doorhook's texts in English and German.
   */
  texts: Schema.optional(TextsShape),
  /**
   * Scopes in addition to `public`, each with its description on the consent page, like `{ "doors:open": "Open your
   * doors" }`. Default none.
   */
  scopes: Schema.optional(Schema.Record(Text, Text)),
  /**
   * Your own APIs to which clients can bind tokens (RFC 8707), by URL, like `{ "https://api.example/doors": { "scopes":
   * ["doors:open"], "accessTokenLifetime": "10m" } }`. Default none.
   */
  resources: Schema.optional(
    Schema.Record(
      Text,
      Schema.Struct({ scopes: Schema.optional(Texts), accessTokenLifetime: Schema.optional(Lifetime) })
    )
  ),
  /**
   * Accepts clients that are not registered and whose id is the https URL of a document about them: `any`, or the
   * allowed origins, like `{ "allow": ["https://*.example.com"] }`. Default: not accepted.
   */
  clientIdMetadata: Schema.optional(
    Schema.Union([
      Schema.Literal("any"),
      Schema.Struct({
        /** Origins; `*.` stands for any subdomain. */
        allow: Texts
      })
    ])
  ),
  /** Whether a client that has a secret must send the secret to refresh a token. Default false. */
  refreshRequiresSecret: Schema.optional(Schema.Boolean),
  /** Which clients' refresh tokens rotate. Default `public`: clients without a secret. */
  refreshRotation: Schema.optional(Schema.Literals(["never", "public", "always"])),
  /**
   * How to handle a request for an undeclared scope: `refuse` it with an error, or `ignore` the scope. Default
   * `refuse`.
   */
  unknownScope: Schema.optional(Schema.Literals(["refuse", "ignore"])),
  /** HTTP status with which `/v4` responds to a creation. Default 201; some clients expect 200. */
  createdStatus: Schema.optional(Schema.Literals([200, 201])),
  /** Whether `/v4` always responds with `application/json`, whatever `Accept` says. Default false. */
  plainJson: Schema.optional(Schema.Boolean),
  /** Whether a list repeats `meta.page_info` at its top level. Default false. */
  topLevelPageInfo: Schema.optional(Schema.Boolean),
  /** Whether an integration repeats its `configuration` as `config`. Default false. */
  configAlias: Schema.optional(Schema.Boolean),
  /** Whether bindings accept `door_release` for `access_log`. Default false. */
  doorReleaseAlias: Schema.optional(Schema.Boolean)
} as const

const SurfaceConfig = Schema.Struct(surfaceFields)
export type SurfaceConfig = typeof SurfaceConfig.Type

/** Converts a limit for the engine, which uses null for unlimited. */
export const limitOf = (limit: number | "unlimited"): number | null => (limit === "unlimited" ? null : limit)

const resourcesOf = (given: NonNullable<SurfaceConfig["resources"]>): Readonly<Record<string, ResourceSettings>> =>
  Object.fromEntries(
    Object.entries(given).map(([uri, { accessTokenLifetime, scopes }]) => [
      uri,
      {
        ...(scopes !== undefined && { scopes }),
        ...(accessTokenLifetime !== undefined && {
          accessTokenLifetime: Option.getOrElse(DurationText.parse(accessTokenLifetime), () => 0) / 1_000
        })
      }
    ])
  )

/** Returns the settings of the authorization server that differ from its defaults. */
export const authorizationOverrides = (config: SurfaceConfig): Partial<AuthorizationSettingsShape> => ({
  ...givenOf(
    Struct.pick(config, [
      "scopes",
      "clientIdMetadata",
      "refreshRequiresSecret",
      "refreshRotation",
      "unknownScope",
      "accessTokensPerGrant"
    ])
  ),
  ...(config.resources !== undefined && { resources: resourcesOf(config.resources) }),
  ...(config.tokenRequestsPerMinute !== undefined && {
    tokenRequestsPerMinute: limitOf(config.tokenRequestsPerMinute)
  })
})

/** Returns the settings of `/v4` that differ from its defaults. */
export const apiOverrides = (config: SurfaceConfig): Result.Result<Partial<ApiSettingsShape>, InvalidConfig> =>
  Result.map(parseNetworks("webhookSources", config.webhookSources), (webhookSources) => ({
    webhookSources,
    ...givenOf(
      Struct.pick(config, [
        "createdStatus",
        "plainJson",
        "topLevelPageInfo",
        "configAlias",
        "streamsPerGrant",
        "streams"
      ])
    ),
    ...(config.requestsPerMinute !== undefined && { requestsPerMinute: limitOf(config.requestsPerMinute) })
  }))

/** Reads origins as browsers send them: scheme and host, with the port only if it is not the scheme's default. */
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

/** Returns the settings for HTTP requests that differ from their defaults. */
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

/** Returns additional names for resource types in bindings. */
export const resourceTypeAliases = ({
  doorReleaseAlias = false
}: SurfaceConfig): Readonly<Record<string, ResourceType>> => (doorReleaseAlias ? { door_release: "access_log" } : {})
