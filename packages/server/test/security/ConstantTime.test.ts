/**
 * Secrets are compared in constant time, never by an operator, which stops at the first difference. A new or moved
 * comparison must be added here and in docs/security.md.
 */
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { pathOf } from "./NamedTests.ts"

const sources = globSync("packages/{core,node,server,sql,doorhook,receiver}/src/**/*.ts", { cwd: pathOf("./") })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => !file.startsWith("packages/core/src/testing/"))
  .map((file) => ({ file, text: readFileSync(pathOf(file), "utf8") }))

/** Files that compare a secret with a presented value. */
const comparisons = [
  "packages/core/src/delivery/Signature.ts",
  "packages/core/src/integrations/Subscriptions.ts",
  "packages/core/src/memory/DocumentDirectory.ts",
  "packages/core/src/memory/MemoryTokenStore.ts",
  "packages/core/src/oauth/Secrets.ts",
  "packages/doorhook/src/directory/PasswordHash.ts",
  "packages/receiver/src/Signature.ts",
  "packages/server/src/http/Credentials.ts",
  "packages/server/src/operator/PortalLinks.ts",
  "packages/server/src/ui/Session.ts"
]

const operand = String.raw`[\w$.?]+(?:\([\w$., ]*\))?`
const comparison = new RegExp(String.raw`(${operand}) *(?:===|!==|==|!=) *(${operand}|["'\`])`, "g")

/** Matches the names of secrets and of values derived from them. */
const secret =
  /(?:secret|password|hash|digest|signature|csrf|cookie|verifier|challenge|presented|(?:access|refresh|csrf|given|expected)_?token|operator_?key|\bkey|\bcode)$/i

/** Matches operands of harmless comparisons, which test only the presence or kind of a secret. */
const harmless = /^(?:null|undefined|true|false|\d.*|["'`])$/

/** Comparisons of values that are not secret although their names match. */
const allowed: ReadonlyArray<readonly [file: string, text: string]> = [
  ["packages/core/src/model/JsonText.ts", "key === name"],
  ["packages/core/src/oauth/TokenEndpoint.ts", "redirectUri !== code.redirect_uri"],
  ["packages/server/src/http/Query.ts", "candidate === key"]
]

const found = sources.flatMap(({ file, text }) =>
  [...text.matchAll(comparison)].flatMap(([whole, left = "", right = ""]) => {
    if (harmless.test(left) || harmless.test(right)) return []
    return secret.test(left) || secret.test(right) ? [[file, whole] as const] : []
  })
)

describe("secrets", () => {
  it("are not compared by an operator", () => {
    assert.isAbove(sources.length, 100)
    const unknown = found.filter(([file, whole]) => !allowed.some(([where, what]) => file === where && whole === what))
    assert.deepStrictEqual(unknown, [])
  })

  it("are always compared in constant time, in the places that docs/security.md lists", () => {
    const uses = sources
      .filter(({ text }) => /\b(?:constantTimeEqual(?:s|Texts)|timingSafeEqual)\(/.test(text))
      .map(({ file }) => file)
    assert.deepStrictEqual(uses.toSorted(), comparisons)
    const page = readFileSync(pathOf("docs/security.md"), "utf8")
    for (const file of comparisons) assert.include(page, `\`${file}\``)
  })

  it("would be found if compared by an operator", () => {
    const samples = ["client.secret === secret", "given !== expected_token", "a.hash == hashOf(b)", "password===stored"]
    for (const sample of samples) {
      const [match] = [...sample.matchAll(comparison)]
      assert.isTrue(secret.test(match?.[1] ?? "") || secret.test(match?.[2] ?? ""), sample)
    }
  })
})
