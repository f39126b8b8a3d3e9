/**
 * Bodies that are JSON text.
 */
import { Effect } from "effect"
import { readText } from "./RequestBody.ts"
import { failure } from "./RequestFailure.ts"

const notJson = failure(400, { code: "bad_request", title: "Not JSON", detail: "The body is not JSON." })

/** The value of a JSON text. */
export const parseJson = (text: string) => Effect.try({ try: (): unknown => JSON.parse(text), catch: () => notJson })

/** The value of a body of at most `limit` bytes. */
export const readJson = (limit: number) => Effect.flatMap(readText(limit), parseJson)
