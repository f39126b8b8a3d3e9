/**
 * The digest of JSON in its canonical form (RFC 8785): what a probe answers for the data that a receiver stored.
 */
import { Crypto } from "@doorhook/core"
import { Effect } from "effect"
import { canonical } from "./Canonical.ts"
import { exactCanonical } from "./ExactJson.ts"

const encoder = new TextEncoder()

const sha256 = (text: string): Effect.Effect<string, never, Crypto> =>
  Crypto.use((crypto) =>
    Effect.map(
      crypto.sha256(encoder.encode(text)),
      (hash) => `sha256:${Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`
    )
  )

/** `sha256:HEX` of the canonical form of a JSON text. Numbers are IEEE doubles in it. */
export const digestOf = (text: string): Effect.Effect<string, never, Crypto> =>
  Effect.suspend(() => sha256(canonical(JSON.parse(text))))

/** The same with every digit of its numbers; null where no number is longer than a double holds. */
export const exactDigestOf = (text: string): Effect.Effect<string | null, never, Crypto> =>
  Effect.suspend(() => {
    const exact = exactCanonical(text)
    return exact === null ? Effect.succeed(null) : sha256(exact)
  })
