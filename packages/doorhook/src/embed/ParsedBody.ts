/**
 * Requests whose body something in front of doorhook has read already, as the body parsers of Express do, and what can be
 * made of what they left behind.
 *
 * What a parser left is the meaning of a body and not its text: the members of an event's `data` that JavaScript can't hold,
 * like numbers of twenty digits, are gone by then. A host that publishes over HTTP mounts doorhook before its parsers.
 */
import type { ReadBody } from "@doorhook/server"
import { Predicate } from "effect"
import type { IncomingMessage } from "node:http"
import { DoorhookError } from "../DoorhookError.ts"

const lost = (): DoorhookError =>
  new DoorhookError(
    "body_consumed",
    "Something in front of doorhook read the request's body and left nothing of it in request.body. Mount doorhook.node before it."
  )

/** A form's fields, as parsers read them: texts, lists of texts, and with brackets in their names objects of these. */
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

/** A body as bytes, with the type that it has now. */
const encodeAs = (type: string, body: unknown): ReadBody => {
  if (body instanceof Uint8Array) return { type, content: body }
  if (Predicate.isString(body)) return { type, content: encoder.encode(body) }
  const essence = type.split(";")[0]?.trim().toLowerCase()
  // Parsers of multipart forms leave the same fields as those of the other kind of form, which is easier to write.
  if (essence === form || essence === "multipart/form-data") {
    return {
      type: form,
      content: encoder.encode(new URLSearchParams(fieldsOf("", body)).toString())
    }
  }
  return { type, content: encoder.encode(JSON.stringify(body)) }
}

/**
 * What was in the body; null when it has not been read yet. Throws a `DoorhookError` when it was read and is nowhere to be found.
 */
export const parsedBodyOf = (request: IncomingMessage): ReadBody | null => {
  if (!request.readableDidRead) return null
  if (!Predicate.hasProperty(request, "body") || request.body === undefined) throw lost()
  return encodeAs(request.headers["content-type"] ?? "", request.body)
}
