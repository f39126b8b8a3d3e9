/**
 * Receivers that check signatures wrongly.
 */
import { Refusal } from "@doorhook/receiver"
import type { ReceivedRequest } from "@doorhook/receiver"
import { createHmac, randomUUID } from "node:crypto"
import { scopeOf, socketOf } from "./Base.ts"
import type { Box, Change } from "./Base.ts"
import { faults } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

/** A request as a verifier sees it. */
interface Signed {
  readonly id: string
  readonly timestamp: string
  readonly signatures: string
  readonly body: Uint8Array
  /** Seconds since the epoch. */
  readonly now: number
  readonly key: Buffer
}

const signedOf = (request: ReceivedRequest, body: Uint8Array, { now, secret }: Box): Signed => ({
  id: request.headers["webhook-id"] ?? "",
  timestamp: request.headers["webhook-timestamp"] ?? "",
  signatures: request.headers["webhook-signature"] ?? "",
  body,
  now: Math.floor(now() / 1_000),
  key: Buffer.from((secret ?? "").replace(/^whsec_/, ""), "base64")
})

const signatureOf = ({ body, id, key, timestamp }: Signed): string =>
  `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`

const isSigned = (signed: Signed): boolean => signed.signatures.split(" ").includes(signatureOf(signed))

/** Whether a timestamp is within a tolerance, in seconds. */
const isFresh = ({ now, timestamp }: Signed, past = 300, future = past): boolean =>
  Number(timestamp) >= now - past && Number(timestamp) <= now + future

const refused = (): Refusal => new Refusal(401, "not genuine")

/** Verifies in a way of its own. */
const checks =
  (isGenuine: (signed: Signed) => boolean): Change =>
  (_, box) => ({
    verify: (request, body) => {
      if (box.secret !== null && !isGenuine(signedOf(request, body, box))) throw refused()
    }
  })

/** Verifies some requests only. */
const leavesOut =
  (isLeftOut: (request: ReceivedRequest, body: Uint8Array, box: Box) => boolean): Change =>
  (correct, box) => ({
    verify: (request, body) => {
      if (!isLeftOut(request, body, box)) correct.verify(request, body)
    }
  })

/** Whether a request is genuine, and what happens when it is not. */
const otherwise =
  (refusal: (signed: Signed, request: ReceivedRequest, box: Box) => void): Change =>
  (correct, box) => ({
    verify: (request, body) => {
      try {
        correct.verify(request, body)
      } catch (error) {
        refusal(signedOf(request, body, box), request, box)
        throw error
      }
    }
  })

const isKnown = ({ ledger }: Box, request: ReceivedRequest): boolean =>
  ledger.isKnown(`${scopeOf(request)} ${request.headers["webhook-id"] ?? ""}`)

const stringified = (body: Uint8Array): Buffer => {
  try {
    return Buffer.from(JSON.stringify(JSON.parse(Buffer.from(body).toString())))
  } catch {
    return Buffer.from(body)
  }
}

const unsigned: ReadonlyArray<Fault> = [
  ...faults(1, { profile: "signed" })(
    [
      "unsigned-welcome",
      "R-SIG-01",
      "Lets a request without a signature through.",
      leavesOut(({ headers }) => !headers["webhook-signature"])
    ],
    [
      "large-unchecked",
      "R-SIG-01",
      "Verifies bodies up to 64 KiB only, because larger ones come as a stream.",
      leavesOut((_, body) => body.length > 65_536)
    ],
    [
      "id-made-up",
      "R-SIG-01",
      "Gives a request without an id one of its own, and lets it through: there is nothing that its signature could fit.",
      (correct) => ({
        verify: (request, body) => {
          if (request.headers["webhook-id"]) correct.verify(request, body)
        },
        parse: (request, body) =>
          request.headers["webhook-id"]
            ? correct.parse(request, body)
            : correct.parse({ ...request, headers: { ...request.headers, "webhook-id": randomUUID() } }, body)
      })
    ]
  )
]

const wronglySigned: ReadonlyArray<Fault> = [
  ...faults(1, { profile: "signed" })(
    [
      "any-signature",
      "R-SIG-02",
      "Is content when there is a signature.",
      checks((signed) => signed.signatures.startsWith("v1,") && isFresh(signed))
    ],
    [
      "length-only",
      "R-SIG-02",
      "Compares the lengths of signatures: the comparison that was meant to be safe was never called.",
      checks((signed) => isFresh(signed) && signed.signatures.length === signatureOf(signed).length)
    ],
    [
      "chunks-unchecked",
      "R-SIG-02",
      "Verifies in a hook that runs for requests with content-length only.",
      leavesOut(({ headers }) => headers["content-length"] === undefined)
    ],
    [
      "empty-old-secret",
      "R-SIG-02",
      "Takes an old secret too, which is not set and reads as an empty key.",
      checks((signed) => isFresh(signed) && (isSigned(signed) || isSigned({ ...signed, key: Buffer.from("") })))
    ],
    [
      "case-folded-signature",
      "R-SIG-02",
      "Compares signatures without regard to case.",
      checks(
        (signed) =>
          isFresh(signed) && signed.signatures.toLowerCase().split(" ").includes(signatureOf(signed).toLowerCase())
      )
    ],
    [
      "known-before-checked",
      "R-SIG-02",
      "Answers 200 to an id it knows before it looks at the signature.",
      leavesOut((request, _, box) => isKnown(box, request))
    ],
    [
      "bans-the-id",
      "R-SIG-02",
      "Refuses an id for good once it came under a wrong signature.",
      (correct) => {
        const forged = new Set<string | undefined>()
        return {
          verify: (request, body) => {
            const id = request.headers["webhook-id"]
            if (forged.has(id)) throw refused()
            try {
              correct.verify(request, body)
            } catch (error) {
              forged.add(id)
              throw error
            }
          }
        }
      }
    ],
    [
      "wrong-answered-200",
      "R-SIG-02",
      "Drops what is not genuine, and answers 200 all the same.",
      otherwise(() => {
        throw new Refusal(200, "ok")
      })
    ],
    [
      "says-what-it-expected",
      "R-SIG-02",
      "Answers a wrong signature with the one that it expected.",
      otherwise((signed) => {
        throw new Refusal(401, `expected ${signatureOf(signed)}`)
      })
    ],
    [
      "expected-in-a-header",
      "R-SIG-04",
      "Puts the signature that it expected into a header of its refusal, in hex.",
      otherwise((signed) => {
        const expected = Buffer.from(signatureOf(signed).slice("v1,".length), "base64").toString("hex")
        throw new Refusal(401, "not genuine", { headers: { "x-expected-signature": expected } })
      })
    ]
  ),
  ...faults(2, { profile: "signed" })(
    [
      "acts-then-checks",
      "R-SIG-02",
      "Acts before it checks the signature, and then answers 401.",
      otherwise(({ body, id }, request, { ledger }) =>
        ledger.act({ id, scope: scopeOf(request), stored: Buffer.from(body).toString() })
      )
    ],
    [
      "seen-before-checked",
      "R-SIG-02",
      "Notes an id as seen before it checks the signature: after a forged request the genuine one is a duplicate.",
      otherwise(({ id }, request, { ledger, now }) => void ledger.mark(`${scopeOf(request)} ${id}`, now()))
    ]
  )
]

export const signatureFaults: ReadonlyArray<Fault> = [
  ...unsigned,
  ...wronglySigned,
  ...faults(1, { profile: "signed" })(
    [
      "any-version",
      "R-SIG-03",
      "Looks at what stands behind the comma and not at the version before it.",
      checks(
        (signed) =>
          isFresh(signed) &&
          signed.signatures.split(" ").some((one) => one.split(",").at(-1) === signatureOf(signed).split(",")[1])
      )
    ],
    [
      "versions-that-begin-with-1",
      "R-SIG-03",
      "Takes every version that begins with v1.",
      checks(
        (signed) =>
          isFresh(signed) && isSigned({ ...signed, signatures: signed.signatures.replaceAll(/v1[^,]*,/g, "v1,") })
      )
    ],
    [
      "forgives-whitespace",
      "R-SIG-04",
      "Also accepts a body that fits once it is written again without whitespace.",
      checks(
        (signed) => isFresh(signed) && (isSigned(signed) || isSigned({ ...signed, body: stringified(signed.body) }))
      )
    ],
    [
      "lenient-clock",
      "R-SIG-04",
      "Tries timestamps around the one that was sent, for clocks that are off.",
      checks(
        (signed) =>
          isFresh(signed) &&
          Array.from({ length: 601 }, (_, index) => String(Number(signed.timestamp) + index - 300)).some((timestamp) =>
            isSigned({ ...signed, timestamp })
          )
      )
    ],
    [
      "trusts-the-connection",
      "R-SIG-04",
      "Verifies the first request of a connection, and trusts the others on it.",
      (correct) => {
        const trusted = new WeakSet<object>()
        return {
          verify: (request, body) => {
            const socket = socketOf(request)
            if (trusted.has(socket)) return
            correct.verify(request, body)
            trusted.add(socket)
          }
        }
      }
    ],
    [
      "one-signature",
      "R-SIG-05",
      "Takes the header for one signature.",
      checks((signed) => isFresh(signed) && signed.signatures === signatureOf(signed))
    ],
    [
      "first-signature",
      "R-SIG-05",
      "Looks at the first signature only.",
      checks((signed) => isFresh(signed) && signed.signatures.split(" ")[0] === signatureOf(signed))
    ],
    [
      "written-again",
      "R-SIG-06",
      "Verifies the body as its framework writes it again.",
      checks((signed) => isFresh(signed) && isSigned({ ...signed, body: stringified(signed.body) }))
    ],
    [
      "decoded-first",
      "R-SIG-06",
      "Verifies the body as its text in Latin-1, written in UTF-8.",
      checks((signed) => {
        const body = Buffer.from(Buffer.from(signed.body).toString("latin1"))
        return isFresh(signed) && isSigned({ ...signed, body })
      })
    ],
    [
      "first-signature-kept",
      "R-SIG-07",
      "Knows duplicates by their signature, and refuses an id under another one.",
      (correct) => {
        const first = new Map<string | undefined, string | undefined>()
        return {
          verify: (request, body) => {
            correct.verify(request, body)
            const { "webhook-id": id, "webhook-signature": signature } = request.headers
            if (!first.has(id)) first.set(id, signature)
            if (first.get(id) !== signature) throw new Refusal(409, "signed otherwise before")
          }
        }
      }
    ],
    [
      "half-a-minute-apart",
      "R-SIG-07",
      "Refuses a retry that is stamped more than half a minute after the first attempt.",
      (correct) => {
        const first = new Map<string | undefined, number>()
        return {
          verify: (request, body) => {
            correct.verify(request, body)
            const { "webhook-id": id, "webhook-timestamp": timestamp } = request.headers
            const since = first.get(id) ?? Number(timestamp)
            first.set(id, since)
            if (Number(timestamp) - since > 30) throw refused()
          }
        }
      }
    ],
    [
      "open-on-garbage",
      "R-SIG-09",
      "Lets a request through whose timestamp it can't read: what throws while it verifies is logged, and no more.",
      leavesOut(({ headers }) => Number.isNaN(Number(headers["webhook-timestamp"])))
    ]
  ),
  ...faults(1, { profile: "signed", found: "WARN" })(
    [
      "ten-seconds",
      "R-SIG-08",
      "Refuses timestamps that are ten seconds old.",
      checks((signed) => isSigned(signed) && isFresh(signed, 10, 300))
    ],
    [
      "no-early-birds",
      "R-SIG-08",
      "Refuses timestamps that are more than ten seconds ahead of its own clock.",
      checks((signed) => isSigned(signed) && isFresh(signed, 300, 10))
    ],
    ["any-age", "R-SIG-09", "Does not look at the timestamp.", checks(isSigned)],
    [
      "from-the-future",
      "R-SIG-09",
      "Refuses old timestamps only.",
      checks((signed) => isSigned(signed) && isFresh(signed, 300, Number.MAX_SAFE_INTEGER))
    ],
    ["an-hour", "R-SIG-09", "Allows an hour.", checks((signed) => isSigned(signed) && isFresh(signed, 3_600))],
    [
      "any-age-once-known",
      "R-SIG-09",
      "Looks at the timestamp of new ids only: an overheard request is good forever.",
      leavesOut((request, body, box) => isKnown(box, request) && isSigned(signedOf(request, body, box)))
    ]
  ),
  ...faults(2, { profile: "signed" })([
    "stores-before-checked",
    "R-SIG-04",
    "Writes the body of a known id over the one before, and then checks its signature.",
    (correct, box) => ({
      verify: (request, body) => {
        if (isKnown(box, request)) {
          const id = request.headers["webhook-id"] ?? ""
          box.ledger.restore({ id, scope: scopeOf(request), stored: Buffer.from(body).toString() })
        }
        correct.verify(request, body)
      }
    })
  ])
]
