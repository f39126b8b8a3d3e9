import { ClientId } from "@doorhook/core"
import type { AuthorizeRequest } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { consentPage, loginPage } from "../../src/oauth/FormPages.ts"
import { makeLanguages } from "../../src/ui/Texts.ts"
import { descriptionsOf, metadataOf } from "../../src/oauth/Metadata.ts"

const scopes = { "doors:open": "Open <doors>", "doors:list": "See your doors" }

const requestOf = (scope: string): AuthorizeRequest => ({
  client: { id: ClientId.make("c1"), name: "Acme", redirect_uris: ["https://client.example/cb"] },
  redirect_uri: "https://client.example/cb",
  redirect_uri_given: true,
  state: null,
  scope,
  resource: "",
  client_host: null,
  code_challenge: null
})

/** Returns the HTML of the login page and of the consent page for a scope. */
const pagesFor = (scope: string): ReadonlyArray<string> => {
  const input = {
    language: makeLanguages({})({ header: () => undefined }),
    request: requestOf(scope),
    scopes: descriptionsOf(scope, scopes),
    action: "/oauth/authorize",
    hidden: [],
    problem: null
  }
  return [loginPage({ ...input, login: "" }), consentPage({ ...input, user: "Alice" })].map(({ body }) =>
    body.toString()
  )
}

describe("the forms", () => {
  it("describe the requested declared scopes, escaped", () => {
    for (const page of pagesFor("public doors:open doors:list")) {
      assert.include(page, "asks for access to your buildings.")
      assert.include(page, "<p>It will be able to:</p>")
      assert.include(page, "<li>Open &lt;doors&gt;</li>\n<li>See your doors</li>")
    }
  })

  it("do not promise access to buildings if only declared scopes are requested", () => {
    for (const page of pagesFor("doors:list")) {
      assert.notInclude(page, "access to your buildings")
      assert.include(page, "<li>See your doors</li>")
      assert.strictEqual(page.match(/<li>/g)?.length, 1)
    }
  })

  it("say what `public` allows, and where the browser is sent", () => {
    for (const page of [...pagesFor("public"), ...pagesFor("public toString")]) {
      assert.strictEqual(page.match(/<li>/g)?.length, 3)
      assert.match(page, /<li>Have every new call and entry sent to a server of its own[^<]*<\/li>/)
      assert.include(page, "You will then be sent to client.example.")
    }
    const [, consent = ""] = pagesFor("public")
    assert.match(consent, /logged in as <strong>Alice<\/strong>\. Not you\?/)
  })
})

describe("the metadata", () => {
  it("names the issuer's endpoints, and the declared scopes", () => {
    assert.deepInclude<object>(metadataOf("https://doors.example", scopes, false), {
      issuer: "https://doors.example",
      authorization_endpoint: "https://doors.example/oauth/authorize",
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      scopes_supported: ["public", "doors:open", "doors:list"]
    })
  })
})
