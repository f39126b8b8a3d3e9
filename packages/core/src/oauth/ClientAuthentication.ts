/**
 * Client authentication at the token, revocation and introspection endpoints (RFC 6749 section 2.3). Credentials are
 * sent by HTTP Basic or in the body, but not both.
 */
import { Effect, Predicate, Result } from "effect"
import { Base64 } from "effect/encoding"
import type { KnownClient } from "../model/Client.ts"
import { isConfidential, keysOf } from "../model/Client.ts"
import type { ClientStore } from "../ports/ClientStore.ts"
import type { Directory, DirectoryError } from "../ports/Directory.ts"
import { makeFindClient } from "../ports/KnownClients.ts"
import type { StoreError } from "../ports/StoreError.ts"
import type { Credential, LoginThrottle } from "./LoginThrottle.ts"
import { OAuthError, TooManyAttempts } from "./OAuthError.ts"
import type { Parameters } from "./Parameters.ts"
import { get } from "./Parameters.ts"
import type { TokenStore } from "../ports/TokenStore.ts"
import type { Assertion } from "./ClientAssertion.ts"
import { assertionType, claimsFlaw, forgottenAt, isSignedBy, readAssertion } from "./ClientAssertion.ts"
import type { ClientDocuments, DocumentRefused, TooManyDocuments } from "./ClientDocuments.ts"
import type { Secrets } from "./Secrets.ts"
import { sameHash } from "./Secrets.ts"

/** A request to the token, revocation or introspection endpoint. */
export interface ClientRequest {
  /** The fields of the body. The query is never read (RFC 6749 section 2.3.1). */
  readonly parameters: Parameters
  /** The `Authorization` header; null when there is none. */
  readonly authorization: string | null
  /** The network address of the sender; null if unknown. */
  readonly address: string | null
  /** The public URL. */
  readonly issuer: string
}

/**
 * The required proof. With `secret`, every client with a secret must send it. With `secret_if_sent`, the secret is
 * optional but must be right.
 */
type Proof = "secret" | "secret_if_sent"

type Asked<A, E = never> = Effect.Effect<A, E | StoreError | DirectoryError>

export interface ClientAuthentication {
  /**
   * Returns the client with exactly this id, from the host's directory or registered with the service. For a client
   * that is not registered, only what its id says.
   */
  readonly findClient: (id: string) => Asked<KnownClient | null>
  /** Like `findClient`, but reads the document of a client that is not registered. */
  readonly readClient: (
    id: string,
    address: string | null
  ) => Asked<KnownClient | null, DocumentRefused | TooManyDocuments>
  /**
   * Checks whether a secret is right. Wrong secrets are counted, and after too many, secrets are no longer compared.
   */
  readonly checkSecret: (
    client: KnownClient | null,
    secret: string,
    guess: Credential
  ) => Effect.Effect<boolean, TooManyAttempts>
  /** Authenticates the client of a request. */
  readonly authenticateClient: (
    request: ClientRequest,
    proof: Proof
  ) => Asked<KnownClient, OAuthError | TooManyAttempts>
}

export const makeClientAuthentication = (needs: {
  readonly directory: Directory["Service"]
  readonly store: ClientStore["Service"]
  readonly secrets: Secrets
  readonly throttle: LoginThrottle
  readonly tokens: Pick<TokenStore["Service"], "useAssertion">
  readonly now: () => number
  readonly documents: typeof ClientDocuments.Service
}): ClientAuthentication => {
  const { documents, now, secrets, throttle, tokens } = needs
  const findClient = makeFindClient(needs.directory, needs.store, documents.accepted)

  const checkSecret: ClientAuthentication["checkSecret"] = (client, secret, guess) => {
    const attempt = () =>
      client === null
        ? Effect.succeed(null)
        : Effect.mapEager(isSecretOf(secrets, client, secret, now()), (isRight) => isRight || null)
    return Effect.flatMapEager(throttle.guard(guess, attempt), (guarded) =>
      guarded._tag === "Throttled"
        ? Effect.fail(new TooManyAttempts({ retry_after: guarded.retry_after }))
        : Effect.succeed(guarded.value !== null)
    )
  }

  /** Checks an assertion. Wrong signatures are counted like wrong secrets, and an assertion is accepted only once. */
  const checkAssertion = Effect.fnUntraced(function* (
    assertion: Assertion,
    { address, issuer }: ClientRequest
  ): Effect.fn.Return<KnownClient, OAuthError | TooManyAttempts | StoreError | DirectoryError> {
    const flaw = claimsFlaw(assertion, issuer, now() / 1_000)
    if (flaw !== null) return yield* OAuthError.invalidClient(flaw)
    const { jti, sub } = assertion.claims
    const client = yield* findClient(sub)
    const guess: Credential = { kind: "client", name: sub, address, isMadeUp: client === null }
    const guarded = yield* throttle.guard(guess, () =>
      client === null
        ? Effect.succeed(null)
        : Effect.map(isSignedBy(assertion, keysOf(client)), (isRight) => (isRight ? client : null))
    )
    if (guarded._tag === "Throttled") return yield* new TooManyAttempts({ retry_after: guarded.retry_after })
    if (guarded.value === null) return yield* unsigned()
    const id = yield* secrets.hashOf(JSON.stringify([sub, jti]))
    if (yield* tokens.useAssertion(id, forgottenAt(assertion))) return guarded.value
    return yield* OAuthError.invalidClient(
      "The assertion was used before. Make a new one, with its own jti, for each request."
    )
  })

  return {
    findClient,
    readClient: (text, address) =>
      Effect.flatMapEager(findClient(text), (client): Asked<KnownClient | null, DocumentRefused | TooManyDocuments> =>
        client !== null && "host" in client ? documents.read(text, address) : Effect.succeed(client)
      ),
    checkSecret,
    authenticateClient: (request, proof) => {
      const credentials = readCredentials(request)
      if (Result.isFailure(credentials)) return Effect.fail(credentials.failure)
      const { assertion, id, secret } = credentials.success
      if (assertion !== null) return checkAssertion(assertion, request)
      if (id === null) return Effect.fail(unnamed())
      return Effect.flatMapEager(findClient(id), (client): Asked<KnownClient, OAuthError | TooManyAttempts> => {
        if (secret === null) {
          if (client === null) return Effect.fail(refused())
          const isMissing = proof === "secret" && isConfidential(client)
          return isMissing ? Effect.fail(secretMissing()) : Effect.succeed(client)
        }
        // Unknown ids are counted too, because a different answer would reveal that the client does not exist.
        const guess: Credential = { kind: "client", name: id, address: request.address, isMadeUp: client === null }
        return Effect.flatMapEager(checkSecret(client, secret, guess), (isRight) =>
          isRight && client !== null ? Effect.succeed(client) : Effect.fail(refused())
        )
      })
    }
  }
}

const unnamed = () =>
  OAuthError.invalidClient("The request does not identify a client. Send client_id in the body or by HTTP Basic.")

const secretMissing = () =>
  OAuthError.invalidClient(
    "This client must authenticate: with its secret, as client_secret or by HTTP Basic, or with a client_assertion."
  )

/** Returns the same answer for an unknown client and a wrong signature, so that ids can't be guessed. */
const unsigned = () =>
  OAuthError.invalidClient("The client is unknown, or none of its keys made the signature of the assertion.")

/** Returns the same answer for an unknown client and a wrong secret, so that ids can't be guessed. */
const refused = () =>
  OAuthError.invalidClient("The client is unknown or its secret is wrong. Check client_id and client_secret.")

// Credentials.

interface Credentials {
  readonly id: string | null
  readonly secret: string | null
  readonly assertion: Assertion | null
}

/** Reads the assertion in a body (RFC 7521 section 4.2); null without one. */
const readBodyAssertion = (parameters: Parameters): Result.Result<Assertion | null, OAuthError> => {
  const text = get(parameters, "client_assertion")
  const type = get(parameters, "client_assertion_type")
  if (text === null && type === null) return Result.succeed(null)
  if (text === null || type !== assertionType) {
    const description = `Send both client_assertion and client_assertion_type, which must be ${assertionType}.`
    return Result.fail(OAuthError.invalidRequest(description))
  }
  const assertion = readAssertion(text)
  if (assertion === null) {
    const description = "The client_assertion must be a signed JWT with the claims iss, sub, aud, jti and exp."
    return Result.fail(OAuthError.invalidClient(description))
  }
  const id = get(parameters, "client_id")
  return id === null || id === assertion.claims.sub
    ? Result.succeed(assertion)
    : Result.fail(OAuthError.invalidClient("The client_id differs from the claim sub of the assertion."))
}

/** Reads the credentials of a request from its header or body. */
const readCredentials = ({ authorization, parameters }: ClientRequest): Result.Result<Credentials, OAuthError> => {
  const read = readBodyAssertion(parameters)
  if (Result.isFailure(read)) return Result.fail(read.failure)
  const assertion = read.success
  const body: Credentials = { id: get(parameters, "client_id"), secret: get(parameters, "client_secret"), assertion }
  const header = authorization === null ? null : readBasic(authorization)
  if (assertion !== null && (header !== null || body.secret !== null)) {
    return Result.fail(OAuthError.invalidRequest("The request has an assertion and a secret. Send one of them."))
  }
  if (header === null) return Result.succeed(body)
  if (body.secret !== null) {
    return Result.fail(
      OAuthError.invalidRequest(
        "The request has client credentials in both the Authorization header and the body. Send them one way."
      )
    )
  }
  if (Result.isSuccess(header) && body.id !== null && body.id !== header.success.id) {
    return Result.fail(
      OAuthError.invalidRequest("The client_id in the body differs from the one in the Authorization header. Send one.")
    )
  }
  return header
}

/** Reads HTTP Basic credentials. Returns null for other schemes, which don't identify the client. */
const readBasic = (header: string): Result.Result<Credentials, OAuthError> | null => {
  const encoded = /^basic +(.*)$/i.exec(header.trim())?.[1]
  if (encoded === undefined) return null
  const text = Result.getOrElse(Base64.decodeString(encoded), () => "")
  const colon = text.indexOf(":")
  if (colon === -1) return Result.fail(refused())
  const id = formDecode(text.slice(0, colon))
  const secret = formDecode(text.slice(colon + 1))
  if (id === null || id === "" || secret === null) return Result.fail(refused())
  return Result.succeed({ id, secret: secret === "" ? null : secret, assertion: null })
}

/** Decodes one value of application/x-www-form-urlencoded (RFC 6749 appendix B); null if it is malformed. */
const formDecode = (text: string): string | null => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return null
  }
}

/** Whether a client's secret is right at `now`. For a public client, any secret is wrong. */
export const isSecretOf = (
  secrets: Secrets,
  client: KnownClient,
  secret: string,
  now: number
): Effect.Effect<boolean> => {
  if ("host" in client) return Effect.succeed(false)
  if (!("secrets" in client)) {
    return Predicate.isNotNullish(client.secret) ? secrets.isValueOf(client.secret, secret) : Effect.succeed(false)
  }
  return Effect.mapEager(secrets.hashOf(secret), (hash) => {
    let known = false
    // All secrets are compared, so that the duration reveals nothing.
    for (const each of client.secrets)
      known = (sameHash(each.hash, hash) && (each.expires_at === null || now < each.expires_at)) || known
    return known
  })
}
