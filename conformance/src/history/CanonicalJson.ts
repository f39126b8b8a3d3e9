/**
 * The canonical form of JSON (RFC 8785) and its digest: what a probe answers for the data that a receiver stored.
 */
import { Effect } from "effect"
import { Crypto } from "@doorhook/core"

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The canonical form of a value that JSON can hold. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  // ECMAScript writes strings and numbers as RFC 8785 sections 3.2.2.2 and 3.2.2.3 ask for.
  if (!isObject(value)) return JSON.stringify(value)
  // Sorted by UTF-16 code units (section 3.2.3), which is how `sort` compares.
  const members = Object.keys(value).toSorted()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`
}

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
