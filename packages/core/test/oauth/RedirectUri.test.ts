import { outOfBandUri, RedirectUri } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"

const registered = ["https://client.example/cb", "http://127.0.0.1/cb", "com.example.app:/done", outOfBandUri]

describe("RedirectUri.isAcceptable", () => {
  it.each([
    "https://client.example/cb",
    "https://client.example:8443/cb?tenant=1",
    "https://client.example/state?states=1&estate=state",
    "http://localhost:3000/cb",
    "http://127.0.0.1",
    "http://127.0.0.1/cb",
    "http://127.10.200.30?tenant=1",
    "http://[::1]:9000/cb",
    "com.example.app:/done",
    outOfBandUri
  ])("takes %s", (uri) => {
    assert.isTrue(RedirectUri.isAcceptable(uri))
  })

  it.each([
    "http://client.example/cb",
    "http://localhost.evil.example/cb",
    "http://127.0.0.1.evil.example/cb",
    "http://evil.example/http://127.0.0.1/cb",
    "https://:p@client.example/cb",
    "https://u@client.example/cb",
    "https://client.example/cb#f",
    "https://client.example/cb?state=1",
    "https://client.example/cb?a=1&st%61te",
    "http://127.0.0.1/cb?state=",
    "com.example.app:/done?state=x",
    "https://client.example/c b",
    "https://client.example\\@evil.example/cb",
    "https://münchen.example/cb",
    "https:client.example/cb",
    "javascript:alert(1)",
    "data:text/html,x",
    "myapp:/cb",
    "/cb",
    "urn:ietf:wg:oauth:2.0:oob:auto",
    ""
  ])("refuses %s", (uri) => {
    assert.isFalse(RedirectUri.isAcceptable(uri))
  })
})

describe("RedirectUri.isRegistered", () => {
  it("accepts exactly the registered URIs", () => {
    for (const uri of registered) assert.isTrue(RedirectUri.isRegistered(registered, uri), uri)
  })

  it.each([
    "https://client.example:443/cb",
    "https://CLIENT.example/cb",
    "https://client.example/cb/",
    "https://client.example/cb?x=1",
    "https://client.example/cb#f",
    "https://client.example/cb/../cb",
    "http://client.example/cb",
    "https://u@client.example/cb",
    "https://client.example/%63b",
    "http://127.0.0.1/other",
    "http://127.0.0.1:99999/cb",
    "http://127.0.0.1:/cb",
    "http://localhost/cb",
    "http://[::1]/cb",
    "com.example.app:/done/"
  ])("refuses %s", (uri) => {
    assert.isFalse(RedirectUri.isRegistered(registered, uri))
  })

  it("accepts any port of a loopback URI, whether it is registered with a port or without", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 65_535 }), fc.integer({ min: 1, max: 65_535 }), (one, other) => {
        assert.isTrue(RedirectUri.isRegistered(registered, `http://127.0.0.1:${one}/cb`))
        assert.isTrue(RedirectUri.isRegistered([`http://[::1]:${one}/cb`], `http://[::1]:${other}/cb`))
        assert.isFalse(RedirectUri.isRegistered(registered, `https://client.example:${one}/cb`))
      })
    )
  })

  it("accepts no other port in a loopback URI that is part of another URI", () => {
    const uri = "https://client.example/?to=http://127.0.0.1:80/"
    assert.isTrue(RedirectUri.isRegistered([uri], uri))
    assert.isFalse(RedirectUri.isRegistered([uri], uri.replace("80", "81")))
  })

  it("accepts no variation of an https URI", () => {
    const uri = "https://client.example/cb"
    fc.assert(
      fc.property(
        fc.nat(uri.length),
        fc.string({ unit: "grapheme-ascii", maxLength: 3 }),
        fc.nat(3),
        (at, put, cut) => {
          const varied = uri.slice(0, at) + put + uri.slice(at + cut)
          assert.strictEqual(RedirectUri.isRegistered([uri], varied), varied === uri)
        }
      ),
      { numRuns: 1_000 }
    )
  })

  it("refuses a registered URI that is not acceptable", () => {
    assert.isFalse(RedirectUri.isRegistered(["javascript:alert(1)"], "javascript:alert(1)"))
  })
})

describe("RedirectUri.withParameters", () => {
  it("encodes every value exactly, and keeps the existing query", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("https://c.example/cb", "https://c.example/cb?a=1", "https://c.example/cb?", "com.app.x:/cb"),
        fc.string({ unit: "grapheme" }),
        (uri, state) => {
          const url = new URL(RedirectUri.withParameters(uri, Object.entries({ code: "x", state })))
          assert.strictEqual(url.searchParams.get("state"), state.toWellFormed())
          assert.strictEqual(url.searchParams.get("code"), "x")
          assert.strictEqual(url.searchParams.get("a"), uri.includes("a=1") ? "1" : null)
          assert.isFalse(url.href.includes("+"))
        }
      )
    )
  })
})
