/**
 * How OAuth endpoints say no (RFC 6749 section 5.2).
 */
import { Schema } from "effect"

/** Too many wrong secrets came from an address, for this client or for many. */
export class TooManyAttempts extends Schema.TaggedError<TooManyAttempts>()("TooManyAttempts", {
  /** In whole seconds. */
  retry_after: Schema.Int
}) {
  override get message(): string {
    return `Too many requests with a wrong client secret came from this address. Try again in ${this.retry_after} s.`
  }
}

/** A client was issued as many tokens in a minute as one may be. */
export class TooManyTokens extends Schema.TaggedError<TooManyTokens>()("TooManyTokens", {
  limit: Schema.Int,
  /** In whole seconds. */
  retry_after: Schema.Int
}) {
  override get message(): string {
    return `At most ${this.limit} token requests a minute are taken from one client (the setting tokenRequestsPerMinute). Try again in ${this.retry_after} s.`
  }
}

/** The error codes that doorhook's token, revocation and introspection endpoints use. */
export const OAuthErrorCode = Schema.Literals([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unsupported_grant_type",
  "invalid_scope"
])
export type OAuthErrorCode = typeof OAuthErrorCode.Type

/**
 * A refused request. The description is for the developer of the client: what was wrong and what to do. It is made of
 * the characters that RFC 6749 section 5.2 allows (printable ASCII without quotes and backslashes) and never of input.
 */
export class OAuthError extends Schema.TaggedError<OAuthError>()("OAuthError", {
  error: OAuthErrorCode,
  error_description: Schema.String
}) {
  override get message(): string {
    return `${this.error}: ${this.error_description}`
  }

  /** The HTTP status: 401 says that another client or secret would help, 400 everything else. */
  get status(): 400 | 401 {
    return this.error === "invalid_client" ? 401 : 400
  }

  static invalidRequest(error_description: string): OAuthError {
    return new OAuthError({ error: "invalid_request", error_description })
  }

  static invalidClient(error_description: string): OAuthError {
    return new OAuthError({ error: "invalid_client", error_description })
  }

  static invalidGrant(error_description: string): OAuthError {
    return new OAuthError({ error: "invalid_grant", error_description })
  }

  static unsupportedGrantType(error_description: string): OAuthError {
    return new OAuthError({ error: "unsupported_grant_type", error_description })
  }

  static invalidScope(error_description: string): OAuthError {
    return new OAuthError({ error: "invalid_scope", error_description })
  }
}
