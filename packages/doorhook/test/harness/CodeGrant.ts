/**
 * The authorization code grant (RFC 6749 section 4.1) without a library, for tests that stop between its steps or use
 * special clients.
 */

/** The parameters that identify a client. */
export interface Client {
  readonly client_id: string
  readonly redirect_uri: string
  readonly client_secret?: string
}

/** Returns the URL to which a client sends its user. */
export const authorizeUrl = (
  url: string,
  { client_id, redirect_uri }: Client,
  more: Readonly<Record<string, string>> = {}
): string =>
  `${url}/oauth/authorize?${new URLSearchParams({ response_type: "code", client_id, redirect_uri, ...more }).toString()}`

/** Returns the code in the URL to which a user is redirected; empty if there is none. */
export const codeIn = (answer: Response): string =>
  new URL(answer.headers.get("location") ?? "http://nowhere").searchParams.get("code") ?? ""

/** Exchanges a code for tokens. */
export const exchange = (
  url: string,
  client: Client & { readonly code_verifier?: string },
  code: string
): Promise<Response> =>
  fetch(`${url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "authorization_code", code, ...client })
  })
