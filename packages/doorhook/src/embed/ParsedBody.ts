/**
 * Restores request bodies that a body parser in front of doorhook, like Express's, has already read.
 *
 * A parser keeps the values of a body, not its text. Values in an event's `data` that JavaScript can't represent, like
 * numbers with twenty digits, are therefore lost. A host that publishes over HTTP should mount doorhook before its
 * parsers.
 */
import type { ReadBody } from "@doorhook/server"
import { Predicate } from "effect"
import type { IncomingMessage } from "node:http"
import { DoorhookError } from "../DoorhookError.ts"

const lost = (): DoorhookError =>
  new DoorhookError(
    "body_consumed",
    "Something read the request's body before doorhook and did not keep it in request.body. Mount doorhook.node earlier."
  )

/** Flattens a form's fields. Parsers produce texts, lists of texts, and (for names with brackets) objects of these. */
const fieldsOf = (name: string, value: unknown): Array<[string, string]> => {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOf(name, item))
  if (Predicate.isObject(value)) {
    return Object.entries(value).flatMap(([inner, item]) => fieldsOf(name === "" ? inner : `${name}[${inner}]`, item))
  }
  return value === undefined || value === null
    ? []
    : [[name, Predicate.isString(value) ? value : JSON.stringify(value)]]
}

const form = "application/x-www-form-urlencoded"

const encoder = new TextEncoder()

/** Encodes a parsed body again, and returns the bytes and their media type. */
const encodeAs = (type: string, body: unknown): ReadBody => {
  if (body instanceof Uint8Array) return { type, content: body }
  if (Predicate.isString(body)) return { type, content: encoder.encode(body) }
  const essence = type.split(";")[0]?.trim().toLowerCase()
  // Parsers produce the same fields for both kinds of forms, and the URL-encoded kind is easier to write.
  if (essence === form || essence === "multipart/form-data") {
    return {
      type: form,
      content: encoder.encode(new URLSearchParams(fieldsOf("", body)).toString())
    }
  }
  return { type, content: encoder.encode(JSON.stringify(body)) }
}

/**
 * Returns the body that a parser kept; null if the body has not been read. Throws a `DoorhookError` if the body was
 * read and not kept.
 */
export const parsedBodyOf = (request: IncomingMessage): ReadBody | null => {
  if (!request.readableDidRead) return null
  if (!Predicate.hasProperty(request, "body") || request.body === undefined) throw lost()
  return encodeAs(request.headers["content-type"] ?? "", request.body)
}
