import { assert, describe, it } from "@effect/vitest"
import { accentLook } from "../../src/ui/Styles.ts"

const luminance = (hex: string): number => {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

const contrast = (a: string, b: string): number => {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].toSorted((x, y) => y - x)
  return (light + 0.05) / (dark + 0.05)
}

describe("the accent color of a host", () => {
  for (const accent of ["#0a7f5a", "#000000", "#ffffff", "#ffee00", "#ff0000", "#7f7f7f", "#1D5BB8"]) {
    it(`is readable in light and dark, as text and under text: ${accent}`, () => {
      const found = [...accentLook(accent).matchAll(/--accent: (#\w{6}); --on-accent: (#\w{6})/g)]
      assert.strictEqual(found.length, 2)
      for (const [index, [, color = "", onColor = ""]] of found.entries()) {
        for (const ground of index === 0 ? ["#ffffff", "#f3f4f6"] : ["#1e242b", "#14181d"])
          assert.isAtLeast(contrast(color, ground), 4.5, `${color} on ${ground}`)
        assert.isAtLeast(contrast(color, onColor), 4.5, `${onColor} on ${color}`)
      }
    })
  }

  it("stays as it is where it is readable, and is doorhook's own without one", () => {
    assert.include(accentLook("#1d5bb8"), "--accent: #1d5bb8; --on-accent: #ffffff")
    assert.strictEqual(accentLook(undefined), "")
  })
})
