/**
 * Bearer tokens on requests (RFC 6750): read from the `Authorization` header and from nowhere else.
 */

/** What a request presents. */
export type Presented =
  /** Nothing, a scheme without a token, or credentials of another scheme. */
  | { readonly _tag: "Absent" }
  /** Something that can't be an access token. */
  | { readonly _tag: "Malformed"; readonly token: string }
  | { readonly _tag: "Token"; readonly token: string }

/** Reads an `Authorization` header. The scheme is case-insensitive (RFC 9110 section 11.1). */
export const read = (header: string | undefined): Presented => {
  const token = /^bearer +(.+)$/i.exec(header?.trim() ?? "")?.[1]
  if (token === undefined) return { _tag: "Absent" }
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(token) ? { _tag: "Token", token } : { _tag: "Malformed", token }
}

/**
 * The `WWW-Authenticate` value of a 401. `error` is named only when a token was sent (RFC 6750 section 3.1): a client
 * that sent none has made no mistake that it could mend by asking for a new one.
 */
export const challenge = (presented: Presented): string =>
  presented._tag === "Absent"
    ? 'Bearer realm="doorhook"'
    : 'Bearer realm="doorhook", error="invalid_token", error_description="The access token is not valid or has expired"'
