import { Html } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"

describe("HTML", () => {
  it("escapes text in elements and attributes", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("<", ">", "&", '"', "'", "a", " ", "/", "=", "é") }), (text) => {
        const page = Html.template`<p title="${text}">${text}</p>`.toString()
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

  it("inserts HTML from templates unchanged, and nothing for null", () => {
    const items = ["<", ">"].map((text) => Html.template`<li>${text}</li>`)
    assert.strictEqual(Html.template`<ul>${items}</ul>${null}`.toString(), "<ul><li>&lt;</li><li>&gt;</li></ul>")
  })

  it("can transform texts before they are escaped", () => {
    const loud = Html.templateWith((text) => text.replace("quiet", "<LOUD>"))
    assert.strictEqual(
      loud`<p>${"quiet"} ${1}${Html.trusted("<br>")}${Html.nothing}</p>`.toString(),
      "<p>&lt;LOUD&gt; 1<br></p>"
    )
  })

  it("makes a page with an unchanged style sheet and an escaped title", () => {
    const page = Html.page({ title: "</title>", style: "a > b {}", body: Html.trusted("<main></main>") }).toString()
    assert.include(page, "<style>a > b {}</style>")
    assert.include(page, "<title>&lt;/title&gt;</title>")
    assert.match(page, /^<!doctype html>\n<html lang="en">/)
  })

  it("replaces control characters, but keeps tabs and lines", () => {
    const shown = Html.template`<p title="${"a\u001b[31mb"}">${"one\u0000two\u009b\n\tthree"}</p>`
    assert.strictEqual(shown.toString(), '<p title="a [31mb">one two \n\tthree</p>')
  })
})
