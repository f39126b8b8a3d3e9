/**
 * Events whose identities are nearly equal. Whatever key a receiver drops duplicates by, both of its parts (the
 * `webhook-id` and `resource_type` with `data.id`) differ in the same manner, unless a kind says otherwise.
 * How each pair is minted is `execution/Twinning.ts`.
 */
import { Schema } from "effect"
import { kindsOf } from "./KindsOf.ts"

interface Kind {
  readonly words: string
  readonly count: number
}

const pair = (words: string): Kind => ({ words, count: 2 })

export const twins = {
  everything_else_equal: pair("nothing different but their ids"),
  last_character: pair("ids that differ in the last character"),
  first_character: pair("ids that differ in the first characters"),
  middle_character: pair("ids that differ in the middle"),
  letter_case: pair("ids that differ in the case of a letter, data.id beyond 2^53 by one"),
  beyond_double: pair("data.id 2^53 and 2^53 + 1"),
  beyond_32_bits: pair("data.id that differ by 2^32"),
  prefix: pair("one id the beginning of the other"),
  leading_zero: pair("webhook-ids that read as one number, or that differ in a leading zero"),
  punctuation: pair("webhook-ids that are one without _ and -"),
  other_type: pair("the same data.id under two resource types"),
  same_hash_32: {
    words: "webhook-ids that are one to 32 bits of SHA-256, MD5, FNV-1a, CRC-32 or String.hashCode",
    count: 10
  },
  same_data_id: pair("another webhook-id, the same data.id"),
  same_webhook_id: pair("another data.id, the same webhook-id")
} satisfies Readonly<Record<string, Kind>>

export type TwinKind = keyof typeof twins
export const TwinKind = Schema.Literals(kindsOf(twins))
