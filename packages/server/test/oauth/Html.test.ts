import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { markup } from "../../src/oauth/Html.ts"

describe("markup", () => {
  it("lets no text out of the element or attribute that it is put in", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("<", ">", "&", '"', "'", "a", " ", "/", "=", "é") }), (text) => {
        const page = markup`<p title="${text}">${text}</p>`.toString()
        const [, attribute = "", content = ""] = /^<p title="([^"]*)">([^<]*)<\/p>$/.exec(page) ?? []
        const read = (escaped: string) =>
          escaped
            .replaceAll("&lt;", "<")
            .replaceAll("&gt;", ">")
            .replaceAll("&quot;", '"')
            .replaceAll("&#39;", "'")
            .replaceAll("&amp;", "&")
        assert.strictEqual(read(attribute), text)
        assert.strictEqual(read(content), text)
      })
    )
  })

  it("puts HTML of its own making in as it is, and nothing for null", () => {
    const items = ["<", ">"].map((text) => markup`<li>${text}</li>`)
    assert.strictEqual(markup`<ul>${items}</ul>${null}`.toString(), "<ul><li>&lt;</li><li>&gt;</li></ul>")
  })
})
