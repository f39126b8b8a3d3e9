/**
 * Documents in request bodies, and the header by which a request is carried out once.
 */
import type { Problem } from "@doorhook/core"
import { InvalidInput, missingMember, readIdempotencyKey, schemaProblems } from "@doorhook/core"
import { Array, Effect, Exit, Schema } from "effect"
import type { Exchange } from "./Exchange.ts"
import { readText } from "./Exchange.ts"
import type { BodyError, RequestFailure } from "./Failures.ts"
import { failure } from "./Failures.ts"

const notJson = failure(400, { code: "bad_request", title: "Not JSON", detail: "The body is not JSON." })

/** The value of a JSON text. */
export const parseJson = (body: string): Exit.Exit<unknown, RequestFailure> => {
  try {
    const value: unknown = JSON.parse(body)
    return Exit.succeed(value)
  } catch {
    return Exit.fail(notJson)
  }
}

/** The value of a JSON body of at most `limit` bytes. */
export const readJson = (x: Exchange, limit: number): Effect.Effect<unknown, BodyError | RequestFailure> =>
  Effect.flatMap(readText(x, limit), parseJson)

/** A pointer leads to what the request has (JSON:API 1.1 section 11): where a member is missing, to what lacks it. */
const reachable = ({ detail, pointer }: Problem): Problem => {
  if (detail !== missingMember) return { pointer, detail }
  const at = pointer.lastIndexOf("/")
  return { pointer: pointer.slice(0, at), detail: `\`${pointer.slice(at + 1)}\` ${missingMember}` }
}

/**
 * Reads a document by a schema, or fails with each of its problems under a title. Unknown members are ignored, unless they
 * count as errors.
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

/** The `Idempotency-Key` of a request; null without one. */
export const idempotencyKeyOf = (x: Pick<Exchange, "header">) => {
  const text = x.header("idempotency-key")
  return text === undefined ? Exit.succeed(null) : Effect.fromResult(readIdempotencyKey(text))
}
