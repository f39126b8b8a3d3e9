/**
 * Receivers that check signatures with a public key and have no secret.
 */
import { Crypto, Signature } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHmac } from "node:crypto"
import type { Change } from "./mutants/Base.ts"
import { inProcess } from "./mutants/Faults.ts"
import { httpProbe } from "../src/probes/Probe.ts"
import { run as runSuite } from "./support/run.ts"

const tried = Effect.fnUntraced(function* (change: Change) {
  const privateKey = yield* Signature.generatePrivateKey
  const publicKey = yield* Signature.publicKeyOf(privateKey)
  const origin = yield* inProcess({ change, secret: publicKey })
  const { requirements } = yield* runSuite({
    url: new URL("/hook", origin),
    probe: httpProbe(new URL("/probe", origin)),
    secret: privateKey,
    level: 2,
    profile: ["signed"],
    only: ["R-SIG-02", "R-SIG-04", "R-SIG-05"],
    settle: 1_000,
    maxTime: 30_000,
    pace: 0.05,
    seed: 1
  })
  return requirements
}, Effect.provide(Crypto.layerWebCrypto))

/** Accepts HMAC signatures with the public key as their secret: anybody who reads the key can sign. */
const confused: Change = (correct, { secret }) => ({
  verify: (request, body) => {
    const { "webhook-id": id = "", "webhook-signature": given = "", "webhook-timestamp": at = "" } = request.headers
    const key = Buffer.from((secret ?? "").replace("whpk_", ""), "base64")
    const mac = createHmac("sha256", key).update(`${id}.${at}.`).update(body).digest("base64")
    if (given !== `v1,${mac}`) correct.verify(request, body)
  }
})

/** Accepts every signature that claims to be made with a private key. */
const blind: Change = (correct) => ({
  verify: (request, body) => {
    if (!(request.headers["webhook-signature"] ?? "").startsWith("v1a,")) correct.verify(request, body)
  }
})

describe.concurrent("a receiver that has a public key", () => {
  it.live("passes if it checks everything", () =>
    Effect.gen(function* () {
      for (const { id, observed, verdict } of yield* tried(() => ({}))) {
        assert.strictEqual(verdict, "PASS", `${id} ${observed}`)
      }
    })
  )

  it.live("fails if anybody can sign", () =>
    Effect.gen(function* () {
      for (const [change, words] of [
        [confused, /public key as if it were a secret/],
        [blind, /another secret|random|another webhook-id|wrong/]
      ] as const) {
        const failed = (yield* tried(change)).filter(({ verdict }) => verdict === "FAIL")
        assert.isNotEmpty(failed)
        assert.match(JSON.stringify(failed), words)
      }
    })
  )
})
