/**
 * Settings that make the authorization server stricter or more lenient.
 */
import { Context, Effect, JsonPointer, Layer, Result } from "effect"
import type { Problem } from "../model/InvalidInput.ts"
import { InvalidInput } from "../model/InvalidInput.ts"
import { publicScope } from "../model/Token.ts"
import type { OwnApi, ResourceSettings } from "./Resources.ts"
import { apiPath, resourceFlaw } from "./Resources.ts"

/** The origins whose documents may describe clients: `any`, or origins like `https://*.example.com`. */
export type ClientIdMetadata = "any" | { readonly allow: ReadonlyArray<string> }

export interface AuthorizationSettingsShape {
  /**
   * Whether a confidential client must send its secret to refresh. The default is false, because the refresh request in
   * the interface document has no secret (section 4.1). If a secret is sent, it must always be right.
   */
  readonly refreshRequiresSecret: boolean
  /**
   * Which clients get a new refresh token with each refresh. The default is `public`, because a client without a secret
   * can't prove that it owns the token (RFC 9700 section 2.2.2). With `public`, a client with a secret keeps its token,
   * which does not expire.
   */
  readonly refreshRotation: "never" | "public" | "always"
  /**
   * Scopes of the host's own API, in addition to `public`, with descriptions for the consent page. The names follow RFC
   * 6749 section 3.3.
   */
  readonly scopes: Readonly<Record<string, string>>
  /** doorhook's own APIs, to which tokens can be bound as well. */
  readonly apis: ReadonlyArray<OwnApi>
  /**
   * The host's own APIs to which tokens can be bound (RFC 8707), by URI. A token for one of them opens nothing else.
   */
  readonly resources: Readonly<Record<string, ResourceSettings>>
  /** Whether an undeclared scope is refused as an error or left out of the grant. */
  readonly unknownScope: "refuse" | "ignore"
  /**
   * Whether clients that are not registered are accepted, by the document at the URL that is their id
   * (`ClientDocuments`). Null: they are not.
   */
  readonly clientIdMetadata: ClientIdMetadata | null
  /** Maximum number of valid access tokens per grant. Issuing another one invalidates the oldest. */
  readonly accessTokensPerGrant: number
  /**
   * Maximum number of tokens that this process issues to a client per minute; null for no limit. For a client without a
   * secret, each user is counted separately, because anyone with an account can act as that client and must not block
   * its other users.
   */
  readonly tokenRequestsPerMinute: number | null
}

export const authorizationDefaults: AuthorizationSettingsShape = {
  refreshRequiresSecret: false,
  refreshRotation: "public",
  scopes: {},
  apis: [apiPath],
  resources: {},
  unknownScope: "refuse",
  clientIdMetadata: null,
  accessTokensPerGrant: 100,
  tokenRequestsPerMinute: 600
}

/** Returns why a name is invalid for a declared scope (RFC 6749 section 3.3); null if it is valid. */
export const scopeNameFlaw = (name: string): string | null => {
  if (name === publicScope) return `\`${publicScope}\` always exists and can't be declared`
  return /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(name)
    ? null
    : `${JSON.stringify(name)} can't be a scope: names have up to 100 visible ASCII characters, without spaces, quotes and backslashes, like doors:open`
}

const originPattern = /^https:\/\/(\*\.)?([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i
const isOriginPattern = (text: string): boolean => originPattern.test(text)

/**
 * Whether an allowed origin, like `https://*.example.com`, includes a URL. A port counts only if the origin has one.
 */
export const includesOrigin = (pattern: string, url: URL): boolean => {
  const [, wildcard, host = "", port] = originPattern.exec(pattern) ?? []
  if (port !== undefined && port !== (url.port === "" ? "443" : url.port)) return false
  const name = host.toLowerCase()
  return wildcard === undefined ? url.hostname === name : url.hostname.endsWith(`.${name}`)
}

const scopeProblems = ([name, description]: readonly [string, string]): ReadonlyArray<Problem> => {
  const flaw = scopeNameFlaw(name)
  if (flaw !== null) return [{ pointer: "/scopes", detail: flaw }]
  if (description.trim() !== "") return []
  const detail = 'must say what the scope allows, for the consent page, like "Open your doors"'
  return [{ pointer: `/scopes/${JsonPointer.escapeToken(name)}`, detail }]
}

const resourceProblems =
  (scopes: Readonly<Record<string, string>>) =>
  ([uri, settings]: readonly [string, ResourceSettings]): ReadonlyArray<Problem> => {
    const flaw = resourceFlaw(uri)
    if (flaw !== null) return [{ pointer: "/resources", detail: flaw }]
    const pointer = `/resources/${JsonPointer.escapeToken(uri)}`
    const known = [publicScope, ...Object.keys(scopes)]
    const unknown = settings.scopes?.filter((name) => !known.includes(name)) ?? []
    const { accessTokenLifetime: seconds = 1 } = settings
    return [
      ...unknown.map((name) => ({
        pointer: `${pointer}/scopes`,
        detail: `${JSON.stringify(name)} is not declared in \`scopes\`. Declared scopes: ${known.join(", ")}`
      })),
      ...(settings.scopes?.length === 0
        ? [{ pointer: `${pointer}/scopes`, detail: "must name at least one scope, or be left out" }]
        : []),
      ...(Number.isInteger(seconds) && seconds >= 1
        ? []
        : [{ pointer: `${pointer}/accessTokenLifetime`, detail: "must be at least 1s, in whole seconds" }])
    ]
  }

const documentProblems = (setting: ClientIdMetadata | null): ReadonlyArray<Problem> => {
  if (setting === null || setting === "any") return []
  const pointer = "/clientIdMetadata"
  if (setting.allow.length === 0) return [{ pointer, detail: "must have at least one origin in `allow`" }]
  return setting.allow
    .filter((origin) => !isOriginPattern(origin))
    .map((origin) => ({
      pointer,
      detail: `${JSON.stringify(origin)} must be an https origin, like https://app.example or https://*.example.com`
    }))
}

/** Returns problems with resources that a client could not tell apart. */
const sameResources = (uris: ReadonlyArray<string>): ReadonlyArray<Problem> =>
  uris.flatMap((uri, at) => {
    const other = uris.slice(0, at).find((earlier) => URL.parse(earlier)?.href === URL.parse(uri)?.href)
    return other === undefined || resourceFlaw(uri) !== null
      ? []
      : [{ pointer: "/resources", detail: `${uri} and ${other} are the same URL. Declare one` }]
  })

/** Combines the defaults with overrides. Fails if a scope or resource is invalid. */
export const authorizationSettingsOf = (
  overrides: Partial<AuthorizationSettingsShape>
): Result.Result<AuthorizationSettingsShape, InvalidInput> => {
  const settings = { ...authorizationDefaults, ...overrides }
  const invalid = InvalidInput.of("Invalid settings", [
    ...Object.entries(settings.scopes).flatMap(scopeProblems),
    ...Object.entries(settings.resources).flatMap(resourceProblems(settings.scopes)),
    ...sameResources(Object.keys(settings.resources)),
    ...documentProblems(settings.clientIdMetadata)
  ])
  return invalid === null ? Result.succeed(settings) : Result.fail(invalid)
}

export class AuthorizationSettings extends Context.Service<AuthorizationSettings, AuthorizationSettingsShape>()(
  "@doorhook/core/oauth/AuthorizationSettings"
) {
  /** Like `authorizationSettingsOf`, as a layer. */
  static layer(overrides: Partial<AuthorizationSettingsShape> = {}): Layer.Layer<AuthorizationSettings, InvalidInput> {
    return Layer.effect(AuthorizationSettings, Effect.fromResult(authorizationSettingsOf(overrides)))
  }
}
