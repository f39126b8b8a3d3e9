import { assert, describe, it } from "@effect/vitest"
import { headerFlaw, headersFlaw } from "../../src/delivery/CustomHeaders.ts"

const badName = "must be a valid header name in lower case"
const taken = "is set by doorhook; give it another name"
const badValue = "must be visible ASCII characters, with spaces only between them"

describe("custom headers", () => {
  it.each([
    ["x-api-key", "secret", null],
    ["!#$%&'*+-.^_`|~09az", "~", null],
    ["x", "two words\tand a tab", null],
    ["", "value", badName],
    ["X-Api-Key", "value", badName],
    ["x key", "value", badName],
    ["xé", "value", badName],
    ["webhook-id", "value", taken],
    ["webhook-timestamp", "value", taken],
    ["webhook-signature", "value", taken],
    ["doorhook-attempt", "value", taken],
    ["content-type", "value", taken],
    ["transfer-encoding", "value", taken],
    ["x", "", badValue],
    ["x", " value", badValue],
    ["x", "value\t", badValue],
    ["x", "line\r\nbreak: 1", badValue],
    ["x", "é", badValue],
    ["x", "\u007f", badValue]
  ])("judge %j: %j as %j", (header, content, flaw) => {
    assert.strictEqual(headerFlaw(header, content), flaw)
  })

  const headers = (count: number, content: string): Readonly<Record<string, string>> =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${String(n).padStart(2, "0")}`, content]))

  it("are at most twenty", () => {
    assert.isNull(headersFlaw(headers(0, "")))
    assert.isNull(headersFlaw(headers(20, "v")))
    assert.strictEqual(headersFlaw(headers(21, "v")), "must be at most 20 headers")
  })

  it("have at most 4,096 characters, names included", () => {
    const long = headers(1, "v".repeat(4_096 - "x-00".length))
    assert.isNull(headersFlaw(long))
    const flaw = "must have at most 4096 characters in total"
    assert.strictEqual(headersFlaw({ ...long, y: "" }), flaw)
    assert.strictEqual(headersFlaw(headers(17, "v".repeat(240))), flaw)
  })
})
