/**
 * A parameter of a scenario: what it means, what it is when it is left out, and how that is known.
 */
import { Schema } from "effect"

/** The key under which the JSON Schema says where a default comes from. */
export const sourceKey = "x-source"

/** For what nobody has published figures on. */
export const assumed = "assumed; no public figures exist"

/** A member that can be left out. `usual` is what it is then; undefined where that depends on other members. */
export const parameter = <A>(
  schema: Schema.Codec<A>,
  usual: NoInfer<A> | undefined,
  description: string,
  source: string = assumed
) =>
  Schema.optionalKey(
    schema.annotate({ description, [sourceKey]: source, ...(usual !== undefined && { default: usual }) })
  )
