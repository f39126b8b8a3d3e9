/**
 * Requests that are not genuine, or no events: what is wrong with each.
 */
import { Schema } from "effect"
import { kindsOf } from "./KindsOf.ts"

const forgeries = {
  missing: "without a signature",
  no_timestamp: "signed, without a timestamp",
  empty_timestamp: "signed, with an empty timestamp",
  no_id: "signed, without a webhook-id",
  empty_id: "signed, with an empty webhook-id",
  bare: "without signature, timestamp and webhook-id",
  empty: "with an empty signature",
  random: "with a random signature",
  other_secret: "signed with another secret",
  empty_secret: "signed with an empty secret",
  truncated: "with half of the good signature",
  lengthened: "with the good signature and more behind it",
  first_byte: "with a signature whose first byte is wrong",
  last_byte: "with a signature whose last byte is wrong",
  other_case: "with the good signature in the other case",
  version_0: "with the good signature under version v0",
  version_1a: "with the good signature under version v1a",
  version_none: "with the good signature without a version",
  version_word: "with the signature «none»",
  other_id: "with the signature of another webhook-id",
  other_timestamp: "with the signature of another timestamp",
  other_body: "with the signature of another body",
  changed_body: "with another name in data than what was signed",
  added_space: "with a space added to the signed body",
  two_wrong: "with two wrong signatures",
  past: "signed ten minutes ago",
  future: "signed ten minutes ahead",
  past_soon: "signed five and a half minutes ago",
  future_soon: "signed five and a half minutes ahead",
  no_number: "signed, with a timestamp that is no number"
} as const

export type Forgery = keyof typeof forgeries
export const Forgery = Schema.Literals(kindsOf(forgeries))
export const forgeryInWords = (kind: Forgery): string => forgeries[kind]

const malformations = {
  truncated: "cut in the middle, with the length to match",
  unclosed: "without its last brace",
  trailing: "with more text behind it",
  single_quotes: "with single quotes"
} as const

export type Malformation = keyof typeof malformations
export const malformationKinds = kindsOf(malformations)
export const Malformation = Schema.Literals(malformationKinds)
export const malformationInWords = (kind: Malformation): string => malformations[kind]
