import { addressFilter, InvalidOption } from "@doorhook/receiver"
import { assert, describe, it } from "@effect/vitest"

describe("addressFilter", () => {
  it.each([
    ["203.0.113.0/24", "203.0.113.255", true],
    ["203.0.113.0/24", "203.0.114.0", false],
    ["203.0.113.7", "203.0.113.7", true],
    ["203.0.113.7", "::ffff:203.0.113.7", true],
    ["2001:db8::/32", "2001:db8:1::1", true],
    ["2001:db8::/32", "2001:db9::1", false],
    ["fe80::/10", "fe80::1%eth0", true],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["0.0.0.0/0", "nonsense", false]
  ])("in %s: %s is %s", (range, address, expected) => {
    assert.strictEqual(addressFilter([range])(address), expected)
  })

  it.each(["203.0.113.0/33", "203.0.113/24", "host.example", "2001:db8::/129", "10.0.0.0/8/8", "10.0.0.0/"])(
    "refuses the range %s",
    (range) => {
      assert.throws(() => addressFilter([range]), InvalidOption, /^addresses: /)
    }
  )
})
