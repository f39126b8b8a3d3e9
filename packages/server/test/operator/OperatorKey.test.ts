import { AddressPolicy, Crypto, MemoryStore } from "@doorhook/core"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { HttpSettings, httpDefaults } from "../../src/http/HttpSettings.ts"
import { makeKeyCheck } from "../../src/http/Credentials.ts"
import { OperatorKey } from "../../src/operator/OperatorKey.ts"
import { call, operatorKey, testServer } from "../TestServer.ts"

it.effect("a key is generated at the first start and read at the next", () =>
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

it.effect("an empty text is never the key", () =>
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

const summary = (as: string, headers: Readonly<Record<string, string>> = {}) =>
  call("GET", "/operator/summary", { as, headers })

/** Sends ten wrong keys, and checks that each is refused with 401. */
const guess = Effect.fnUntraced(function* (headers: Readonly<Record<string, string>>) {
  for (let n = 0; n < 10; n++) assert.strictEqual((yield* summary(`guess-${n}`, headers)).status, 401)
})

const expectThrottled = Effect.fnUntraced(function* (as: string, headers: Readonly<Record<string, string>>) {
  const reply = yield* summary(as, headers)
  assert.deepStrictEqual([reply.status, reply.at("/errors/0/code")], [429, "rate_limited"])
  assert.match(reply.headers.get("retry-after") ?? "", /^(?:900|89\d)$/)
  assert.match(
    reply.textAt("/errors/0/detail"),
    /^This address sent ten wrong operator keys .* even the right one\..* Try again in \d+ s\.$/
  )
  assert.isNull(reply.headers.get("www-authenticate"))
})

const trusting = Layer.succeed(HttpSettings, {
  ...httpDefaults,
  trustedProxies: Option.toArray(AddressPolicy.parseNetwork("127.0.0.1"))
})

it.live("guesses end in 429 for their address, even with the right key, and for no other", () =>
  Effect.gen(function* () {
    const attacker = { "x-forwarded-for": "198.51.100.1" }
    const operator = { "x-forwarded-for": "198.51.100.2" }
    yield* guess(attacker)
    yield* expectThrottled("guess", attacker)
    yield* expectThrottled(operatorKey, attacker)
    assert.strictEqual((yield* summary(operatorKey, operator)).status, 200)
    // A request without a key does not reset the count.
    assert.strictEqual((yield* call("GET", "/operator/summary", { headers: attacker })).status, 401)
    yield* expectThrottled(operatorKey, attacker)
  }).pipe(Effect.provide(testServer().pipe(Layer.provide(trusting))))
)

it.live("guesses through an untrusted proxy do not lock out local programs", () =>
  Effect.gen(function* () {
    const proxied = { "x-real-ip": "198.51.100.1" }
    yield* guess(proxied)
    yield* expectThrottled(operatorKey, proxied)
    assert.strictEqual((yield* summary(operatorKey)).status, 200)
  }).pipe(Effect.provide(testServer()))
)

it.live("a right key resets earlier failures", () =>
  Effect.gen(function* () {
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 9; n++) assert.strictEqual((yield* summary(`guess-${n}`)).status, 401)
      assert.strictEqual((yield* summary(operatorKey)).status, 200)
    }
  }).pipe(Effect.provide(testServer()))
)
