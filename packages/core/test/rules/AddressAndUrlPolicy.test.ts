import { assert, describe, it } from "@effect/vitest"
import { AddressPolicy, UrlPolicy } from "@doorhook/core"
import { Option, Result } from "effect"
import fc from "fast-check"

const networks = (...texts: ReadonlyArray<string>) =>
  texts.map((text) => Option.getOrThrow(AddressPolicy.parseNetwork(text)))

const problemOf = (url: string, allow = networks()) =>
  Result.match(UrlPolicy.check(url, allow), { onSuccess: () => null, onFailure: ({ code }) => code })

describe("AddressPolicy", () => {
  it.each([
    "127.0.0.1",
    "10.1.2.3",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "2001:db8::1",
    "fd00:ec2::254",
    "not an address"
  ])("refuses %s", (address) => {
    assert.isFalse(AddressPolicy.isAllowedAddress(address, []))
  })

  it.each(["8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"])("allows %s", (address) => {
    assert.isTrue(AddressPolicy.isAllowedAddress(address, []))
  })

  it("allows what an allow-list names, and nothing beside it", () => {
    const allow = networks("192.168.7.0/24", "::1")
    assert.isTrue(AddressPolicy.isAllowedAddress("192.168.7.9", allow))
    assert.isTrue(AddressPolicy.isAllowedAddress("::ffff:192.168.7.9", allow))
    assert.isTrue(AddressPolicy.isAllowedAddress("::1", allow))
    assert.isFalse(AddressPolicy.isAllowedAddress("192.168.8.9", allow))
    assert.isFalse(AddressPolicy.isAllowedAddress("127.0.0.1", allow))
  })

  it("judges an IPv4 address as it judges its IPv6 embedding", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        assert.strictEqual(
          AddressPolicy.isAllowedAddress(`::ffff:${address}`, []),
          AddressPolicy.isAllowedAddress(address, [])
        )
      })
    )
  })
})

describe("UrlPolicy", () => {
  it.each([
    ["https://hooks.example.com/door", null],
    ["http://93.184.216.34:8080/x?y=1", null],
    ["notaurl", "not_a_url"],
    ["/relative", "not_a_url"],
    ["http://exa mple.com", "not_a_url"],
    ["http://example.com/\n", "not_a_url"],
    ["ftp://example.com", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["javascript:alert(1)", "scheme"],
    [`https://example.com/${"x".repeat(2_048)}`, "too_long"],
    ["https://user:pw@example.com", "userinfo"],
    ["https://user@example.com", "userinfo"],
    ["https://example.com/#", "fragment"],
    ["http://127.0.0.1/", "refused_address"],
    ["http://2130706433/", "refused_address"],
    ["http://0x7f.1/", "refused_address"],
    ["http://127.0.0.1./", "refused_address"],
    ["http://[::1]/", "refused_address"],
    ["http://[::ffff:7f00:1]/", "refused_address"]
  ])("judges %s: %s", (url, expected) => {
    assert.strictEqual(problemOf(url), expected)
  })

  it("lets an allow-listed literal through", () => {
    assert.isNull(problemOf("http://127.0.0.1:9000/hook", networks("127.0.0.0/8")))
  })

  it("refuses a name as soon as one of its addresses is refused", () => {
    assert.isTrue(Result.isFailure(UrlPolicy.checkAddresses(["8.8.8.8", "10.0.0.1"], [])))
    assert.isTrue(Result.isSuccess(UrlPolicy.checkAddresses(["8.8.8.8"], [])))
    assert.isTrue(Result.isSuccess(UrlPolicy.checkAddresses([], [])))
  })
})
