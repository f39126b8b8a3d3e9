/**
 * Requests that are not genuine, or no events: one row for each kind, with its words and how strongly a receiver must
 * refuse it. How each is made is `execution/Forging.ts`.
 */
import { Schema } from "effect"
import { kindsOf } from "./KindsOf.ts"

/** A breach of a MUST is FAIL, of a SHOULD WARN. */
export type Strength = "MUST" | "SHOULD"

interface Kind {
  readonly words: string
  readonly strength: Strength
}

const must = (words: string): Kind => ({ words, strength: "MUST" })
/** Nobody without the secret can send it, or the interface names no number for it. */
const should = (words: string): Kind => ({ words, strength: "SHOULD" })

export const forgeries = {
  missing: must("without a signature"),
  no_timestamp: must("signed, without a timestamp"),
  empty_timestamp: must("signed, with an empty timestamp"),
  no_id: must("signed, without a webhook-id"),
  empty_id: must("signed, with an empty webhook-id"),
  bare: must("without signature, timestamp and webhook-id"),
  empty: must("with an empty signature"),
  random: must("with a random signature"),
  other_secret: must("signed with another secret"),
  empty_secret: must("signed with an empty secret"),
  truncated: must("with half of the good signature"),
  lengthened: should("with the good signature and more text behind it"),
  first_byte: must("with a signature whose first byte is wrong"),
  last_byte: must("with a signature whose last byte is wrong"),
  other_case: must("with the good signature in the other case"),
  version_0: must("with the good signature under version v0"),
  version_1a: must("with the good signature under version v1a"),
  version_none: must("with the good signature without a version"),
  version_word: must("with the signature «none»"),
  other_id: must("with the signature of another webhook-id"),
  other_timestamp: must("with the signature of another timestamp"),
  other_body: must("with the signature of another body"),
  changed_body: must("with another name in data than what was signed"),
  added_space: must("with a space added to the signed body"),
  two_wrong: must("with two wrong signatures"),
  past: should("signed twice the tolerance ago"),
  future: should("signed twice the tolerance ahead"),
  past_soon: should("signed a little more than the tolerance ago"),
  future_soon: should("signed a little more than the tolerance ahead"),
  no_number: must("signed, with a timestamp that is no number")
} satisfies Readonly<Record<string, Kind>>

export type Forgery = keyof typeof forgeries
export const Forgery = Schema.Literals(kindsOf(forgeries))
export const forgeryInWords = (kind: Forgery): string => forgeries[kind].words

/**
 * How a forged request comes: by itself in a small body; in chunks; in a body above 64 KiB; over a connection that has
 * just carried a genuine request. A receiver may check only what its raw-body hook sees.
 */
export const carriers = {
  plain: "",
  chunked: ", in chunks",
  large: ", in a body above 64 KiB",
  kept: ", over the connection of a genuine request"
} as const
export type Carrier = keyof typeof carriers
export const Carrier = Schema.Literals(kindsOf(carriers))

export const malformations = {
  truncated: must("cut in the middle, with the length to match"),
  unclosed: must("without its last brace"),
  trailing: should("with more text behind it"),
  single_quotes: must("with single quotes")
} satisfies Readonly<Record<string, Kind>>

export type Malformation = keyof typeof malformations
const malformationKinds = kindsOf(malformations)
export const Malformation = Schema.Literals(malformationKinds)
export const malformationInWords = (kind: Malformation): string => malformations[kind].words
