import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { de } from "../../src/ui/texts/de.ts"
import { en } from "../../src/ui/texts/en.ts"
import { makeLanguages, TextsShape } from "../../src/ui/Texts.ts"
import { call, testServer } from "../TestServer.ts"

const languageFor = (header: string, host: TextsShape = {}) =>
  makeLanguages(host)({ header: (name) => (name === "accept-language" ? header : undefined) })

describe("the language of a page", () => {
  const cases: ReadonlyArray<readonly [header: string, lang: string]> = [
    ["", "en"],
    ["de", "de"],
    ["de-AT,de;q=0.9,en;q=0.8", "de"],
    ["fr,de;q=0.5,en;q=0.7", "en"],
    ["de;q=0,en", "en"],
    ["xx,*", "en"],
    ["DE", "de"],
    [";;,,q=1", "en"]
  ]
  for (const [header, lang] of cases) {
    it(`is ${lang} for ${JSON.stringify(header)}`, () => assert.strictEqual(languageFor(header).lang, lang))
  }

  it.effect("is the browser's, on the pages of both roles and on the applications' login page", () =>
    Effect.gen(function* () {
      for (const path of ["/console", "/portal", "/portal/open/x", "/oauth/authorize?client_id=none"]) {
        for (const lang of ["en", "de"]) {
          const page = yield* call("GET", path, { headers: { "accept-language": lang } })
          assert.include(page.text, `<html lang="${lang}">`, path)
          assert.strictEqual(page.headers.get("vary"), "Accept-Language")
        }
      }
      const german = yield* call("GET", "/console", { headers: { "accept-language": "de" } })
      assert.include(german.text, "Betreiberschlüssel")
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("may be the host's, with escaped texts that replace doorhook's or add to them", () =>
    Effect.gen(function* () {
      const french = yield* call("GET", "/portal", { headers: { "accept-language": "fr" } })
      assert.include(french.text, `<html lang="fr">`)
      assert.include(french.text, "Se connecter &lt;b&gt;")
      // Texts that the host leaves out are in English.
      assert.include(french.text, "Password")
      const english = yield* call("GET", "/portal")
      assert.include(english.text, "<h1>Tower webhooks</h1>")
    }).pipe(
      Effect.provide(
        testServer({ texts: { fr: { sign_in: "Se connecter <b>" }, en: { owner_sign_in: "Tower webhooks" } } })
      )
    )
  )
})

describe("the texts", () => {
  it("have the same placeholders in each language", () => {
    const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).toSorted()
    const german: Readonly<Record<string, string>> = de
    for (const [key, text] of Object.entries(en)) {
      assert.deepStrictEqual(placeholders(german[key] ?? ""), placeholders(text), key)
    }
  })

  it("of a host are looked up by name", () => {
    const is = Schema.is(TextsShape)
    assert.isTrue(is({ fr: { log_in: "Se connecter" } }))
    assert.isFalse(is({ fr: { log_in: 1 } }))
  })

  it("format counts and times in their language", () => {
    const [english, german] = [languageFor("en"), languageFor("de")]
    assert.strictEqual(english.count("attempts", 1), "1 attempt")
    assert.strictEqual(english.count("attempts", 2_000), "2,000 attempts")
    assert.strictEqual(german.count("attempts", 2_000), "2.000 Versuche")
    assert.strictEqual(english.ago(0, 120_000), "2 min. ago")
    assert.strictEqual(english.ago(500, 0), "now")
    assert.match(english.time(0), /^Jan 1, 1970, 12:00:00.AM UTC$/)
  })
})
