import { assert, describe, it } from "@effect/vitest"
import { isRedirect, placeOf } from "../../src/delivery/Redirect.ts"
import fc from "fast-check"

describe("a redirect status", () => {
  it("is from 300 to 399", () => {
    for (const status of [300, 301, 308, 399]) assert.isTrue(isRedirect(status), String(status))
    for (const status of [null, 200, 299, 400, 500]) assert.isFalse(isRedirect(status), String(status))
  })
})

describe("the target of a redirect", () => {
  it("is shown as a URL without its query, and resolved against the request's URL", () => {
    const of = (location: string | null) => placeOf(location, "https://old.example/hook?key=s3cret")
    assert.strictEqual(of("https://new.example/hook?token=s3cret#x"), "points to https://new.example/hook")
    assert.strictEqual(of("/login?next=%2Fhook"), "points to https://old.example/login")
    assert.strictEqual(of("https://user:s3cret@new.example/"), "points to https://new.example/")
    assert.strictEqual(of("mailto:ada@example.com"), null)
    assert.strictEqual(of("xhttp://new.example/"), null)
    assert.strictEqual(of("httpx://new.example/"), null)
    assert.strictEqual(of(null), null)
    assert.strictEqual(placeOf(undefined, "https://old.example/hook"), null)
  })

  it("is cut after 300 characters", () => {
    const said = placeOf(`/${"a".repeat(400)}`, "https://old.example/hook") ?? ""
    assert.strictEqual(said.length, "points to ".length + 300)
  })

  it("is shown on one short line, whatever a receiver sends", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000, unit: "binary" }), (location) => {
        const said = placeOf(location, "https://old.example/hook") ?? ""
        assert.isAtMost(said.length, 320)
        // oxlint-disable-next-line no-control-regex
        assert.notMatch(said, /[\u0000-\u001f\u007f]/)
      })
    )
  })
})
