/**
 * The parameters in a request's body, in any of the three encodings that clients use: multipart/form-data (the
 * document), application/x-www-form-urlencoded (RFC 6749) and application/json.
 */
import { JsonText, OAuthError, Parameters } from "@doorhook/core"
import { Effect, Predicate, Result } from "effect"
import { HttpServerRequest, MultipartParser } from "effect/http"
import { readBytes, readText } from "../http/RequestBody.ts"

/** The largest body, in bytes. */
const maxBodyBytes = 64 * 1024

/** The most parameters in one body. */
const maxParameters = 50

type Pairs = ReadonlyArray<readonly [string, string]>
type Read = Result.Result<Pairs, OAuthError>

const refuse = (description: string): Read => Result.fail(OAuthError.invalidRequest(description))

const fromForm = (text: string): Read =>
  // The parser would take a leading question mark for the beginning of a query.
  Result.succeed([...new URLSearchParams(`&${text}`)])

const fromMultipart = (bytes: Uint8Array, contentType: string): Read => {
  const pairs: Array<readonly [string, string]> = []
  let isComplete = false
  let hasFailed = false
  let hasFile = false
  const parser = MultipartParser.make({
    headers: { "content-type": contentType },
    maxParts: maxParameters,
    onField: (info, value) => pairs.push([info.name, MultipartParser.decodeField(info, value)]),
    onFile: () => {
      hasFile = true
      return () => undefined
    },
    onError: () => {
      hasFailed = true
    },
    onDone: () => {
      isComplete = true
    }
  })
  parser.write(bytes)
  parser.end()
  if (hasFile) return refuse("Files are not taken. Send every parameter as a plain field.")
  if (hasFailed || !isComplete) return refuse("The multipart body is malformed, was cut off, or has too many parts.")
  return Result.succeed(pairs)
}

const fromJson = (text: string): Read => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse("The body is not JSON.")
  }
  if (!Predicate.isObject(value) || Array.isArray(value)) return refuse("The body must be a JSON object.")
  const members = Object.entries(value)
  if (members.length > maxParameters) return refuse("The body has too many members.")
  const pairs: Array<readonly [string, string]> = []
  for (const [name, member] of members) {
    // What means nothing here may be anything (RFC 6749 section 3.2).
    if (member === null || (!Predicate.isString(member) && !Parameters.meaningful.has(name))) continue
    if (!Predicate.isString(member)) return refuse(`The member ${name} of the JSON object must be a string.`)
    // Once for each time that the member was written: JSON.parse keeps only the last.
    for (const _ of JsonText.membersNamed(text, name)) pairs.push([name, member])
  }
  return Result.succeed(pairs)
}

const toParameters = (read: Read) => Effect.map(Effect.fromResult(read), Parameters.fromPairs)

/** The parameters of the body; null when it is of a type that is not read. */
export const readParameters = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const contentType = request.headers["content-type"] ?? ""
  switch (contentType.split(";")[0]?.trim().toLowerCase()) {
    case "multipart/form-data":
      return yield* toParameters(fromMultipart(yield* readBytes(maxBodyBytes), contentType))
    case "application/x-www-form-urlencoded":
      return yield* toParameters(fromForm(yield* readText(maxBodyBytes)))
    case "application/json":
      return yield* toParameters(fromJson(yield* readText(maxBodyBytes)))
    default: {
      const bytes = yield* readBytes(maxBodyBytes)
      return bytes.length === 0 ? Parameters.fromPairs([]) : null
    }
  }
})
