/**
 * Failures at the TLS of a receiver are explained by their cause, to operators and to owners of integrations.
 */
import { english, Explanation } from "@doorhook/core"
import { UndiciTransport } from "@doorhook/node"
import { endsWithoutAnswer } from "@doorhook/testkit/hostile/Catalogue"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import type { Behaviour } from "@doorhook/testkit/hostile/RawReceiver"
import { serve } from "@doorhook/testkit/hostile/RawReceiver"
import * as Tls from "@doorhook/testkit/hostile/Tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { post } from "./Posting.ts"

const authority = makeAuthority()

/** By receiver: what operators and owners are advised. */
const receivers: Record<string, readonly [Behaviour, RegExp, RegExp?]> = {
  "lacks its intermediate certificate": [
    Tls.lacksIntermediate(authority),
    /install its full chain.*ca-file/,
    /install its full chain there \(often fullchain\.pem\)\.$/
  ],
  "has a certificate of an unknown authority": [
    Tls.isFromUnknownAuthority(),
    /add your own authority with ca-file/,
    /ask the operator/
  ],
  "has a self-signed certificate": [
    Tls.isSelfSigned(),
    /is self-signed \(.*add this one with ca-file/,
    /ask the operator/
  ],
  "has a certificate for another name": [
    Tls.isForAnotherHost(authority),
    /Correct the URL, or install a certificate for that name/
  ],
  "has an expired certificate": [Tls.hasExpired(authority), /has expired.*Renew it/],
  "has a certificate that is not valid yet": [Tls.isNotYetValid(authority), /not valid yet.*Check the clocks/],
  "demands a client certificate": [
    Tls.asksForCertificate(authority),
    /demands a client certificate, which deliveries don't have/
  ],
  "has only old versions of TLS": [Tls.speaksOldTls(authority), /no version \(1\.2 or later\)/],
  "speaks plain HTTP": [Tls.speaksPlainHttp, /does not speak HTTPS.*or to http:\/\//]
}

const explained = (behave: Behaviour, scheme: "http" | "https") =>
  Effect.gen(function* () {
    const { url } = yield* serve(behave, { scheme })
    const result = yield* post(url)
    if (result._tag !== "Failed") return assert.fail(result._tag)
    const { detail, outcome } = result
    const attempt = { number: 1, started_at: 0, duration_ms: 1, outcome, status: null, detail }
    return [
      english(...Explanation.explainAttempt(attempt)),
      english(...Explanation.explainAttempt(attempt, "owner")),
      detail
    ] as const
  }).pipe(Effect.scoped, Effect.provide(UndiciTransport.layer({ authorities: [authority.cert] })))

describe("the explanation of a receiver that", () => {
  for (const [name, [behave, operator, owner = operator]] of Object.entries(receivers)) {
    it.live(name, () =>
      Effect.gen(function* () {
        const [toOperator, toOwner, detail] = yield* explained(behave, "https")
        assert.match(toOperator, operator)
        assert.include(toOperator, ` (${detail})`)
        assert.match(toOwner, owner)
        assert.notMatch(toOwner, /ca-file|TLS failed|127\.0\.0\.1/)
        for (const [other, [, pattern]] of Object.entries(receivers)) {
          if (other !== name) assert.notMatch(toOperator, pattern, other)
        }
      })
    )
  }

  it.live("speaks TLS where the URL says http", () =>
    Effect.gen(function* () {
      const [alerted, , detail] = yield* explained(Tls.sendsAlert, "http")
      assert.include(alerted, `speaks HTTPS, not plain HTTP (${detail}). Change the URL to https://.`)
      const [closed, toOwner] = yield* explained(endsWithoutAnswer, "http")
      assert.match(closed, /closed the connection without an answer.*If its port speaks HTTPS, change/)
      assert.match(toOwner, /If its port speaks HTTPS, change the integration's URL to https:\/\//)
    })
  )
})
