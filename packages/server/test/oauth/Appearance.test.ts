import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { createHash } from "node:crypto"
import { AppearanceShape } from "../../src/ui/Page.ts"
import { authorizeC1, Browser, formOf, startServer } from "./OAuthServer.ts"

const css = 'h1 { color: rgb(200 0 0); background: url("https://evil.example/x.png") }\n.brand > svg { width: 2rem }'
const logo = '<svg viewBox="0 0 1 1" role="img" aria-label="Towers"><path d="M0 0h1v1z"/></svg>'

describe("the host's own look", () => {
  it("is on every page, under a policy that allows its style by digest and nothing else", async () => {
    const server = await startServer({ appearance: { css, logo, name: "Towers & <Doors>" } })
    const visitor = new Browser(server.url)
    const login = await visitor.authorize(authorizeC1)
    const problem = await visitor.authorize({ client_id: "nobody" })
    const wrong = await visitor.submit(formOf(login.text), { login: "x", password: "y" })
    for (const { headers, text } of [login, problem, wrong]) {
      assert.include(text, `<div class="brand">${logo}Towers &amp; &lt;Doors&gt;</div>`)
      const style = /<style>([^]*)<\/style>/.exec(text)?.[1] ?? ""
      assert.isTrue(style.endsWith(css))
      const digest = createHash("sha256").update(style).digest("base64")
      const policy = headers.get("content-security-policy") ?? ""
      assert.isTrue(policy.startsWith(`default-src 'none'; style-src 'sha256-${digest}'; `), policy)
      assert.notMatch(policy, /unsafe|img-src|script-src|\*/)
      assert.lengthOf(text.match(/<style/g) ?? [], 1)
    }
  })

  it("can't end the style element", () => {
    const is = Schema.is(AppearanceShape)
    assert.isTrue(is({ css }))
    for (const wrong of ["</style><script>1</script>", "a{}</STYLE >", "</style"]) assert.isFalse(is({ css: wrong }))
  })
})
