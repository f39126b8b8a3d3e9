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
})
