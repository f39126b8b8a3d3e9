/**
 * The digest of JSON in its canonical form (RFC 8785): what a probe answers for the data that a receiver stored.
 */
import { Effect } from "effect"
import { Crypto } from "@doorhook/core"
import { canonical } from "./Canonical.ts"

/** The canonical form of a JSON text. Numbers are IEEE doubles in it. */
const canonicalJson = (text: string): string => canonical(JSON.parse(text))

const encoder = new TextEncoder()

/** `sha256:HEX` of the canonical form of a JSON text. */
export const digestOf = (text: string): Effect.Effect<string, never, Crypto> =>
  Crypto.use((crypto) =>
    Effect.map(
      crypto.sha256(encoder.encode(canonicalJson(text))),
      (hash) => `sha256:${Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`
    )
  )
