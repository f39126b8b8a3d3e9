/**
 * The authorization code grant (RFC 6749 section 4.1) by hand, for tests that stop at one of its steps, or whose client no
 * library has to be.
 */

/** What a client says of itself. */
export interface Client {
  readonly client_id: string
  readonly redirect_uri: string
  readonly client_secret?: string
}

/** Where a client sends its user. */
export const authorizeUrl = (
  url: string,
  { client_id, redirect_uri }: Client,
  more: Readonly<Record<string, string>> = {}
): string =>
  `${url}/oauth/authorize?${new URLSearchParams({ response_type: "code", client_id, redirect_uri, ...more }).toString()}`

/** The code in the address that a user is sent back to; empty when there is none. */
export const codeIn = (answer: Response): string =>
  new URL(answer.headers.get("location") ?? "http://nowhere").searchParams.get("code") ?? ""

/** Asks for the tokens of a code. */
export const exchange = (
  url: string,
  client: Client & { readonly code_verifier?: string },
  code: string
): Promise<Response> =>
  fetch(`${url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "authorization_code", code, ...client })
  })
