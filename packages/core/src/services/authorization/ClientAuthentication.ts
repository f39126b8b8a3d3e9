/**
 * Which client sends a request to the token endpoint or one of its siblings, and whether it can prove it (RFC 6749
 * section 2.3): by HTTP Basic or by body fields, never by both.
 */
import { Clock, Effect, Option, Predicate, Redacted, Result } from "effect"
import { Base64 } from "effect/encoding"
import type { KnownClient } from "../../domain/Client.ts"
import { isConfidential } from "../../domain/Client.ts"
import { parseClientId } from "../../domain/Ids.ts"
import { ClientStore } from "../../ports/ClientStore.ts"
import { Directory } from "../../ports/Directory.ts"
import { GuessThrottle } from "./GuessThrottle.ts"
import type { Guess } from "./GuessThrottle.ts"
import { OAuthError, TooManyGuesses } from "./OAuthError.ts"
import type { Parameters } from "./Parameters.ts"
import { get } from "./Parameters.ts"
import { equals, hashOf, sameHash } from "./Secrets.ts"
import { warnOnce } from "./ToldHost.ts"

/** A request to the token, revocation or introspection endpoint. */
export interface ClientRequest {
  /** The fields of the body; the query is never read (RFC 6749 section 2.3.1). */
  readonly parameters: Parameters
  /** The `Authorization` header; null when there is none. */
  readonly authorization: string | null
  /** The network address it comes from; null when nobody knows. */
  readonly address: string | null
}

/** What a request says about its client. */
interface Credentials {
  readonly id: string | null
  readonly secret: string | null
}

/** One answer for an unknown client and a wrong secret, so that ids can't be guessed one by one. */
const refused = () =>
  OAuthError.invalidClient("The client is unknown or its secret is wrong. Check client_id and client_secret.")

/** Undoes application/x-www-form-urlencoded on one value (RFC 6749 appendix B); null when it is malformed. */
const formDecode = (text: string): string | null => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return null
  }
}

/** Reads HTTP Basic. Null when the header has another scheme: that one does not say who the client is. */
const readBasic = (header: string | null): Result.Result<Credentials, OAuthError> | null => {
  const encoded = /^basic +(.*)$/i.exec(header?.trim() ?? "")?.[1]
  if (encoded === undefined) return null
  const text = Result.getOrElse(Base64.decodeString(encoded), () => "")
  const colon = text.indexOf(":")
  if (colon === -1) return Result.fail(refused())
  const id = formDecode(text.slice(0, colon))
  const secret = formDecode(text.slice(colon + 1))
  if (id === null || id === "" || secret === null) return Result.fail(refused())
  return Result.succeed({ id, secret: secret === "" ? null : secret })
}

/** Puts what the header and the body say together. */
const readCredentials = Effect.fnUntraced(function* ({ parameters, authorization }: ClientRequest) {
  const body: Credentials = { id: get(parameters, "client_id"), secret: get(parameters, "client_secret") }
  const header = readBasic(authorization)
  if (header === null) return body
  if (body.secret !== null) {
    return yield* OAuthError.invalidRequest(
      "Client credentials came both in the Authorization header and in the body. Send them one way."
    )
  }
  const basic = yield* Effect.fromResult(header)
  if (body.id !== null && body.id !== basic.id) {
    return yield* OAuthError.invalidRequest(
      "The client_id of the body is not the one of the Authorization header. Send one."
    )
  }
  return basic
})

/** Whether a secret is one of a client's. A public client has none, so that any is wrong. */
export const isSecretOf = Effect.fnUntraced(function* (client: KnownClient, secret: string) {
  if (!("secrets" in client))
    return Predicate.isNotNullish(client.secret) && (yield* equals(Redacted.value(client.secret), secret))
  const hash = yield* hashOf(secret)
  const now = yield* Clock.currentTimeMillis
  let known = false
  // All are compared, so that the time taken says nothing.
  for (const each of client.secrets)
    known = (sameHash(each.hash, hash) && (each.expires_at === null || now < each.expires_at)) || known
  return known
})

const otherClient =
  "The directory's `client` must return the client of exactly the id that it is asked for, letter by letter, not another one. What it answered is not taken: the client counts as unknown to it."

/** The client of exactly that id: the host's own, or one that was registered with the service. */
export const findClient = Effect.fnUntraced(function* (text: string) {
  const id = Option.getOrNull(parseClientId(text))
  if (id === null) return null
  const directory = yield* Directory
  const own: KnownClient | null = yield* directory.client(id)
  if (own !== null && own.id === id) return own
  // Another spelling of an id would have wrong secrets counted apart, and tokens that belong to no client.
  if (own !== null) yield* warnOnce(directory, otherClient)
  return yield* (yield* ClientStore).find(id)
})

/** Whether a secret proves who the client is. Wrong ones are counted, and after too many no more are compared. */
export const checkSecret = Effect.fnUntraced(function* (client: KnownClient | null, secret: string, guess: Guess) {
  const throttle = yield* GuessThrottle
  const attempt = client === null ? Effect.succeed(false) : isSecretOf(client, secret)
  const guarded = yield* throttle.guard(
    guess,
    Effect.map(attempt, (isRight) => isRight || null)
  )
  if (guarded._tag === "Throttled") return yield* new TooManyGuesses({ retry_after: guarded.retry_after })
  return guarded.value !== null
})

/** What proof is asked for: a secret of every client that has one, or only that a secret that was sent is right. */
export type Proof = "secret" | "secret_if_sent"

/** The client that sent a request. */
export const authenticateClient = Effect.fnUntraced(function* (request: ClientRequest, proof: Proof) {
  const { id, secret } = yield* readCredentials(request)
  if (id === null) {
    return yield* OAuthError.invalidClient("The request names no client. Send client_id in the body or by HTTP Basic.")
  }
  const client = yield* findClient(id)
  // Made-up ids are counted too: another kind of answer would say that there is no such client.
  const guess: Guess = { kind: "client", name: id, address: request.address, isMadeUp: client === null }
  if (secret !== null && !(yield* checkSecret(client, secret, guess))) return yield* refused()
  if (client === null) return yield* refused()
  if (secret === null && isConfidential(client) && proof === "secret") {
    return yield* OAuthError.invalidClient(
      "This client has a secret and must send it, as client_secret or by HTTP Basic."
    )
  }
  return client
})
