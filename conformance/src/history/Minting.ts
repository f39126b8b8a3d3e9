/**
 * Makes an event of a template: gives it identifiers that no event had before, like those of production.
 */
import { Crypto, isoOf, makeEventId } from "@doorhook/core"
import { Clock, Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { digestOf, exactDigestOf, object, string } from "./Json.ts"
import type { EventTemplate } from "./Events.ts"
import { minted, bodyOf } from "./Events.ts"

export interface MintedEvent {
  readonly template: EventTemplate
  readonly webhook_id: string
  /** Raw JSON text of `data.id`; empty where the template has none. */
  readonly data_id: string
  /** The body with every value filled in. */
  readonly filled: EventTemplate
  readonly body: string
  /** `sha256:HEX` of the RFC 8785 form of the data. */
  readonly digest: string
  /** The same with every digit of its numbers kept; null where no number is longer than a double holds. */
  readonly exactDigest: string | null
}

/** What of an event is not to be made up. */
export interface Given {
  readonly webhookId?: string
  readonly dataId?: string
  readonly guid?: string
  readonly now?: number
}

/** `data.id` begins somewhere in this range: below 2^31, because receivers keep it in columns of 32 bits. */
const firstDataId = 100_000_000
const lastDataId = 2_000_000_000

/** This is added where `data.id` is to be longer than 32 bits. */
const beyond32Bits = 2 ** 33

export class Minting extends Context.Service<
  Minting,
  {
    readonly mint: (template: EventTemplate, given?: Given) => Effect.Effect<MintedEvent>
    /** A fresh `webhook-id`. */
    readonly webhookId: Effect.Effect<string>
    /** A fresh `data.id`. */
    readonly dataId: Effect.Effect<number>
    readonly guid: Effect.Effect<string>
    /** Every `webhook-id` that was handed out so far. */
    readonly handedOut: Effect.Effect<ReadonlySet<string>>
  }
>()("@doorhook/conformance/history/Minting") {
  /** Counts `data.id` up from a random place, as a database would. */
  static readonly layer: Layer.Layer<Minting, never, Crypto> = Layer.effect(
    Minting,
    Effect.gen(function* () {
      const crypto = yield* Crypto
      const random = new DataView(crypto.randomBytes(4).slice().buffer).getUint32(0)
      let counter = firstDataId + (random % (lastDataId - firstDataId))
      const dataId = Effect.sync(() => ++counter)
      const guid = Effect.sync(() => randomUUID())
      const known = new Set<string>()
      const remember = (id: string): string => {
        known.add(id)
        return id
      }
      const webhookId = Effect.map(Clock.currentTimeMillis, (now) => remember(makeEventId(crypto, now)))
      return Minting.of({
        webhookId,
        dataId,
        guid,
        handedOut: Effect.succeed(known),
        mint: Effect.fnUntraced(function* (template, given = {}) {
          const id = given.dataId ?? String(yield* dataId)
          const values: Readonly<Record<string, string>> = {
            [minted.id]: id,
            [minted.longId]: String(beyond32Bits + Number(id)),
            [minted.guid]: string(given.guid ?? (yield* guid)),
            [minted.now]: string(isoOf(given.now ?? (yield* Clock.currentTimeMillis)))
          }
          const filled: EventTemplate = {
            ...template,
            data: template.data.map(([name, value]) => [name, values[value] ?? value])
          }
          const data = object(filled.data)
          return {
            template,
            filled,
            webhook_id: given.webhookId === undefined ? yield* webhookId : remember(given.webhookId),
            data_id: filled.data.find(([name]) => name === "id")?.[1] ?? "",
            body: bodyOf(filled),
            digest: digestOf(data),
            exactDigest: exactDigestOf(data)
          }
        })
      })
    })
  )
}
