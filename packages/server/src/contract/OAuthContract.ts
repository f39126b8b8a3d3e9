/**
 * The operations of the authorization server (document section 4.1, RFC 7009, RFC 7662, RFC 8414). The login form is no
 * part of the contract: only the page that `authorize` answers with knows its members.
 */
import { OAuthErrorCode, TokenResponse } from "@doorhook/core"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

const optional = Schema.optionalKey(Schema.String)

/** The refusal of a request to an endpoint for clients (RFC 6749 section 5.2). */
const OAuthErrorDocument = Schema.Struct({
  error: Schema.Union([OAuthErrorCode, Schema.Literals(["server_error", "temporarily_unavailable"])]),
  error_description: optional
}).annotate({ identifier: "OAuthError" })

const errors = [400, 401, 405, 408, 413, 415, 429, 500, 503].map((status) =>
  OAuthErrorDocument.pipe(HttpApiSchema.status(status))
)

/** The three encodings that clients in the field send. */
const anyForm = <S extends Schema.Top>(schema: S) =>
  [schema.pipe(HttpApiSchema.asMultipart()), schema.pipe(HttpApiSchema.asFormUrlEncoded()), schema] as const

const credentials = { client_id: optional, client_secret: optional }

const TokenRequest = Schema.Union([
  Schema.Struct({
    grant_type: Schema.Literal("authorization_code"),
    code: Schema.String,
    redirect_uri: optional,
    code_verifier: optional,
    ...credentials
  }),
  Schema.Struct({
    grant_type: Schema.Literal("refresh_token"),
    refresh_token: Schema.String,
    scope: optional,
    ...credentials
  })
])

const TokenOnly = Schema.Struct({ token: Schema.String, token_type_hint: optional, ...credentials })

const Introspection = Schema.Struct({
  active: Schema.Boolean,
  scope: optional,
  client_id: optional,
  sub: optional,
  token_type: optional,
  iat: Schema.optionalKey(Schema.Int),
  exp: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "Introspection" })

const Metadata = Schema.Struct({
  issuer: Schema.String,
  authorization_endpoint: Schema.String,
  token_endpoint: Schema.String,
  revocation_endpoint: Schema.String,
  introspection_endpoint: Schema.String,
  scopes_supported: Schema.Array(Schema.String),
  response_types_supported: Schema.Array(Schema.String),
  response_modes_supported: Schema.Array(Schema.String),
  grant_types_supported: Schema.Array(Schema.String),
  token_endpoint_auth_methods_supported: Schema.Array(Schema.String),
  revocation_endpoint_auth_methods_supported: Schema.Array(Schema.String),
  introspection_endpoint_auth_methods_supported: Schema.Array(Schema.String),
  code_challenge_methods_supported: Schema.Array(Schema.String),
  authorization_response_iss_parameter_supported: Schema.Boolean
}).annotate({ identifier: "AuthorizationServerMetadata" })

const Page = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" }))

/** Where it sends the browser is in `Location`. */
const Elsewhere = HttpApiSchema.Empty(303).annotate({
  description:
    "`Location` leads to the client, with an error, to where the host logs users in, or to this address without the client's secret. The form of the page ends in one to the client, with a code."
})

export const OAuth = HttpApiGroup.make("oauth").add(
  HttpApiEndpoint.get("authorize", "/oauth/authorize", {
    query: {
      client_id: Schema.String,
      response_type: Schema.Literal("code"),
      redirect_uri: optional,
      client_secret: optional,
      scope: optional,
      state: optional,
      code_challenge: optional,
      code_challenge_method: optional
    },
    success: [Page, Elsewhere],
    error: [400, 401, 429, 500, 503].map((status) => Page.pipe(HttpApiSchema.status(status)))
  }).annotate(OpenApi.Summary, "Ask the user to log in; ends in a redirect with a code"),
  HttpApiEndpoint.post("token", "/oauth/token", {
    payload: anyForm(TokenRequest),
    success: TokenResponse.annotate({ identifier: "TokenResponse" }),
    error: errors
  })
    .annotate(OpenApi.Summary, "Exchange a code or a refresh token for an access token")
    .annotate(
      OpenApi.Description,
      "By default a client is issued at most 600 tokens a minute (a client without a secret: 600 for each user). Beyond that the answer is 429 with `Retry-After` and the error `temporarily_unavailable`. An authorization has at most 100 live access tokens: a new one ends the oldest."
    ),
  HttpApiEndpoint.post("revoke", "/oauth/revoke", {
    payload: anyForm(TokenOnly),
    success: Schema.Struct({}),
    error: errors
  }).annotate(OpenApi.Summary, "End a token"),
  HttpApiEndpoint.post("introspect", "/oauth/introspect", {
    payload: anyForm(TokenOnly),
    success: Introspection,
    error: errors
  }).annotate(OpenApi.Summary, "Ask what a token stands for"),
  HttpApiEndpoint.get("metadata", "/.well-known/oauth-authorization-server", { success: Metadata }).annotate(
    OpenApi.Summary,
    "What the authorization server is and can"
  )
)
