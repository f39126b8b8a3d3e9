/**
 * Reads parameters from request bodies in the three encodings that clients use: multipart/form-data (as in the
 * interface document), application/x-www-form-urlencoded (RFC 6749) and application/json.
 */
import { JsonText, OAuthError, Parameters } from "@doorhook/core"
import { Effect, Exit, Predicate } from "effect"
import { decodeText } from "../http/Exchange.ts"
import type { BodyError } from "../http/Failures.ts"

/** Largest body, in bytes. */
export const maxBodyBytes = 64 * 1024

/** Maximum number of parameters in a multipart or JSON body. */
const maxParameters = 50

type Pairs = Iterable<readonly [string, string]>
type Read = Exit.Exit<Pairs, OAuthError>

const refuse = (description: string): Exit.Exit<never, OAuthError> => Exit.fail(OAuthError.invalidRequest(description))

/** Reads the parameters in a body; null for an unsupported `Content-Type`. */
export const readParameters = (
  contentType: string | undefined,
  body: Uint8Array
): Effect.Effect<Parameters.Parameters | null, OAuthError | BodyError> => {
  switch (contentType?.split(";", 1)[0]?.trim().toLowerCase()) {
    case "multipart/form-data":
      return Effect.mapEager(fromMultipart(body, contentType ?? ""), Parameters.fromPairs)
    case "application/x-www-form-urlencoded":
      return Effect.mapEager(decodeText(body), (text) => Parameters.fromPairs(fromForm(text)))
    case "application/json":
      return Effect.mapEager(Effect.flatMapEager(decodeText(body), fromJson), Parameters.fromPairs)
    default:
      return Exit.succeed(body.length === 0 ? Parameters.fromPairs([]) : null)
  }
}

// `URLSearchParams` removes a leading question mark, which might be part of the first name. The `&` prevents this.
const fromForm = (text: string): Pairs => new URLSearchParams(`&${text}`)

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
    // Unknown members are ignored, whatever their type (RFC 6749 section 3.2).
    if (member === null || (!Predicate.isString(member) && !Parameters.meaningful.has(name))) continue
    if (name === "resource" && Array.isArray(member) && member.every(Predicate.isString)) {
      for (const uri of member) pairs.push([name, uri])
      continue
    }
    if (!Predicate.isString(member)) return refuse(`The member ${name} of the JSON object must be a string.`)
    // JSON.parse keeps only the last of repeated members. Every occurrence is added, so that the repetition is refused.
    for (const _ of JsonText.membersNamed(text, name)) pairs.push([name, member])
  }
  return Exit.succeed(pairs)
}

const malformed = refuse("The multipart body is malformed, was cut off, or has too many parts.")
const hasFile = refuse("Files are not accepted. Send every parameter as a plain field.")

/** Splits a body at its delimiters (RFC 7578, RFC 2046 section 5.1.1). */
const fromMultipart = (body: Uint8Array, contentType: string): Read => {
  const boundary = parseHeader(contentType)?.parameters.get("boundary") ?? ""
  if (boundary === "") return malformed
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  // One character per byte, so that positions in the text are positions in the body.
  const text = bytes.toString("latin1")
  const delimiter = `\r\n--${boundary}`
  // The first delimiter need not follow a line break.
  let next = text.startsWith(delimiter.slice(2)) ? 0 : text.indexOf(delimiter) + 2
  if (next === 1) return malformed
  const pairs: Array<readonly [string, string]> = []
  for (;;) {
    const start = next + delimiter.length - 2
    if (text.startsWith("--", start)) return Exit.succeed(pairs)
    const end = text.indexOf(delimiter, start)
    const content = text.indexOf("\r\n\r\n", start) + 4
    // If there is no further delimiter, `end` is -1.
    if (content === 3 || content > end || pairs.length === maxParameters) return malformed
    const field = parseField(text.slice(start, content - 4))
    if (field === null) return malformed
    if (field.isFile) return hasFile
    pairs.push([field.name, decode(bytes.subarray(content, end), field.charset)])
    next = end + 2
  }
}

interface Field {
  readonly name: string
  readonly isFile: boolean
  /** The field's character encoding; undefined means UTF-8. */
  readonly charset: string | undefined
}

/** Fast path: matches the head of a field as most clients write it. */
const plainField = /^\r\nContent-Disposition: form-data; name="([\x20\x21\x23-\x5b\x5d-\x7e]*)"$/i

const headerLine = /^([!#$%&'*+.^\w`|~-]+):([\t\x20-\x7e\x80-\xff]*)$/

/**
 * Reads the head of a part: the rest of the delimiter's line, and the headers. Returns null if the head is malformed.
 */
const parseField = (head: string): Field | null => {
  const plain = plainField.exec(head)?.[1]
  if (plain !== undefined) return { name: plain, isFile: false, charset: undefined }
  const [padding = "", ...lines] = head.split("\r\n")
  if (!/^[\t ]*$/.test(padding)) return null
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, name, value = ""] = headerLine.exec(line) ?? []
    if (name === undefined || headers.has(name.toLowerCase())) return null
    headers.set(name.toLowerCase(), value)
  }
  const disposition = parseHeader(headers.get("content-disposition") ?? "")
  const name = disposition?.parameters.get("name")
  if (disposition?.value !== "form-data" || name === undefined) return null
  const type = parseHeader(headers.get("content-type") ?? "")
  const { parameters } = disposition
  return {
    name: utf8.decode(Buffer.from(name, "latin1")),
    isFile: parameters.has("filename") || parameters.has("filename*") || type?.value === "application/octet-stream",
    charset: type?.parameters.get("charset")
  }
}

/** Matches a parameter of a header (RFC 9110 section 5.6.6). */
const headerParameter = /;[\t ]*([!#$%&'*+.^\w`|~-]+)[\t ]*=[\t ]*("(?:[^"\\]|\\[^])*"|[!#$%&'*+.^\w`|~-]+)[\t ]*/y

interface HeaderValue {
  /** The value in lower case. */
  readonly value: string
  /**
   * Parameters by lower-case name. Quoted values keep their backslashes, because browsers send backslashes unescaped.
   */
  readonly parameters: ReadonlyMap<string, string>
}

/** Reads a header value with parameters; null if it is malformed or a parameter is repeated. */
const parseHeader = (header: string): HeaderValue | null => {
  const [value = ""] = header.split(";", 1)
  const parameters = new Map<string, string>()
  for (let at = value.length; at < header.length; at = headerParameter.lastIndex) {
    headerParameter.lastIndex = at
    const [, name, text = ""] = headerParameter.exec(header) ?? []
    if (name === undefined || parameters.has(name.toLowerCase())) return null
    parameters.set(name.toLowerCase(), text.startsWith('"') ? text.slice(1, -1) : text)
  }
  return { value: value.trim().toLowerCase(), parameters }
}

const utf8 = new TextDecoder()

/** Decodes a text. Treats unknown encodings as UTF-8. */
const decode = (bytes: Uint8Array, charset: string | undefined): string => {
  if (charset === undefined) return utf8.decode(bytes)
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return utf8.decode(bytes)
  }
}
