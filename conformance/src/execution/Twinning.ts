/**
 * Mints twins: events whose ids are nearly equal.
 */
import { eventIdPrefix } from "@doorhook/core"
import { Effect } from "effect"
import { hash } from "node:crypto"
import { accessLog, call } from "../history/Events.ts"
import { Minting } from "../history/Minting.ts"
import type { EventTemplate } from "../history/Template.ts"
import type { TwinKind } from "../history/Twins.ts"
import type { Actor, Execution } from "./Execution.ts"

/** Where an id differs from all others: after its prefix. */
const start = eventIdPrefix.length

const other = (character: string): string => (character === "1" ? "2" : "1")

const changeAt = (text: string, at: number): string => text.slice(0, at) + other(text[at] ?? "") + text.slice(at + 1)

/** The first letter after the prefix, in the other case. */
const changeCase = (text: string): string => {
  const at = text.slice(start).search(/[a-z]/) + start
  return at < start ? changeAt(text, start) : text.slice(0, at) + (text[at] ?? "").toUpperCase() + text.slice(at + 1)
}

interface Identity {
  readonly webhookId: string
  readonly dataId: string
}

const twinOf = (kind: TwinKind, { dataId, webhookId }: Identity): readonly [Identity, Identity] => {
  const id = Number(dataId)
  const one: Identity = { webhookId, dataId }
  switch (kind) {
    case "last_character":
      return [one, { webhookId: changeAt(webhookId, webhookId.length - 1), dataId: String(id + 1) }]
    case "first_character":
      return [
        one,
        {
          webhookId: changeAt(webhookId, start),
          dataId: String(id + (id < 1_000_000_000 ? 1_000_000_000 : -1_000_000_000))
        }
      ]
    case "middle_character":
      return [one, { webhookId: changeAt(webhookId, webhookId.length >> 1), dataId: String(id + 10_000_000) }]
    case "letter_case":
    case "beyond_double": {
      // Of the numbers above 2^53 the even ones are doubles. The odd one after a multiple of four is rounded down to it.
      const even = 2 ** 53 + 4 * (id % 1_000_000_000)
      const odd = `${BigInt(even) + 1n}`
      const twin = kind === "letter_case" ? changeCase(webhookId) : changeAt(webhookId, webhookId.length - 2)
      return [
        { webhookId, dataId: String(BigInt(even)) },
        { webhookId: twin, dataId: odd }
      ]
    }
    case "beyond_32_bits":
      return [one, { webhookId: changeAt(webhookId, webhookId.length - 3), dataId: String(id + 2 ** 32) }]
    case "prefix":
      return [one, { webhookId: `${webhookId}0`, dataId: `${dataId}0` }]
    case "leading_zero":
      // Without doorhook's own prefix, which keeps its ids from being read as numbers.
      return [
        { webhookId: dataId, dataId },
        { webhookId: `0${dataId}`, dataId: String(id + 1) }
      ]
    case "punctuation": {
      const [head, tail] = [webhookId.slice(0, -8), webhookId.slice(-8)]
      return [
        { webhookId: `${head}-${tail}`, dataId },
        { webhookId: `${head}_${tail}`, dataId: String(id + 1) }
      ]
    }
    case "same_data_id":
      return [one, { webhookId: changeAt(webhookId, webhookId.length - 1), dataId }]
    case "same_webhook_id":
      return [one, { webhookId, dataId: String(id + 1) }]
    default:
      return [one, { webhookId: changeAt(webhookId, webhookId.length - 4), dataId: String(id + 1) }]
  }
}

/** The first pair of equal 32 bits is found after some 80,000 candidates; hardly ever are this many in vain. */
const candidates = 400_000
const candidatesAtOnce = 1_000

const first32Bits = (algorithm: string) => (text: string) =>
  Number.parseInt(hash(algorithm, text, "hex").slice(0, 8), 16)

const fnv1a = (text: string): number => {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value
}

/** Candidates differ in eight characters: FNV-1a has no two ids alike that differ in the last four alone. */
const four = 36 ** 4
const spread = 7_919
const digits = (number: number): string => number.toString(36).padStart(4, "0")

/** Two ids with the same hash; null when chance has none. */
const collision = Effect.fnUntraced(function* (stem: string, digest: (text: string) => number) {
  const idOf = (at: number): string => stem + digits(at) + digits((at * spread) % four)
  const seen = new Map<number, number>()
  for (let from = 0; from < candidates; from += candidatesAtOnce) {
    for (let at = from; at < from + candidatesAtOnce; at++) {
      const value = digest(idOf(at))
      const known = seen.get(value)
      if (known !== undefined) return [idOf(known), idOf(at)] as const
      seen.set(value, at)
    }
    yield* Effect.yieldNow
  }
  return null
})

/** Endings that make no difference, whatever stands before them: to CRC-32, and to Java's `String.hashCode`. */
const sameEndings = [
  ["0xdhqnv1", "dtbp0059"],
  ["an", "c0"]
] as const

const colliding = Effect.fnUntraced(function* (execution: Execution, template: EventTemplate) {
  const minting = yield* Minting
  const actors: Array<Actor> = []
  const mint = Effect.fnUntraced(function* (webhookId: string) {
    actors.push(yield* execution.mint(template, { webhookId }))
  })
  for (const digest of [first32Bits("sha256"), first32Bits("md5"), fnv1a]) {
    const fresh = yield* minting.webhookId
    const ids = yield* collision(fresh.slice(0, -8), digest)
    yield* Effect.forEach(ids ?? [fresh, changeAt(fresh, fresh.length - 1)], mint, { discard: true })
  }
  for (const endings of sameEndings) {
    const fresh = yield* minting.webhookId
    yield* Effect.forEach(endings, (ending) => mint(fresh.slice(0, -ending.length) + ending), { discard: true })
  }
  return actors
})

/** Mints twins of a kind: equal in everything but what the kind says. */
export const mintTwins = Effect.fnUntraced(function* (execution: Execution, template: EventTemplate, kind: TwinKind) {
  if (kind === "same_hash_32") return yield* colliding(execution, template)
  const minting = yield* Minting
  const guid = yield* minting.guid
  const dataId = String(yield* minting.dataId)
  // The next number is the twin's, and must not be given to another event.
  yield* minting.dataId
  const webhookId = yield* minting.webhookId
  const now = Date.parse("2026-03-02T08:00:00Z") + (Number(dataId) % 1_000_000)
  if (kind === "other_type") {
    const twin = yield* minting.webhookId
    return [
      yield* execution.mint(template, { webhookId, dataId, guid, now }),
      yield* execution.mint(template.resource_type === call.resource_type ? accessLog : call, {
        webhookId: twin,
        dataId,
        guid,
        now
      })
    ]
  }
  const [one, two] = twinOf(kind, { dataId, webhookId })
  return [
    yield* execution.mint(template, { ...one, guid, now }),
    yield* execution.mint(template, { ...two, guid, now })
  ]
})
