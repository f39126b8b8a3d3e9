/**
 * Events whose identities are nearly equal. Whatever key a receiver drops duplicates by, both of its parts (the
 * `webhook-id` and `resource_type` with `data.id`) differ in the same manner, unless a kind says otherwise.
 */
import { eventIdPrefix } from "@doorhook/core"
import { Schema, Struct } from "effect"

interface Identity {
  readonly webhookId: string
  readonly dataId: string
  /** Whether its resource type is the other one. */
  readonly otherType?: true
}

/** The identity that twins are made from, and another webhook-id that no event had before. */
interface Fresh extends Identity {
  readonly other: string
}

interface TwinKindRow {
  readonly words: string
  readonly count: number
  /** The identities of a pair; null where they have to be searched for (`execution/Twinning.ts`). */
  readonly make: ((fresh: Fresh) => readonly [Identity, Identity]) | null
}

/** Another character in one place of an id, counted from its end where that is negative. */
export const changeAt = (text: string, place: number): string => {
  const at = place < 0 ? text.length + place : place
  return text.slice(0, at) + (text[at] === "1" ? "2" : "1") + text.slice(at + 1)
}

/** Where an id differs from all others: after its prefix. */
const start = eventIdPrefix.length

/** The first letter after the prefix, in the other case. */
const changeCase = (text: string): string => {
  const at = text.slice(start).search(/[a-z]/) + start
  return at < start ? changeAt(text, start) : text.slice(0, at) + (text[at] ?? "").toUpperCase() + text.slice(at + 1)
}

const plus =
  (more: number) =>
  (dataId: string): string =>
    String(Number(dataId) + more)

/** Of the numbers above 2^53 the even ones are doubles. The odd one after a multiple of four is rounded down to it. */
const beyondDouble = (dataId: string): readonly [even: string, odd: string] => {
  const even = BigInt(2 ** 53 + 4 * (Number(dataId) % 1_000_000_000))
  return [String(even), String(even + 1n)]
}

const pair = (words: string, make: TwinKindRow["make"]): TwinKindRow => ({ words, count: 2, make })

/** Twins of which one is as any event, and the other's webhook-id differs in one place. */
const near = (words: string, at: number, twin: (dataId: string) => string): TwinKindRow =>
  pair(words, ({ dataId, webhookId }) => [
    { webhookId, dataId },
    { webhookId: changeAt(webhookId, at), dataId: twin(dataId) }
  ])

const billion = 1_000_000_000

export const twins = {
  everything_else_equal: near("nothing different but their ids", -4, plus(1)),
  last_character: near("ids that differ in the last character", -1, plus(1)),
  first_character: near("ids that differ in the first characters", start, (dataId) =>
    plus(Number(dataId) < billion ? billion : -billion)(dataId)
  ),
  middle_character: near("ids that differ in the middle", start + 12, plus(10_000_000)),
  letter_case: pair("ids that differ in the case of a letter, data.id beyond 2^53 by one", ({ dataId, webhookId }) => {
    const [even, odd] = beyondDouble(dataId)
    return [
      { webhookId, dataId: even },
      { webhookId: changeCase(webhookId), dataId: odd }
    ]
  }),
  beyond_double: pair("data.id 2^53 and 2^53 + 1", ({ dataId, webhookId }) => {
    const [even, odd] = beyondDouble(dataId)
    return [
      { webhookId, dataId: even },
      { webhookId: changeAt(webhookId, -2), dataId: odd }
    ]
  }),
  beyond_32_bits: near("data.id that differ by 2^32", -3, plus(2 ** 32)),
  prefix: pair("one id the beginning of the other", ({ dataId, webhookId }) => [
    { webhookId, dataId },
    { webhookId: `${webhookId}0`, dataId: `${dataId}0` }
  ]),
  // Without doorhook's own prefix, which keeps its ids from being read as numbers.
  leading_zero: pair("webhook-ids that read as one number, or that differ in a leading zero", ({ dataId }) => [
    { webhookId: dataId, dataId },
    { webhookId: `0${dataId}`, dataId: plus(1)(dataId) }
  ]),
  punctuation: pair("webhook-ids that are one without _ and -", ({ dataId, webhookId }) => [
    { webhookId: `${webhookId.slice(0, -8)}-${webhookId.slice(-8)}`, dataId },
    { webhookId: `${webhookId.slice(0, -8)}_${webhookId.slice(-8)}`, dataId: plus(1)(dataId) }
  ]),
  other_type: pair("the same data.id under two resource types", ({ dataId, other, webhookId }) => [
    { webhookId, dataId },
    { webhookId: other, dataId, otherType: true }
  ]),
  same_hash_32: {
    words: "webhook-ids that are one to 32 bits of SHA-256, MD5, FNV-1a, CRC-32 or String.hashCode",
    count: 10,
    make: null
  },
  same_data_id: near("another webhook-id, the same data.id", -1, plus(0)),
  same_webhook_id: pair("another data.id, the same webhook-id", ({ dataId, webhookId }) => [
    { webhookId, dataId },
    { webhookId, dataId: plus(1)(dataId) }
  ])
} satisfies Readonly<Record<string, TwinKindRow>>

export type TwinKind = keyof typeof twins
export const TwinKind = Schema.Literals(Struct.keys(twins))
