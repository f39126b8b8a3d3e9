import { AddressPolicy, DeliveryPolicy, builtInTypes } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Record, Redacted } from "effect"
import fc from "fast-check"
import { makeIntegration } from "../fixtures.ts"

const hour = 3_600_000

describe("how deliveries to an integration are made", () => {
  const service = Record.map(builtInTypes, ({ retry }) => retry)
  const plain = makeIntegration()

  it("is as the service's settings say, where nothing is set for it", () => {
    assert.strictEqual(DeliveryPolicy.retryOf(service, plain, "call"), service.call)
    const allow: AddressPolicy.AllowList = []
    assert.strictEqual(DeliveryPolicy.allowOf(allow, plain), allow)
    assert.strictEqual(DeliveryPolicy.acknowledgementOf(plain), "200")
  })

  it("has its own delays for one resource type, none too, but the lifetime of the event", () => {
    const own = makeIntegration({ overrides: { retry: { call: [1, 2] } } })
    assert.deepStrictEqual(DeliveryPolicy.retryOf(service, own, "call"), { delays: [1, 2], lifetime: 45_000 })
    assert.strictEqual(DeliveryPolicy.retryOf(service, own, "access_log"), service.access_log)
    const once = makeIntegration({ overrides: { retry: { access_log: [] } } })
    assert.deepStrictEqual(DeliveryPolicy.retryOf(service, once, "access_log"), { delays: [], lifetime: null })
  })

  it("may reach its own networks beside those that all may, and a network that can't be read opens nothing", () => {
    const all = DeliveryPolicy.allowOf([], makeIntegration({ overrides: { allow_targets: ["10.0.0.0/8"] } }))
    const own = makeIntegration({ overrides: { allow_targets: ["192.168.7.0/24", "everything"] } })
    const allow = DeliveryPolicy.allowOf(all, own)
    assert.deepStrictEqual(
      ["10.1.2.3", "192.168.7.1", "192.168.8.1"].map((address) => AddressPolicy.isInside(address, allow)),
      [true, true, false]
    )
  })

  it("takes any 2xx for an acknowledgement where that is set", () => {
    const lenient = makeIntegration({ overrides: { acknowledge: "2xx" } })
    assert.strictEqual(DeliveryPolicy.acknowledgementOf(lenient), "2xx")
  })
})

describe("the secrets of an integration", () => {
  const { rotated, secretsOf } = DeliveryPolicy

  it("sign on for 24 hours after they were rotated out, the newest first, five of them at most", () => {
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
