/**
 * Reads documents in request bodies, and the idempotency key of a request.
 */
import type { Problem } from "@doorhook/core"
import { InvalidInput, missingMember, readIdempotencyKey, schemaProblems } from "@doorhook/core"
import { Array, Effect, Exit, Schema } from "effect"
import type { Exchange } from "./Exchange.ts"
import { readText } from "./Exchange.ts"
import type { BodyError, RequestFailure } from "./Failures.ts"
import { failure } from "./Failures.ts"

const notJson = failure(400, { code: "bad_request", title: "Not JSON", detail: "The body is not JSON." })

/** Parses a JSON text. */
export const parseJson = (body: string): Exit.Exit<unknown, RequestFailure> => {
  try {
    const value: unknown = JSON.parse(body)
    return Exit.succeed(value)
  } catch {
    return Exit.fail(notJson)
  }
}

/** Reads a JSON body of at most `limit` bytes. */
export const readJson = (x: Exchange, limit: number): Effect.Effect<unknown, BodyError | RequestFailure> =>
  Effect.flatMap(readText(x, limit), parseJson)

/**
 * Makes a problem's pointer refer to an existing value in the request (JSON:API 1.1 section 11). If a member is
 * missing, the pointer refers to the object that lacks it.
 */
const reachable = ({ detail, pointer }: Problem): Problem => {
  if (detail !== missingMember) return { pointer, detail }
  const at = pointer.lastIndexOf("/")
  return { pointer: pointer.slice(0, at), detail: `\`${pointer.slice(at + 1)}\` ${missingMember}` }
}

/**
 * Decodes a document with a schema. The failure lists all problems under `title`. Unknown members are ignored unless
 * `onExcessProperty` is "error".
 */
export const decodeDocument = <A>(
  schema: Schema.Codec<A, unknown>,
  title: string,
  value: unknown,
  onExcessProperty: "ignore" | "error" = "ignore"
): Effect.Effect<A, InvalidInput> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(schema)(value, { errors: "all", onExcessProperty }),
    (error) => new InvalidInput({ title, problems: Array.map(schemaProblems(error), reachable) })
  )

/** Reads the `Idempotency-Key` of a request; null without one. */
export const idempotencyKeyOf = (x: Pick<Exchange, "header">) => {
  const text = x.header("idempotency-key")
  return text === undefined ? Exit.succeed(null) : Effect.fromResult(readIdempotencyKey(text))
}
