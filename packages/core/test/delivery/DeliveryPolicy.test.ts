import { AddressPolicy, DeliveryPolicy, builtInTypes } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Record, Redacted } from "effect"
import fc from "fast-check"
import { makeIntegration } from "../fixtures.ts"

const hour = 3_600_000

describe("the settings of deliveries to one integration", () => {
  const service = Record.map(builtInTypes, ({ retry }) => retry)
  const plain = makeIntegration()

  it("are the service's settings if there are no overrides", () => {
    assert.strictEqual(DeliveryPolicy.retryOf(service, plain, "call"), service.call)
    const allow: AddressPolicy.AllowList = []
    assert.strictEqual(DeliveryPolicy.allowOf(allow, plain), allow)
    assert.strictEqual(DeliveryPolicy.acknowledgementOf(plain), "200")
  })

  it("can override the delays of a resource type, or remove them, but not the event's lifetime", () => {
    const own = makeIntegration({ overrides: { retry: { call: [1, 2] } } })
    assert.deepStrictEqual(DeliveryPolicy.retryOf(service, own, "call"), { delays: [1, 2], lifetime: 45_000 })
    assert.strictEqual(DeliveryPolicy.retryOf(service, own, "access_log"), service.access_log)
    const once = makeIntegration({ overrides: { retry: { access_log: [] } } })
    assert.deepStrictEqual(DeliveryPolicy.retryOf(service, once, "access_log"), { delays: [], lifetime: null })
  })

  it("can allow further networks, and an unreadable network allows nothing", () => {
    const all = DeliveryPolicy.allowOf([], makeIntegration({ overrides: { allow_targets: ["10.0.0.0/8"] } }))
    const own = makeIntegration({ overrides: { allow_targets: ["192.168.7.0/24", "everything"] } })
    const allow = DeliveryPolicy.allowOf(all, own)
    assert.deepStrictEqual(
      ["10.1.2.3", "192.168.7.1", "192.168.8.1"].map((address) => AddressPolicy.isInside(address, allow)),
      [true, true, false]
    )
  })

  it("can add headers", () => {
    assert.isNull(DeliveryPolicy.customHeadersOf(plain))
    const own = makeIntegration({ overrides: { headers: { "x-api-key": Redacted.make("k") } } })
    assert.deepStrictEqual(DeliveryPolicy.customHeadersOf(own), { "x-api-key": "k" })
  })

  it("accept any 2xx as an acknowledgement if set", () => {
    const lenient = makeIntegration({ overrides: { acknowledge: "2xx" } })
    assert.strictEqual(DeliveryPolicy.acknowledgementOf(lenient), "2xx")
  })
})

describe("the secrets of an integration", () => {
  const { rotated, secretsOf } = DeliveryPolicy

  it("continue to sign for 24 hours after their replacement, newest first, at most five", () => {
    const gaps = fc.array(fc.oneof(fc.integer({ min: 0, max: 13 * hour }), fc.constantFrom(12 * hour, 24 * hour)), {
      maxLength: 12
    })
    fc.assert(
      fc.property(gaps, fc.constantFrom(0, 1, hour, 24 * hour - 1, 24 * hour), (waits, later) => {
        let now = 0
        let secrets = { signing_secret: Redacted.make("0"), previous_secrets: makeIntegration().previous_secrets }
        const ends: Array<{ readonly name: string; readonly at: number }> = []
        for (const [index, wait] of waits.entries()) {
          now += wait
          secrets = { ...rotated(secrets, Redacted.make(`${index + 1}`), now) }
          ends.unshift({ name: `${index}`, at: now })
          for (const { until } of secrets.previous_secrets) assert.isAbove(until, now, "what is kept still signs")
        }
        const still = ends.slice(0, 5).filter(({ at }) => now + later - at < 24 * hour)
        assert.deepStrictEqual(
          secretsOf(secrets, now + later).map((secret) => Redacted.value(secret)),
          [`${waits.length}`, ...still.map(({ name }) => name)]
        )
      })
    )
  })
})
