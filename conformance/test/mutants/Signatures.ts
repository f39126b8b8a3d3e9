/**
 * Receivers that check signatures wrongly.
 */
import { Refusal } from "@doorhook/receiver"
import type { ReceivedRequest } from "@doorhook/receiver"
import { createHmac } from "node:crypto"
import { idOf, incoming, keyOf, refusesUnlike, scopeOf, socketOf } from "./Base.ts"
import type { ReceiverState, Change, WrongReceivers } from "./Base.ts"

/** The parts of a request that a verifier needs, and the key. */
interface Signed {
  readonly id: string
  readonly timestamp: string
  readonly signatures: string
  readonly body: Uint8Array
  readonly key: Buffer
}

const signedOf = (request: ReceivedRequest, body: Uint8Array, { secret }: ReceiverState): Signed => ({
  id: idOf(request),
  timestamp: request.headers["webhook-timestamp"] ?? "",
  signatures: request.headers["webhook-signature"] ?? "",
  body,
  key: Buffer.from((secret ?? "").replace(/^whsec_/, ""), "base64")
})

const signatureOf = ({ body, id, key, timestamp }: Signed): string =>
  `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`

export const isSigned = (signed: Signed): boolean => signed.signatures.split(" ").includes(signatureOf(signed))

/** Verifies signatures with `isGenuine`, and timestamps with these tolerances, in seconds. */
export const checks =
  (isGenuine: (signed: Signed) => boolean, past = 300, future = past): Change =>
  (_, box) => ({
    verify: (request, body) => {
      const signed = signedOf(request, body, box)
      const age = Math.floor(box.now() / 1_000) - Number(signed.timestamp)
      if (!(age <= past && -age <= future && isGenuine(signed))) throw new Refusal(401, "not genuine")
    }
  })

/** Verifies all requests except those that `isLeftOut` selects. */
const leavesOut =
  (isLeftOut: (request: ReceivedRequest, body: Uint8Array, box: ReceiverState) => boolean): Change =>
  (correct, box) => ({
    verify: (request, body) => {
      if (!isLeftOut(request, body, box)) correct.verify(request, body)
    }
  })

/** Does something with a forged request before refusing it. */
const otherwise =
  (more: (signed: Signed, request: ReceivedRequest, box: ReceiverState) => void): Change =>
  (correct, box) => ({
    verify: (request, body) => {
      try {
        correct.verify(request, body)
      } catch (error) {
        more(signedOf(request, body, box), request, box)
        throw error
      }
    }
  })

const isKnown = ({ ledger }: ReceiverState, request: ReceivedRequest): boolean => ledger.isKnown(keyOf(request))

const stringified = (body: Uint8Array): Buffer => {
  try {
    return Buffer.from(JSON.stringify(JSON.parse(Buffer.from(body).toString())))
  } catch {
    return Buffer.from(body)
  }
}

export const signatureRows: WrongReceivers = {
  "R-SIG-01": {
    "unsigned-welcome": [
      "Accepts a request without a signature.",
      leavesOut(({ headers }) => !headers["webhook-signature"])
    ],
    "large-unchecked": [
      "Verifies only bodies up to 64 KiB, because it reads larger ones as a stream.",
      leavesOut((_, body) => body.length > 65_536)
    ]
  },
  "R-SIG-02": {
    "json-only": [
      "Verifies only bodies with content type application/json, in a hook of its parser.",
      leavesOut(({ headers }) => headers["content-type"] !== "application/json")
    ],
    "one-spelling": [
      "Finds the signature only under one spelling of the header's name, and accepts requests that seem to have none.",
      leavesOut(({ source }) => !incoming(source).rawHeaders.includes("webhook-signature"))
    ],
    "puts-unchecked": [
      "Also accepts events by PUT, on a route without the hook that verifies.",
      (correct) => ({
        admit: (request) => {
          if (request.method !== "PUT") correct.admit(request)
        },
        verify: (request, body) => {
          if (request.method !== "PUT") correct.verify(request, body)
        }
      })
    ],
    "length-only": [
      "Compares only the lengths of signatures, because the safe comparison is never called.",
      checks((signed) => signed.signatures.length === signatureOf(signed).length)
    ],
    "chunks-unchecked": [
      "Verifies only requests with content-length.",
      leavesOut(({ headers }) => headers["content-length"] === undefined)
    ],
    "empty-old-secret": [
      "Also accepts an old secret, which is not set and therefore is an empty key.",
      checks((signed) => isSigned(signed) || isSigned({ ...signed, key: Buffer.from("") }))
    ],
    "known-before-checked": [
      "Answers 200 to a known id before it checks the signature.",
      leavesOut((request, _, box) => isKnown(box, request))
    ],
    "wrong-answered-200": [
      "Drops forged requests, but answers 200 to them.",
      otherwise(() => {
        throw new Refusal(200, "ok")
      })
    ],
    "says-what-it-expected": [
      "Returns the signature that it expected, in hex.",
      otherwise((signed) => {
        const expected = Buffer.from(signatureOf(signed).slice("v1,".length), "base64").toString("hex")
        throw new Refusal(401, "not genuine", { headers: { "x-expected-signature": expected } })
      })
    ],
    "acts-then-checks": [
      "Acts before it checks the signature, and then answers 401.",
      otherwise(({ body, id }, request, { ledger }) =>
        ledger.act({ id, scope: scopeOf(request), stored: Buffer.from(body).toString() })
      ),
      { level: 2 }
    ],
    "seen-before-checked": [
      "Marks an id as seen before it checks the signature, so that a forged request makes the genuine one a duplicate.",
      otherwise((_, request, { mark }) => void mark(keyOf(request))),
      { level: 2 }
    ]
  },
  "R-SIG-03": {
    "any-version": [
      "Compares the signature after the comma and ignores the version before it.",
      checks((signed) =>
        signed.signatures.split(" ").some((one) => one.split(",").at(-1) === signatureOf(signed).split(",")[1])
      )
    ],
    "versions-that-begin-with-1": [
      "Accepts every version that begins with v1.",
      checks((signed) => isSigned({ ...signed, signatures: signed.signatures.replaceAll(/v1[^,]*,/g, "v1,") }))
    ]
  },
  "R-SIG-04": {
    "lenient-clock": [
      "Also tries timestamps around the one that was sent, to allow for wrong clocks.",
      checks((signed) =>
        Array.from({ length: 601 }, (_, index) => String(Number(signed.timestamp) + index - 300)).some((timestamp) =>
          isSigned({ ...signed, timestamp })
        )
      )
    ],
    "trusts-the-connection": [
      "Verifies only the first request on a connection.",
      (correct) => {
        const trusted = new WeakSet<object>()
        return {
          verify: (request, body) => {
            if (!trusted.has(socketOf(request))) correct.verify(request, body)
            trusted.add(socketOf(request))
          }
        }
      }
    ],
    "stores-before-checked": [
      "Overwrites the stored body of a known id before it checks the signature.",
      otherwise(({ body, id }, request, { ledger }) =>
        ledger.restore({ id, scope: scopeOf(request), stored: Buffer.from(body).toString() })
      ),
      { level: 2 }
    ]
  },
  "R-SIG-05": {
    "one-signature": [
      "Treats the whole header as one signature.",
      checks((signed) => signed.signatures === signatureOf(signed))
    ],
    "first-signature": [
      "Checks only the first signature.",
      checks((signed) => signed.signatures.split(" ")[0] === signatureOf(signed))
    ]
  },
  "R-SIG-06": {
    "written-again": [
      "Verifies the body after its framework has parsed and serialised it again.",
      checks((signed) => isSigned({ ...signed, body: stringified(signed.body) }))
    ],
    "decoded-first": [
      "Decodes the body as Latin-1 and verifies it encoded as UTF-8.",
      checks((signed) => isSigned({ ...signed, body: Buffer.from(Buffer.from(signed.body).toString("latin1")) }))
    ]
  },
  "R-SIG-07": {
    "first-signature-kept": [
      "Refuses a known id with a different signature than before.",
      refusesUnlike((_, { headers }) => headers["webhook-signature"], Object.is)
    ],
    "half-a-minute-apart": [
      "Refuses a retry with a timestamp more than half a minute after the first attempt's.",
      refusesUnlike(
        (_, { headers }) => Number(headers["webhook-timestamp"]),
        (own, first) => own - first <= 30
      )
    ]
  },
  "R-SIG-08": {
    "ten-seconds": ["Refuses timestamps that are ten seconds old.", checks(isSigned, 10, 300)],
    "no-early-birds": [
      "Refuses timestamps that are more than ten seconds ahead of its own clock.",
      checks(isSigned, 300, 10)
    ]
  },
  "R-SIG-09": {
    "open-on-garbage": [
      "Accepts a request with an unreadable timestamp, because it only logs verification errors.",
      leavesOut(({ headers }) => Number.isNaN(Number(headers["webhook-timestamp"])))
    ],
    "an-hour": ["Accepts timestamps that are up to an hour off.", checks(isSigned, 3_600), { found: "WARN" }],
    "any-age-once-known": [
      "Checks the timestamp only of new ids, so that a recorded request stays valid forever.",
      leavesOut((request, body, box) => isKnown(box, request) && isSigned(signedOf(request, body, box))),
      { found: "WARN" }
    ]
  }
}
