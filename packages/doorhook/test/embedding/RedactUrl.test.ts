import { assert, describe, it } from "@effect/vitest"
import { redactUrl } from "doorhook"
import fc from "fast-check"

describe("redactUrl", () => {
  for (const [given, expected] of [
    ["/", "/"],
    ["/orders?page=2&client=c1#code=1", "/orders?page=2&client=c1#code=1"],
    [
      "/oauth/authorize?client_id=c1&client_secret=s&state=x",
      "/oauth/authorize?client_id=c1&client_secret=[redacted]&state=x"
    ],
    ["https://doors.example/cb?code=dh_ac_1#top", "https://doors.example/cb?code=[redacted]#top"],
    ["/a?Client%5FSecret=a?b=c", "/a?Client%5FSecret=[redacted]"],
    ["/a?next=/b?client_secret=s&code=t", "/a?next=/b?client_secret=[redacted]&code=[redacted]"],
    ["/doors/portal/open/dh_pl_1.2.n.m?x=1", "/doors/portal/open/dh_pl_[redacted]?x=1"],
    ["--> GET /a?client_secret=s 303 5ms", "--> GET /a?client_secret=[redacted] 303 5ms"],
    [
      '{"url":"/oauth/authorize?client_secret=abc","method":"GET"}',
      '{"url":"/oauth/authorize?client_secret=[redacted]","method":"GET"}'
    ],
    [
      '{"url":"/a?code=1&state=x","referer":"/b?token=t"}',
      '{"url":"/a?code=[redacted]&state=x","referer":"/b?token=[redacted]"}'
    ],
    ["/a?%zz=1&client_secret=s", "/a?%zz=1&client_secret=[redacted]"]
  ] as const) {
    it(`makes ${expected}`, () => assert.strictEqual(redactUrl(given), expected))
  }

  it("removes every secret from queries, and changes nothing else", () => {
    const name = fc.stringMatching(/^[a-z_%=?+\d]{0,12}$/)
    const pair = fc.tuple(name, fc.webQueryParameters()).map(([key, value]) => `${key}=${value}`)
    fc.assert(
      fc.property(fc.array(pair), fc.array(pair), (before, after) => {
        const url = (secret: string) => `/x?${[...before, `client_secret=${secret}`, ...after].join("&")}`
        const redacted = redactUrl(url("sentinel"))
        assert.notInclude(redacted, "sentinel")
        assert.strictEqual(redacted, redactUrl(url("another")))
        assert.strictEqual(redactUrl(redacted), redacted)
      })
    )
  })
})
