import { assert, describe, it } from "@effect/vitest"
import { isHost, isSearch, matchesSearch } from "../../src/model/IntegrationSearch.ts"

const integration = {
  client_id: "c1",
  url: "https://Hooks.Example.com:8443/a?b=other.example",
  name: "Caf\u00e9 Concierge"
}

describe("a search for integrations", () => {
  it.each([
    [{}, true],
    [{ client_id: "c1" }, true],
    [{ client_id: "C1" }, false],
    [{ client_id: "c" }, false],
    [{ host: "hooks.example.com" }, true],
    [{ host: "HOOKS.EXAMPLE.COM:8443" }, true],
    [{ host: "hooks.example.com:443" }, false],
    [{ host: "example.com" }, false],
    [{ host: "other.example" }, false],
    [{ host: "not a host" }, false],
    [{ name: "concierge" }, true],
    // The same text, composed differently.
    [{ name: "CAFE\u0301" }, true],
    [{ name: "lobby" }, false],
    [{ client_id: "c1", host: "hooks.example.com", name: "caf\u00e9" }, true],
    [{ client_id: "c2", host: "hooks.example.com", name: "caf\u00e9" }, false]
  ])("%j: %s", (search, expected) => {
    assert.strictEqual(matchesSearch(integration, search), expected)
    assert.strictEqual(isSearch(search), Object.keys(search).length > 0)
  })

  it.each([
    ["https://h.example/", "h.example:443", true],
    ["http://h.example/", "h.example:443", false],
    ["http://h.example/", "h.example:80", true],
    ["http://[::1]:9/", "[0:0::1]", true],
    ["http://192.0.2.7/", "192.0.2.7:80", true],
    ["https://xn--mller-kva.example/", "m\u00fcller.example", true],
    ["no url", "no", false]
  ])("compares the host of %s with %s", (url, host, expected) => {
    assert.strictEqual(matchesSearch({ ...integration, url }, { host }), expected)
  })

  it("matches no integration without a name if a name is searched for", () => {
    assert.isFalse(matchesSearch({ ...integration, name: null }, { name: "null" }))
  })

  it("accepts hosts only, with or without a port", () => {
    const texts = [
      "h.example",
      "h.example:80",
      "[::1]",
      "10.0.0.1",
      "",
      "http://h.example",
      "h.example/a",
      "u@h",
      "a b",
      ":80"
    ]
    assert.deepStrictEqual(texts.filter(isHost), ["h.example", "h.example:80", "[::1]", "10.0.0.1"])
  })
})
