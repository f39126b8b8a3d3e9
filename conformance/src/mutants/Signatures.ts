/**
 * Receivers that check signatures wrongly.
 */
import { Refusal } from "@doorhook/receiver"
import type { ReceivedRequest } from "@doorhook/receiver"
import { createHmac } from "node:crypto"
import { idOf, incoming, keyOf, refusesUnlike, scopeOf, socketOf } from "./Base.ts"
import type { ReceiverState, Change, Rows } from "./Base.ts"

/** A request as a verifier sees it. */
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

/** Verifies in a way of its own; timestamps within tolerances, in seconds. */
export const checks =
  (isGenuine: (signed: Signed) => boolean, past = 300, future = past): Change =>
  (_, box) => ({
    verify: (request, body) => {
      const signed = signedOf(request, body, box)
      const age = Math.floor(box.now() / 1_000) - Number(signed.timestamp)
      if (!(age <= past && -age <= future && isGenuine(signed))) throw new Refusal(401, "not genuine")
    }
  })

/** Verifies some requests only. */
const leavesOut =
  (isLeftOut: (request: ReceivedRequest, body: Uint8Array, box: ReceiverState) => boolean): Change =>
  (correct, box) => ({
    verify: (request, body) => {
      if (!isLeftOut(request, body, box)) correct.verify(request, body)
    }
  })

/** Does something with a forged request before it is refused. */
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

export const signatureRows: Rows = {
  "R-SIG-01": {
    "unsigned-welcome": [
      "Lets a request without a signature through.",
      leavesOut(({ headers }) => !headers["webhook-signature"])
    ],
    "large-unchecked": [
      "Verifies bodies up to 64 KiB only, because larger ones come as a stream.",
      leavesOut((_, body) => body.length > 65_536)
    ]
  },
  "R-SIG-02": {
    "json-only": [
      "Verifies in a hook of its parser for application/json, and reads other bodies without it.",
      leavesOut(({ headers }) => headers["content-type"] !== "application/json")
    ],
    "one-spelling": [
      "Finds the signature under one spelling of the header's name, and lets through what seems to have none.",
      leavesOut(({ source }) => !incoming(source).rawHeaders.includes("webhook-signature"))
    ],
    "puts-unchecked": [
      "Takes events by PUT as well, on a route without the hook that verifies.",
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
      "Compares the lengths of signatures: the comparison that was meant to be safe was never called.",
      checks((signed) => signed.signatures.length === signatureOf(signed).length)
    ],
    "chunks-unchecked": [
      "Verifies in a hook that runs for requests with content-length only.",
      leavesOut(({ headers }) => headers["content-length"] === undefined)
    ],
    "empty-old-secret": [
      "Takes an old secret too, which is not set and reads as an empty key.",
      checks((signed) => isSigned(signed) || isSigned({ ...signed, key: Buffer.from("") }))
    ],
    "known-before-checked": [
      "Answers 200 to an id it knows before it looks at the signature.",
      leavesOut((request, _, box) => isKnown(box, request))
    ],
    "wrong-answered-200": [
      "Drops what is not genuine, and answers 200 all the same.",
      otherwise(() => {
        throw new Refusal(200, "ok")
      })
    ],
    "says-what-it-expected": [
      "Answers a wrong signature with the one that it expected, in hex.",
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
      "Notes an id as seen before it checks the signature: after a forged request the genuine one is a duplicate.",
      otherwise((_, request, { mark }) => void mark(keyOf(request))),
      { level: 2 }
    ]
  },
  "R-SIG-03": {
    "any-version": [
      "Looks at what stands behind the comma and not at the version before it.",
      checks((signed) =>
        signed.signatures.split(" ").some((one) => one.split(",").at(-1) === signatureOf(signed).split(",")[1])
      )
    ],
    "versions-that-begin-with-1": [
      "Takes every version that begins with v1.",
      checks((signed) => isSigned({ ...signed, signatures: signed.signatures.replaceAll(/v1[^,]*,/g, "v1,") }))
    ]
  },
  "R-SIG-04": {
    "lenient-clock": [
      "Tries timestamps around the one that was sent, for clocks that are off.",
      checks((signed) =>
        Array.from({ length: 601 }, (_, index) => String(Number(signed.timestamp) + index - 300)).some((timestamp) =>
          isSigned({ ...signed, timestamp })
        )
      )
    ],
    "trusts-the-connection": [
      "Verifies the first request of a connection, and trusts the others on it.",
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
      "Writes the body of a known id over the one before, and then checks its signature.",
      otherwise(({ body, id }, request, { ledger }) =>
        ledger.restore({ id, scope: scopeOf(request), stored: Buffer.from(body).toString() })
      ),
      { level: 2 }
    ]
  },
  "R-SIG-05": {
    "one-signature": [
      "Takes the header for one signature.",
      checks((signed) => signed.signatures === signatureOf(signed))
    ],
    "first-signature": [
      "Looks at the first signature only.",
      checks((signed) => signed.signatures.split(" ")[0] === signatureOf(signed))
    ]
  },
  "R-SIG-06": {
    "written-again": [
      "Verifies the body as its framework writes it again.",
      checks((signed) => isSigned({ ...signed, body: stringified(signed.body) }))
    ],
    "decoded-first": [
      "Verifies the body as its text in Latin-1, written in UTF-8.",
      checks((signed) => isSigned({ ...signed, body: Buffer.from(Buffer.from(signed.body).toString("latin1")) }))
    ]
  },
  "R-SIG-07": {
    "first-signature-kept": [
      "Knows duplicates by their signature, and refuses an id under another one.",
      refusesUnlike((_, { headers }) => headers["webhook-signature"], Object.is)
    ],
    "half-a-minute-apart": [
      "Refuses a retry that is stamped more than half a minute after the first attempt.",
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
      "Lets a request through whose timestamp it can't read: what throws while it verifies is logged, and no more.",
      leavesOut(({ headers }) => Number.isNaN(Number(headers["webhook-timestamp"])))
    ],
    "an-hour": ["Allows an hour.", checks(isSigned, 3_600), { found: "WARN" }],
    "any-age-once-known": [
      "Looks at the timestamp of new ids only: an overheard request is good forever.",
      leavesOut((request, body, box) => isKnown(box, request) && isSigned(signedOf(request, body, box))),
      { found: "WARN" }
    ]
  }
}
