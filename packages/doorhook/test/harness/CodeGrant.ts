/**
 * The authorization code grant (RFC 6749 section 4.1) without a library, for tests that stop between its steps or use
 * special clients.
 */
import { Schema } from "effect"

/** A code verifier and its challenge, from RFC 7636 appendix B. */
export const pkce = {
  verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
  challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
} as const

/** The parameters of an authorize URL that contain the challenge. */
export const challenge = { code_challenge: pkce.challenge, code_challenge_method: "S256" } as const

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

const TokenAnswer = Schema.Struct({
  access_token: Schema.optionalKey(Schema.String),
  refresh_token: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(Schema.String)
})

/** Reads a response of the token endpoint. Members that it does not have are empty. */
export const readTokens = async (response: Response) => {
  const body = Schema.decodeUnknownSync(TokenAnswer)(await response.json())
  return { status: response.status, access_token: "", refresh_token: "", error: "", ...body }
}

/** Sends a form to the token endpoint. */
export const requestTokens = async (url: string, fields: Readonly<Record<string, string>>) =>
  readTokens(await fetch(`${url}/oauth/token`, { method: "POST", body: new URLSearchParams(fields) }))
