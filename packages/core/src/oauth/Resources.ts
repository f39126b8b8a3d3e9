/**
 * Resources that tokens are bound to (RFC 8707): the API itself, and the APIs that the host declares.
 */
import { Result } from "effect"
import { accessTokenLifetimeSeconds, publicScope, resourcesIn, scopeNames } from "../model/Token.ts"

/** An API of the host, as declared in the setting `resources`. */
export interface ResourceSettings {
  /** The scopes that a token for the resource may have. Default: all declared scopes and `public`. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Lifetime of the resource's access tokens, in whole seconds. Default: `accessTokenLifetimeSeconds`. */
  readonly accessTokenLifetime?: number | undefined
}

/** What an access token must be for. */
export interface Audience {
  /** The resource that a bound token must name; null if no bound token is accepted. */
  readonly resource: string | null
  /** Whether a token that is bound to no resource is accepted. */
  readonly acceptsUnbound: boolean
}

/** The audience of the host's routes that name no resource. */
export const unboundOnly: Audience = { resource: null, acceptsUnbound: true }

/** Path of the API below the public URL. The API is a resource without declaration. */
export const apiPath = "/v4"

/** Path of the endpoint for assistants (Model Context Protocol), which is a resource where it is served. */
export const mcpPath = "/mcp"

/** Paths below the public URL that are resources without declaration. */
export type OwnApi = typeof apiPath | typeof mcpPath

/** Returns why a URI is invalid for a declared resource (RFC 8707 section 2, RFC 9728 section 1.2); null if valid. */
export const resourceFlaw = (uri: string): string | null => {
  const url = URL.parse(uri)
  const isUsable =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    /^[\u0021-\u007e]+$/.test(uri) &&
    !/["\\?#]/.test(uri) &&
    url.username === "" &&
    url.password === ""
  return isUsable
    ? null
    : `${JSON.stringify(uri)} can't be a resource: give the http or https URL of an API, without query, fragment and user name, like https://api.example/doors`
}

/** The form in which resources are compared: clients write the host in any case, and the root with or without slash. */
const normalized = (uri: string): string | null => (/[#\s]/.test(uri) ? null : (URL.parse(uri)?.href ?? null))

/** Why requested resources or their scopes are refused. */
export interface Refused {
  readonly error: "invalid_target" | "invalid_scope"
  readonly error_description: string
}

interface Settings {
  readonly apis: ReadonlyArray<OwnApi>
  readonly resources: Readonly<Record<string, ResourceSettings>>
  readonly scopes: Readonly<Record<string, string>>
}

/** Rules for the declared resources. A list of resources is stored as text (`Grant.resource`). */
export class Resources {
  readonly #declared: ReadonlyMap<string, string>
  readonly #apis: Settings["apis"]
  readonly #resources: Settings["resources"]
  readonly #allScopes: ReadonlyArray<string>

  constructor({ apis, resources, scopes }: Settings) {
    this.#apis = apis
    this.#resources = resources
    this.#declared = new Map(Object.keys(resources).map((uri) => [normalized(uri) ?? uri, uri]))
    this.#allScopes = [publicScope, ...Object.keys(scopes)]
  }

  /** Reads the resources in an authorization request. The result is empty if none is requested. */
  requested(uris: ReadonlyArray<string>, issuer: string): Result.Result<string, Refused> {
    const known = uris.map((uri) => this.#find(uri, issuer))
    const found = known.filter((uri) => uri !== null)
    if (found.length === known.length) return Result.succeed([...new Set(found)].join(" "))
    return Result.fail({
      error: "invalid_target",
      error_description: `A requested resource is unknown. The resources are ${[...this.#apis.map((path) => issuer + path), ...Object.keys(this.#resources)].join(", ")}.`
    })
  }

  /** Reads the resources in a token request, which must be among the granted ones (RFC 8707 section 2.2). */
  narrowed(granted: string, uris: ReadonlyArray<string>, issuer: string): Result.Result<string, Refused> {
    if (uris.length === 0) return Result.succeed(granted)
    const held = resourcesIn(granted)
    return Result.flatMap(this.requested(uris, issuer), (asked) =>
      resourcesIn(asked).every((uri) => held.includes(uri))
        ? Result.succeed(asked)
        : Result.fail({
            error: "invalid_target",
            error_description:
              held.length === 0
                ? "The grant is bound to no resource. Send resource in the authorize step, too."
                : `The grant is bound to ${held.join(", ")}. Ask for some of these, or leave the resource parameter out.`
          })
    )
  }

  /** Returns the scopes that a token may have for at least one of its resources. */
  scopesOf(resource: string, issuer: string): ReadonlyArray<string> {
    if (resource === "") return this.#allScopes
    const uris = resourcesIn(resource)
    const allowed = uris.map(
      (uri) => this.#resources[uri]?.scopes ?? (uri === issuer + apiPath ? [publicScope] : this.#allScopes)
    )
    return this.#allScopes.filter((name) => allowed.some((scopes) => scopes.includes(name)))
  }

  /** Returns the lifetime of an access token, in seconds: the shortest of its resources. */
  lifetimeOf(resource: string): number {
    const lifetimes = resourcesIn(resource).map((uri) => this.#resources[uri]?.accessTokenLifetime)
    return lifetimes.length === 0
      ? accessTokenLifetimeSeconds
      : Math.min(...lifetimes.map((seconds) => seconds ?? accessTokenLifetimeSeconds))
  }

  /**
   * Returns the scopes that a token has at an audience; null if the token is for another audience. A scope counts only
   * at the resources that allow it, even if the token is for several.
   */
  scopesAt(resource: string, scope: string, audience: Audience): ReadonlyArray<string> | null {
    const names = scopeNames(scope)
    if (resource === "") return audience.acceptsUnbound ? names : null
    const at = audience.resource
    if (at === null || !resourcesIn(resource).includes(at)) return null
    const allowed = this.#resources[at]?.scopes
    return allowed === undefined ? names : names.filter((name) => allowed.includes(name))
  }

  #find(uri: string, issuer: string): string | null {
    const given = normalized(uri)
    if (given === null) return null
    const api = this.#apis.find((path) => given === normalized(issuer + path))
    return api === undefined ? (this.#declared.get(given) ?? null) : issuer + api
  }
}
