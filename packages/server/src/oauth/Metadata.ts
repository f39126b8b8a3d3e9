/**
 * What the authorization server is and can, for clients that configure themselves (RFC 8414).
 */
import { publicScope } from "@doorhook/core"

/** The endpoints, below the public URL. */
export const paths = {
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  revoke: "/oauth/revoke",
  introspect: "/oauth/introspect",
  metadata: "/.well-known/oauth-authorization-server"
} as const

/**
 * Whether a path is one that the metadata of an issuer is asked for at: that of the endpoint, and the one that clients make
 * of an issuer with a path, which they put at the end (RFC 8414 section 3.1). A slash at the end makes no difference.
 */
export const isMetadataPath = (path: string, issuer: string): boolean => {
  if (!path.startsWith(paths.metadata)) return false
  const whole = path.replace(/\/$/, "")
  return whole === paths.metadata || whole === paths.metadata + new URL(issuer).pathname.replace(/\/$/, "")
}

const withSecret = ["client_secret_basic", "client_secret_post"] as const

/** The metadata of a server at a public URL. The issuer is that URL, character by character. */
export const metadataOf = (issuer: string) => ({
  issuer,
  authorization_endpoint: issuer + paths.authorize,
  token_endpoint: issuer + paths.token,
  revocation_endpoint: issuer + paths.revoke,
  introspection_endpoint: issuer + paths.introspect,
  scopes_supported: [publicScope],
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  token_endpoint_auth_methods_supported: [...withSecret, "none"],
  revocation_endpoint_auth_methods_supported: [...withSecret, "none"],
  introspection_endpoint_auth_methods_supported: withSecret,
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true
})
