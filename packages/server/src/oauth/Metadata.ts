/**
 * The authorization server's metadata, with which clients configure themselves (RFC 8414).
 */
import type { ResourceSettings } from "@doorhook/core"
import { assertionAlgorithms, publicScope } from "@doorhook/core"
import { metadataPath, resourceMetadataPath } from "../http/OwnPaths.ts"

/** Paths of the endpoints below the public URL. */
export const paths = {
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  revoke: "/oauth/revoke",
  introspect: "/oauth/introspect",
  metadata: metadataPath,
  resourceMetadata: resourceMetadataPath
} as const

/** Descriptions of the host's own scopes, by name. */
export type Scopes = Readonly<Record<string, string>>

/** Returns the metadata of a protected resource (RFC 9728 section 2). `issuer` is the public URL, unchanged. */
export const resourceMetadataOf = (resource: string, issuer: string, scopes: ReadonlyArray<string>) => ({
  resource,
  authorization_servers: [issuer],
  scopes_supported: scopes,
  bearer_methods_supported: ["header"]
})

/** Returns the scopes of a declared resource: those that its settings name, or all. */
export const scopesOfResource = (resource: ResourceSettings | undefined, scopes: Scopes): ReadonlyArray<string> =>
  resource?.scopes ?? [publicScope, ...Object.keys(scopes)]

/** Returns the descriptions of the host's scopes in a `scope` value (RFC 6749 section 3.3). */
export const descriptionsOf = (scope: string, scopes: Scopes): ReadonlyArray<string> =>
  scope.split(" ").flatMap((name) => (!Object.hasOwn(scopes, name) ? [] : [scopes[name] ?? name]))

const confidential = ["client_secret_basic", "client_secret_post", "private_key_jwt"] as const

/** Returns the metadata of the server. `issuer` is the server's public URL, unchanged. */
export const metadataOf = (issuer: string, scopes: Scopes, acceptsDocuments: boolean) => ({
  issuer,
  authorization_endpoint: issuer + paths.authorize,
  token_endpoint: issuer + paths.token,
  revocation_endpoint: issuer + paths.revoke,
  introspection_endpoint: issuer + paths.introspect,
  scopes_supported: [publicScope, ...Object.keys(scopes)],
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
  token_endpoint_auth_methods_supported: [...confidential, "none"],
  token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  revocation_endpoint_auth_methods_supported: [...confidential, "none"],
  revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  introspection_endpoint_auth_methods_supported: confidential,
  introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: acceptsDocuments
})
