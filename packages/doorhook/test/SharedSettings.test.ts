import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { agreedSettingsOf } from "../src/config/SharedSettings.ts"

const textOf = (resourceTypes: Parameters<typeof agreedSettingsOf>[0]["resourceTypes"]) =>
  Result.getOrThrow(agreedSettingsOf({ resourceTypes }, "file"))["resourceTypes"]

describe("settings that processes must agree on", () => {
  it("are the personal members of types, because a process that doesn't know them would send them", () => {
    assert.strictEqual(textOf({}), undefined)
    assert.strictEqual(textOf({ access_log: { title: "Door", personal: ["image_url", "name"] } }), undefined)
    assert.include(textOf({ access_log: { personal: ["name", "badge"] } }), "access_log:create without badge,name")
    assert.include(textOf({ parcel: {} }), "parcel:create")
    assert.notInclude(textOf({ parcel: {} }), "without")
    assert.include(textOf({ parcel: { personal: ["to"] } }), "parcel:create without to")
  })

  it("are the limits of what clients get, because a process without them would send more", () => {
    const limitsOf = (maxDetail: Parameters<typeof agreedSettingsOf>[0]["maxDetail"]) =>
      Result.getOrThrow(agreedSettingsOf({ maxDetail }, "file"))["maxDetail"]
    assert.strictEqual(limitsOf(undefined), undefined)
    assert.strictEqual(limitsOf({ types: { call: "full" } }), undefined)
    assert.strictEqual(limitsOf("thin"), limitsOf({ default: "thin" }))
    assert.strictEqual(
      limitsOf({ types: { call: "thin" }, clients: { c1: "redacted" } }),
      "client c1=redacted,type call=thin"
    )
  })
})
