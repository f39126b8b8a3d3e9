/**
 * How keys that operators choose are compared with what requests present.
 */
import { constantTimeEquals, Crypto } from "@doorhook/core"
import { Effect, Redacted } from "effect"

const encoder = new TextEncoder()

/**
 * Compares what a request presents with a key, in a time that says nothing of either: equally long hashes are compared,
 * not the texts. An empty text is never the key, even where the key is empty.
 */
export const makeKeyCheck = Effect.fnUntraced(function* (key: Redacted.Redacted) {
  const crypto = yield* Crypto
  const expected = yield* crypto.sha256(encoder.encode(Redacted.value(key)))
  return Effect.fnUntraced(function* (presented: string) {
    return presented.trim() !== "" && constantTimeEquals(yield* crypto.sha256(encoder.encode(presented)), expected)
  })
})
