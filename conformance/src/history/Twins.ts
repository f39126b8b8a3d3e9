/**
 * Events whose identities are nearly equal. Whatever key a receiver drops duplicates by, both of its parts (the
 * `webhook-id` and `resource_type` with `data.id`) differ in the same manner, unless a kind says otherwise.
 */
import { Schema } from "effect"
import { kindsOf } from "./KindsOf.ts"

const meanings = {
  everything_else_equal: "nothing different but their ids",
  last_character: "ids that differ in the last character",
  first_character: "ids that differ in the first characters",
  middle_character: "ids that differ in the middle",
  letter_case: "ids that differ in the case of a letter, data.id beyond 2^53 by one",
  beyond_double: "data.id 2^53 and 2^53 + 1",
  beyond_32_bits: "data.id that differ by 2^32",
  prefix: "one id the beginning of the other",
  other_type: "the same data.id under two resource types",
  same_hash_32: "webhook-ids that are one to 32 bits of SHA-256, MD5, FNV-1a, CRC-32 or String.hashCode",
  same_data_id: "another webhook-id, the same data.id",
  same_webhook_id: "another data.id, the same webhook-id"
} as const

export type TwinKind = keyof typeof meanings

const twinKinds = kindsOf(meanings)

export const TwinKind = Schema.Literals(twinKinds)

/** How many events there are of a kind: pairs, and one pair for each hash. */
export const countOf = (kind: TwinKind): number => (kind === "same_hash_32" ? 10 : 2)

/** How the twins are alike, in words. */
export const twinsInWords = (kind: TwinKind): string => meanings[kind]
