import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { isReadable, json, jsonApi, negotiate } from "../../src/http/MediaType.ts"

const quality = fc.integer({ min: 0, max: 1_000 }).map((n) => n / 1_000)
const name = fc.constantFrom(jsonApi, json, "application/*", "*/*", "text/html", "text/*")
const range = fc.record({ name, quality })

const accept = (ranges: ReadonlyArray<{ readonly name: string; readonly quality: number }>): string =>
  ranges.map((part) => `${part.name};q=${part.quality.toFixed(3)}`).join(", ")

/**
 * Returns the quality of the most specific range that matches a media type; 0 if none. Each range must occur only once.
 */
const qualityOf = (ranges: ReadonlyArray<{ readonly name: string; readonly quality: number }>, type: string): number =>
  [type, "application/*", "*/*"].flatMap((close) => ranges.find((part) => part.name === close) ?? [])[0]?.quality ?? 0

describe("negotiation", () => {
  it("is the one that the client prefers, and never one that it refuses", () => {
    fc.assert(
      fc.property(fc.uniqueArray(range, { minLength: 1, selector: (part) => part.name }), (ranges) => {
        const vendor = qualityOf(ranges, jsonApi)
        const plain = qualityOf(ranges, json)
        const chosen = negotiate(accept(ranges))
        if (vendor === 0 && plain === 0) assert.isNull(chosen)
        else if (vendor !== plain) assert.strictEqual(chosen, vendor > plain ? jsonApi : json)
        else assert.isNotNull(chosen)
      })
    )
  })

  it("does not depend on order, case, spaces or parameters of other types", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(range, { minLength: 1, selector: (part) => part.name }),
        fc.boolean(),
        (ranges, upper) => {
          const plain = negotiate(accept(ranges))
          const noisy = accept(ranges.toReversed())
            .replaceAll(",", " ,  ")
            .replaceAll("text/html", 'text/html;a="x,\\"y"')
          assert.strictEqual(negotiate(upper ? noisy.toUpperCase() : noisy), plain)
        }
      )
    )
  })

  it("ignores JSON:API types with unsupported parameters, and fails if there are no others", () => {
    const parameter = fc.constantFrom("x=1", "charset=utf-8", 'ext="https://example.com/e"', 'x="a,b;c"')
    fc.assert(
      fc.property(fc.array(parameter, { minLength: 1 }), fc.boolean(), (parameters, also) => {
        const modified = parameters.map((text) => `${jsonApi}; ${text}`)
        assert.isNull(negotiate([...modified, json, "*/*"].join(", ")))
        assert.strictEqual(negotiate([...modified, jsonApi].join(", ")), jsonApi)
        assert.strictEqual(negotiate([...modified, `${jsonApi};profile="x"`].join(", ")), jsonApi)
        if (also) for (const text of modified) assert.isFalse(isReadable(text))
      })
    )
  })

  it("accepts any header without failing", () => {
    const piece = fc.constantFrom(jsonApi, json, "*/*", ";", ",", '"', "\\", "=", "q=", "0.5", " ", "a")
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string({ maxLength: 3 }))), (pieces) => {
        const header = pieces.join("")
        assert.include([jsonApi, json, null], negotiate(header))
        assert.isBoolean(isReadable(header))
      })
    )
    const start = performance.now()
    negotiate('"\\'.repeat(100_000))
    negotiate(`application/json;a="${"\\".repeat(200_000)}`)
    isReadable(`application/json${";".repeat(100_000)}x`)
    // Linear parsing takes milliseconds, quadratic parsing takes minutes.
    assert.isBelow(performance.now() - start, 10_000)
  })
})
