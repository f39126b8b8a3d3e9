/**
 * Mints twins: events whose ids are nearly equal, or whose hashes are.
 */
import { Effect } from "effect"
import { accessLog, call } from "../history/Events.ts"
import type { EventTemplate } from "../history/Events.ts"
import { hashOf } from "../history/Json.ts"
import { Minting } from "../history/Minting.ts"
import { changeAt, twins } from "../history/Twins.ts"
import type { TwinKind } from "../history/Twins.ts"
import { mint } from "./Execution.ts"
import type { Actor, Execution } from "./Execution.ts"

/** The first pair of equal 32 bits is found after some 80,000 candidates; hardly ever are this many in vain. */
const candidates = 400_000
const candidatesAtOnce = 1_000

const first32Bits = (algorithm: string) => (text: string) => Number.parseInt(hashOf(algorithm, text).slice(0, 8), 16)

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
  const add = Effect.fnUntraced(function* (webhookId: string) {
    actors.push(yield* mint(execution, template, { webhookId }))
  })
  for (const digest of [first32Bits("sha256"), first32Bits("md5"), fnv1a]) {
    const fresh = yield* minting.webhookId
    const ids = yield* collision(fresh.slice(0, -8), digest)
    yield* Effect.forEach(ids ?? [fresh, changeAt(fresh, -1)], add, { discard: true })
  }
  for (const endings of sameEndings) {
    const fresh = yield* minting.webhookId
    yield* Effect.forEach(endings, (ending) => add(fresh.slice(0, -ending.length) + ending), { discard: true })
  }
  return actors
})

/** Mints twins of a kind: equal in everything but what the kind says. */
export const mintTwins = Effect.fnUntraced(function* (execution: Execution, template: EventTemplate, kind: TwinKind) {
  const { make } = twins[kind]
  if (make === null) return yield* colliding(execution, template)
  const minting = yield* Minting
  const guid = yield* minting.guid
  const dataId = String(yield* minting.dataId)
  // The next number is the twin's, and must not be given to another event.
  yield* minting.dataId
  const now = Date.parse("2026-03-02T08:00:00Z") + (Number(dataId) % 1_000_000)
  const pair = make({ dataId, webhookId: yield* minting.webhookId, other: yield* minting.webhookId })
  return yield* Effect.forEach(pair, ({ otherType, ...ids }) => {
    const other = template.resource_type === call.resource_type ? accessLog : call
    return mint(execution, otherType === true ? other : template, { ...ids, guid, now })
  })
})
