/**
 * What moves cancelled deliveries out of the queue goes on after a defect.
 */
import { SqliteClient } from "@doorhook/sql"
import { assert, it } from "@effect/vitest"
import { Effect, Latch, Layer } from "effect"
import { TestClock } from "effect/testing"
import { DeliveryTables } from "../src/DeliveryTables.ts"
import * as Endings from "../src/stores/Endings.ts"
import { temporaryFile } from "./TemporaryFile.ts"

it.effect("cancelled deliveries are moved a second after a round that ended in a defect", () =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    const defect = yield* Latch.make()
    const again = yield* Latch.make()
    let rounds = 0
    const endings = Effect.suspend(() =>
      ++rounds === 1 ? Effect.andThen(defect.open, Effect.die("a defect")) : Effect.as(again.open, [])
    )
    yield* Layer.build(
      Endings.layer.pipe(
        Layer.provide([Layer.mock(DeliveryTables, { atOnce: null, endings }), SqliteClient.layer({ filename })])
      )
    )
    yield* defect.await
    yield* TestClock.adjust("1 second")
    yield* again.await
    assert.strictEqual(rounds, 2)
  })
)
