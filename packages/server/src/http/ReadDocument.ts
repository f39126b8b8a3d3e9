/**
 * Reads documents of requests to the operator API, and says all that is wrong with one.
 */
import { missingMember, schemaProblems } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { unprocessable } from "./KnownFailures.ts"

/** A pointer leads to what the request has (JSON:API 1.1 section 11): where a member is missing, to what lacks it. */
const reachable = ({ detail, pointer }: { readonly pointer: string; readonly detail: string }) => {
  if (detail !== missingMember) return { pointer, detail }
  const at = pointer.lastIndexOf("/")
  return { pointer: pointer.slice(0, at), detail: `\`${pointer.slice(at + 1)}\` ${missingMember}` }
}

/**
 * Reads a value, or fails with each problem of it under a title. A member that the schema does not have is overlooked, unless it
 * counts as an error.
 */
export const readDocument = <A>(
  schema: Schema.Codec<A, unknown>,
  title: string,
  value: unknown,
  onExcessProperty: "ignore" | "error" = "ignore"
) =>
  Schema.decodeUnknownEffect(schema)(value, { errors: "all", onExcessProperty }).pipe(
    Effect.mapError((error) => unprocessable(title, schemaProblems(error).map(reachable)))
  )
