import { Crypto, MemoryStore } from "@doorhook/core"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { makeKeyCheck } from "../../src/http/KeyCheck.ts"
import { OperatorKey } from "../../src/operator/OperatorKey.ts"

it.effect("a key is made at the first start and found again at the next", () =>
  Effect.gen(function* () {
    const start = Effect.provide(OperatorKey, Layer.fresh(OperatorKey.layerStored))
    const first = yield* start
    assert.isTrue(first.created)
    assert.match(Redacted.value(first.key), /^dhop_[\w-]{43}$/)
    const second = yield* start
    assert.isFalse(second.created)
    assert.strictEqual(Redacted.value(second.key), Redacted.value(first.key))
    assert.notInclude(JSON.stringify(first), "dhop_")
  }).pipe(Effect.provide(Layer.fresh(Layer.merge(MemoryStore.layer, Crypto.layerWebCrypto))))
)

it.effect("nothing is no key, whatever the key is", () =>
  Effect.gen(function* () {
    const isKey = yield* makeKeyCheck(Redacted.make(""))
    for (const nothing of ["", " "]) assert.isFalse(yield* isKey(nothing))
  }).pipe(Effect.provide(Crypto.layerWebCrypto))
)

it.effect("a given key is compared as a whole", () =>
  Effect.gen(function* () {
    const isKey = yield* makeKeyCheck(Redacted.make("the key"))
    assert.isTrue(yield* isKey("the key"))
    for (const wrong of ["", "the ke", "the key ", "The key"]) assert.isFalse(yield* isKey(wrong))
  }).pipe(Effect.provide(Crypto.layerWebCrypto))
)
