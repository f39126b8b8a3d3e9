import { assert, describe, it } from "@effect/vitest"
import { placeOf } from "../../src/rules/Redirect.ts"
import fc from "fast-check"

describe("where a redirect points", () => {
  it("is told as a URL without its query; a relative one against the URL that was sent to", () => {
    const of = (location: string | null) => placeOf(location, "https://old.example/hook?key=s3cret")
    assert.strictEqual(of("https://new.example/hook?token=s3cret#x"), "points to https://new.example/hook")
    assert.strictEqual(of("/login?next=%2Fhook"), "points to https://old.example/login")
    assert.strictEqual(of("https://user:s3cret@new.example/"), "points to https://new.example/")
    assert.strictEqual(of("mailto:ada@example.com"), null)
    assert.strictEqual(of(null), null)
  })

  it("is told in one short line, whatever a receiver sends", () => {
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
