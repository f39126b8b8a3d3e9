/**
 * Errors of OAuth endpoints (RFC 6749 section 5.2).
 */
import { Schema } from "effect"

/** Too many wrong secrets were sent from an address, for one client or several. */
export class TooManyAttempts extends Schema.TaggedError<TooManyAttempts>()("TooManyAttempts", {
  /** Whole seconds. */
  retry_after: Schema.Int
}) {
  override get message(): string {
    return `Too many requests with a wrong client secret were sent from this address. Try again in ${this.retry_after} s.`
  }
}

/** The client has reached its limit of tokens per minute. */
export class TooManyTokens extends Schema.TaggedError<TooManyTokens>()("TooManyTokens", {
  limit: Schema.Int,
  /** Whole seconds. */
  retry_after: Schema.Int
}) {
  override get message(): string {
    return `At most ${this.limit} token requests per minute are accepted from one client (setting tokenRequestsPerMinute). Try again in ${this.retry_after} s.`
  }
}

/** Error codes of doorhook's token, revocation and introspection endpoints. */
export const OAuthErrorCode = Schema.Literals([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
  "invalid_target"
])
export type OAuthErrorCode = typeof OAuthErrorCode.Type

/**
 * A refused request. The description says what was wrong and what to do, for the client's developer. It contains only
 * characters that RFC 6749 section 5.2 allows (printable ASCII without quotes and backslashes), and never repeats the
 * client's input.
 */
export class OAuthError extends Schema.TaggedError<OAuthError>()("OAuthError", {
  error: OAuthErrorCode,
  error_description: Schema.String
}) {
  override get message(): string {
    return `${this.error}: ${this.error_description}`
  }

  /** The HTTP status: 401 for invalid client credentials, otherwise 400. */
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

  /** The client may not use this grant type. */
  static unauthorizedClient(error_description: string): OAuthError {
    return new OAuthError({ error: "unauthorized_client", error_description })
  }

  static unsupportedGrantType(error_description: string): OAuthError {
    return new OAuthError({ error: "unsupported_grant_type", error_description })
  }

  /** A requested resource is unknown, or not among the granted ones (RFC 8707 section 2). */
  static invalidTarget(error_description: string): OAuthError {
    return new OAuthError({ error: "invalid_target", error_description })
  }

  static invalidScope(error_description: string): OAuthError {
    return new OAuthError({ error: "invalid_scope", error_description })
  }
}
