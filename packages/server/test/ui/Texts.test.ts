import type { Sentence } from "@doorhook/core"
import {
  alertDetail,
  AttemptOutcome,
  closedDetail,
  DeliveryReason,
  deliveryStates,
  Explanation,
  say,
  sentences,
  tlsDetail
} from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { deSentences } from "../../src/ui/texts/deSentences.ts"
import { de, en } from "../../src/ui/texts/texts.ts"
import { makeLanguages, TextsShape } from "../../src/ui/Texts.ts"
import { call, onServer } from "../TestServer.ts"

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

  onServer("is the browser's, on the pages of both roles and on the applications' login page", function* () {
    for (const path of ["/console", "/portal", "/portal/open/x", "/oauth/authorize?client_id=none"]) {
      for (const lang of ["en", "de"]) {
        const page = yield* call("GET", path, { headers: { "accept-language": lang } })
        assert.include(page.text, `<html lang="${lang}">`, path)
        assert.strictEqual(page.headers.get("vary"), "Accept-Language")
      }
    }
    const german = yield* call("GET", "/console", { headers: { "accept-language": "de" } })
    assert.include(german.text, "Betreiberschlüssel")
  })

  onServer(
    "may be added or changed by the host, whose texts are escaped",
    function* () {
      const french = yield* call("GET", "/portal", { headers: { "accept-language": "fr" } })
      assert.include(french.text, `<html lang="fr">`)
      assert.include(french.text, "Se connecter &lt;b&gt;")
      // Texts that the host does not translate are in English.
      assert.include(french.text, "Password")
      const english = yield* call("GET", "/portal")
      assert.include(english.text, "<h1>Tower webhooks</h1>")
    },
    { texts: { fr: { sign_in: "Se connecter <b>" }, en: { owner_sign_in: "Tower webhooks" } } }
  )
})

/** Returns every sentence about a delivery, for operators and for owners. */
const explanations = (): ReadonlyArray<Sentence> => {
  const at = Date.UTC(2026, 2, 2)
  const statuses = [null, 200, 204, 302, 400, 401, 403, 404, 405, 410, 413, 429, 500, 502, 503, 504, 999]
  const codes = [
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "CERT_HAS_EXPIRED",
    "CERT_NOT_YET_VALID",
    "CERT_REVOKED",
    "ERR_SSL_WRONG_VERSION_NUMBER",
    "ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE",
    "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"
  ]
  const details = [
    null,
    "ECONNREFUSED",
    "points to https://doors.example/",
    "asked to wait 1m (Retry-After)",
    closedDetail,
    alertDetail,
    ...codes.map((code) => tlsDetail(code, "it failed"))
  ]
  const integrations = [
    null,
    { status: "enabled", disabled_reason: null },
    ...(["manual", "gone", "failing"] as const).map(
      (disabled_reason) => ({ status: "disabled", disabled_reason }) as const
    )
  ] as const
  const said: Array<Sentence> = []
  const attempts = [
    null,
    ...AttemptOutcome.literals.flatMap((outcome) =>
      statuses.flatMap((status) =>
        [...details, "asked to wait 2h (Retry-After)"].map((detail) => ({
          number: 1,
          started_at: at,
          duration_ms: 7,
          outcome,
          status,
          detail
        }))
      )
    )
  ]
  for (const reader of ["operator", "owner"] as const) {
    for (const last of attempts) if (last !== null) said.push(...Explanation.explainAttempt(last, reader))
    for (const last of [null, ...attempts.filter((one) => one?.status === 410 || one?.status === 429)]) {
      for (const state of deliveryStates) {
        for (const reason of [null, ...DeliveryReason.literals]) {
          for (const integration of integrations) {
            for (const time of [null, at]) {
              for (const attempts of [1, 3]) {
                const delivery = { state, reason, attempts, next_attempt_at: time }
                const explained = { delivery, last, integration, lifetime_over_at: time }
                const { next, why } = Explanation.explain(explained, reader)
                said.push(...why, ...next)
              }
            }
          }
        }
      }
    }
  }
  return said
}

describe("the explanations", () => {
  // None of these is a German word.
  const english = /\b(the|is|of|and|not|it|that|has|can|this|there|to|nothing|try|again)\b/i
  const plain = (html: string) =>
    html
      .replaceAll(/<span lang="en">[^<]*<\/span>/g, "")
      .replaceAll(/<[^>]*>/g, "")
      .replaceAll(/https?:\/\/\S*(?=\.$)/g, "")
  const seen = new Map(explanations().map((one) => [one.key, one]))

  it("are all German on a German page", () => {
    const german = languageFor("de")
    for (const one of seen.values()) {
      const text = plain(german.say([one]).toString())
      assert.notMatch(text, english)
      assert.notMatch(text, /[{}]|undefined|null|NaN/)
      assert.match(text, /\.$/)
    }
  })

  it("cover all of core's explanations", () => {
    const known = Object.keys(sentences).filter((key) => /^(attempt|delivery|remedy)_/.test(key))
    assert.deepStrictEqual([...seen.keys()].toSorted(), known.toSorted())
  })

  it("are German, like all other sentences of core", () => {
    for (const [key, text] of Object.entries(deSentences))
      assert.notMatch(text.replaceAll(/\{\w+\}/g, ""), english, key)
  })

  it("show times and durations in the reader's language, and technical details in English", () => {
    const text = languageFor("de")
      .say([
        say("remedy_attempt_asked", {
          n: 2,
          time: { time: 0 },
          wait: { duration: 60_000 },
          most: { duration: 3_600_000 }
        }),
        say("attempt_dns", { detail: " (<NXDOMAIN>)" })
      ])
      .toString()
    assert.include(
      text,
      `Versuch 2 ist am <time datetime="1970-01-01T00:00:00.000Z" class="number">1. Jan. 1970, 0:00:00 UTC</time>`
    )
    assert.include(text, "60 Sek. nach dieser Antwort")
    assert.include(text, `keine Adresse<span lang="en"> (&lt;NXDOMAIN&gt;)</span>. Prüfen`)
  })
})

describe("the texts", () => {
  it("have the same placeholders in each language", () => {
    const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).toSorted()
    const german: Readonly<Record<string, string>> = de
    for (const [key, text] of Object.entries(en)) {
      assert.deepStrictEqual(placeholders(german[key] ?? ""), placeholders(text), key)
    }
  })

  it("of a host must be strings", () => {
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

describe("times in a zone", () => {
  const cases: ReadonlyArray<readonly [zone: string, local: string, utc: string]> = [
    ["UTC", "2026-03-02T16:32", "2026-03-02T16:32:00.000Z"],
    ["Europe/Berlin", "2026-03-02T16:32", "2026-03-02T15:32:00.000Z"],
    ["Europe/Berlin", "2026-07-02T16:32", "2026-07-02T14:32:00.000Z"],
    ["America/New_York", "2026-11-28T11:32", "2026-11-28T16:32:00.000Z"],
    ["Asia/Kolkata", "2026-11-28T00:10", "2026-11-27T18:40:00.000Z"],
    ["America/St_Johns", "2026-11-28T00:10", "2026-11-28T03:40:00.000Z"],
    // The nights in which the clocks change.
    ["Europe/Berlin", "2026-03-29T01:59", "2026-03-29T00:59:00.000Z"],
    ["Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00:00.000Z"],
    ["Europe/Berlin", "2026-10-25T01:30", "2026-10-24T23:30:00.000Z"],
    ["Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00:00.000Z"],
    ["America/New_York", "2026-11-01T00:30", "2026-11-01T04:30:00.000Z"],
    ["America/New_York", "2026-11-01T03:00", "2026-11-01T08:00:00.000Z"]
  ]
  const english = languageFor("")
  for (const [zone, local, utc] of cases) {
    it(`are read from and written to a field: ${local} in ${zone}`, () => {
      const { fieldTime, instant } = english.inZone(zone)
      assert.strictEqual(new Date(instant(local) ?? 0).toISOString(), utc)
      assert.strictEqual(fieldTime(Date.parse(utc)), local)
    })
  }

  it("name the zone, and are undefined for a text that is no time", () => {
    const berlin = english.inZone("Europe/Berlin")
    assert.match(berlin.time(Date.UTC(2026, 2, 2, 15, 32, 4)), /^Mar 2, 2026, 4:32:04.PM GMT\+1$/)
    assert.strictEqual(berlin.clock(Date.UTC(2026, 2, 2, 15, 32)), "16:32")
    for (const text of ["", "soon", "2026-03-02", "2026-13-02T00:00", "2026-03-02T16:32Z"])
      assert.isUndefined(berlin.instant(text), text)
  })
})
