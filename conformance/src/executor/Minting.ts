/**
 * Makes an event of a template: gives it identifiers that no event had before, like those of production.
 */
import { Crypto, isoOf, makeEventId } from "@doorhook/core"
import { Clock, Context, Effect, Layer } from "effect"
import type { EventTemplate } from "../history/History.ts"
import { minted } from "../history/History.ts"
import { bodyOf, string } from "../history/RawJson.ts"

export interface MintedEvent {
  readonly webhook_id: string
  readonly body: string
}

/** `data.id` begins somewhere in this range: below 2^31, because receivers keep it in columns of 32 bits. */
const firstDataId = 100_000_000
const lastDataId = 2_000_000_000

const toHex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

const toGuid = (bytes: Uint8Array): string => {
  const hex = toHex(bytes)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

export class Minting extends Context.Service<
  Minting,
  {
    readonly mint: (template: EventTemplate) => Effect.Effect<MintedEvent>
  }
>()("@doorhook/conformance/executor/Minting") {
  /** Counts `data.id` up from a random place, as a database would. */
  static readonly layer: Layer.Layer<Minting, never, Crypto> = Layer.effect(
    Minting,
    Effect.gen(function* () {
      const crypto = yield* Crypto
      const random = new DataView((yield* crypto.randomBytes(4)).slice().buffer).getUint32(0)
      let dataId = firstDataId + (random % (lastDataId - firstDataId))
      return Minting.of({
        mint: Effect.fnUntraced(function* (template) {
          const now = yield* Clock.currentTimeMillis
          const values: Readonly<Record<string, string>> = {
            [minted.id]: String(++dataId),
            [minted.guid]: string(toGuid(yield* crypto.randomBytes(16))),
            [minted.now]: string(isoOf(now))
          }
          return {
            webhook_id: yield* makeEventId(now).pipe(Effect.provideService(Crypto, crypto)),
            body: bodyOf({ ...template, data: template.data.map(([name, value]) => [name, values[value] ?? value]) })
          }
        })
      })
    })
  )
}
