/**
 * Events whose identities are nearly equal. Whatever key a receiver drops duplicates by, both of its parts (the
 * `webhook-id` and `resource_type` with `data.id`) differ in the same manner, unless a kind says otherwise.
 */
import { Schema } from "effect"
import { kindsOf } from "./KindsOf.ts"

const meanings = {
  everything_else_equal: "equal in everything but their ids",
  last_character: "ids that differ in the last character",
  first_character: "ids that differ in the first characters",
  middle_character: "ids that differ in the middle",
  letter_case: "ids that differ in the case of a letter, data.id beyond 2^53 by one",
  beyond_double: "data.id 2^53 and 2^53 + 1",
  beyond_32_bits: "data.id that differ by 2^32",
  prefix: "one id the beginning of the other",
  other_type: "the same data.id under two resource types",
  same_hash_32: "webhook-ids whose SHA-256, MD5 or CRC-32 begin with the same 32 bits",
  same_data_id: "another webhook-id, the same data.id",
  same_webhook_id: "another data.id, the same webhook-id"
} as const

export type TwinKind = keyof typeof meanings

export const twinKinds = kindsOf(meanings)

export const TwinKind = Schema.Literals(twinKinds)

/** How the twins are alike, in words. */
export const twinsInWords = (kind: TwinKind): string => meanings[kind]
