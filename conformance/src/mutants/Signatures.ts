/**
 * Faults in checking signatures.
 */
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto"
import { nodeRequest } from "@doorhook/receiver"
import type { Setting } from "../receivers/Parts.ts"
import type { Change } from "../receivers/Server.ts"
import { fault } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const signed = fault(1, "signed")
const signedProbed = fault(2, "signed")

interface Given {
  readonly id: string
  readonly timestamp: string
  readonly signatures: string
  readonly attempt: string
  readonly body: Buffer
  /** Seconds since the epoch. */
  readonly now: number
  /** The signature of a content under the secret's key. */
  readonly mac: (content: string | Buffer) => string
}

const keyOf = ({ secret }: Setting): Buffer => Buffer.from((secret ?? "").replace(/^whsec_/, ""), "base64")

/** Checks in a way of its own. */
const checks =
  (isGenuine: (given: Given) => boolean): Change =>
  (_, setting) => ({
    isGenuine: (headers, body) => {
      if (setting.secret === null) return true
      const mac = (content: string | Buffer): string =>
        createHmac("sha256", keyOf(setting)).update(content).digest("base64")
      return isGenuine({
        id: headers["webhook-id"] ?? "",
        timestamp: headers["webhook-timestamp"] ?? "",
        signatures: headers["webhook-signature"] ?? "",
        attempt: headers["doorhook-attempt"] ?? "",
        body,
        now: Math.floor(setting.now() / 1_000),
        mac
      })
    }
  })

const signatureOf = ({ body, id, mac, timestamp }: Given): string =>
  `v1,${mac(`${id}.${timestamp}.${body.toString()}`)}`

const reserialised = (body: Buffer): Buffer => {
  try {
    return Buffer.from(JSON.stringify(JSON.parse(body.toString())))
  } catch {
    return body
  }
}

const isSigned = (given: Given, expected = signatureOf(given)): boolean =>
  given.signatures
    .split(" ")
    .some((one) => one.length === expected.length && timingSafeEqual(Buffer.from(one), Buffer.from(expected)))

const isFresh = ({ now, timestamp }: Given, past = 300, future = past): boolean =>
  Number(timestamp) >= now - past && Number(timestamp) <= now + future

export const signatureFaults: ReadonlyArray<Fault> = [
  signed(
    "unsigned-welcome",
    "R-SIG-01",
    "Lets a request without a signature through.",
    checks((given) => given.signatures === "" || (isSigned(given) && isFresh(given)))
  ),
  signed(
    "id-made-up",
    "R-SIG-01",
    "Gives a request without an id one of its own, and lets it through: there is nothing its signature could fit.",
    (correct) => {
      const madeUp = new Set<string>()
      return {
        arrived: (request) => {
          if (!request.headers["webhook-id"]) {
            const id = randomUUID()
            madeUp.add(id)
            request.headers["webhook-id"] = id
          }
          return correct.arrived(request)
        },
        isGenuine: (headers, body) => madeUp.has(headers["webhook-id"] ?? "") || correct.isGenuine(headers, body)
      }
    }
  ),
  signed(
    "any-signature",
    "R-SIG-02",
    "Is content when there is a signature.",
    checks((given) => given.signatures.startsWith("v1,") && isFresh(given))
  ),
  signed(
    "length-only",
    "R-SIG-02",
    "Compares the lengths of signatures: the comparison that was meant to be safe was never called.",
    checks((given) => isFresh(given) && given.signatures.length >= signatureOf(given).length)
  ),
  signed(
    "open-when-broken",
    "R-SIG-02",
    "Lets a request through when checking it goes wrong.",
    checks((given) => isFresh(given) && (isSigned(given) || given.signatures !== ""))
  ),
  signed(
    "any-version",
    "R-SIG-03",
    "Looks at what stands behind the comma and not at the version before it.",
    checks(
      (given) =>
        isFresh(given) &&
        given.signatures.split(" ").some((one) => one.split(",").at(-1) === signatureOf(given).split(",")[1])
    )
  ),
  signed(
    "forgives-whitespace",
    "R-SIG-04",
    "Also accepts a body that fits once it is written again without whitespace.",
    checks((given) => isFresh(given) && (isSigned(given) || isSigned({ ...given, body: reserialised(given.body) })))
  ),
  signed(
    "lenient-clock",
    "R-SIG-04",
    "Tries timestamps around the one that was sent, for clocks that are off.",
    checks(
      (given) =>
        isFresh(given) &&
        Array.from({ length: 601 }, (_, index) => String(Number(given.timestamp) + index - 300)).some((timestamp) =>
          isSigned({ ...given, timestamp })
        )
    )
  ),
  signed(
    "one-signature",
    "R-SIG-05",
    "Takes the header for one signature.",
    checks((given) => isFresh(given) && given.signatures === signatureOf(given))
  ),
  signed(
    "first-signature",
    "R-SIG-05",
    "Looks at the first signature only.",
    checks((given) => isFresh(given) && isSigned({ ...given, signatures: given.signatures.split(" ")[0] ?? "" }))
  ),
  signed(
    "reserialised",
    "R-SIG-06",
    "Checks the body as its framework writes it again.",
    checks((given) => isFresh(given) && isSigned({ ...given, body: reserialised(given.body) }))
  ),
  signed(
    "trimmed-body",
    "R-SIG-06",
    "Checks the body without the whitespace around it.",
    checks((given) => isFresh(given) && isSigned({ ...given, body: Buffer.from(given.body.toString().trim()) }))
  ),
  signed("first-timestamp", "R-SIG-07", "Wants the timestamp of the first attempt on every further one.", (correct) => {
    const first = new Map<string, string>()
    return {
      isGenuine: (headers, body) => {
        const id = headers["webhook-id"] ?? ""
        const at = headers["webhook-timestamp"] ?? ""
        if (!first.has(id)) first.set(id, headers["webhook-signature"] ?? at)
        return correct.isGenuine(headers, body) && first.get(id) === (headers["webhook-signature"] ?? at)
      }
    }
  }),
  signed(
    "ten-seconds",
    "R-SIG-08",
    "Refuses timestamps that are ten seconds old.",
    checks((given) => isSigned(given) && isFresh(given, 10))
  ),
  signed(
    "no-early-birds",
    "R-SIG-08",
    "Refuses timestamps that are more than ten seconds ahead of its own clock.",
    checks((given) => isSigned(given) && isFresh(given, 300, 10))
  ),
  signed("any-age", "R-SIG-09", "Does not look at the timestamp.", checks(isSigned)),
  signed(
    "from-the-future",
    "R-SIG-09",
    "Refuses old timestamps only.",
    checks((given) => isSigned(given) && isFresh(given, 300, Number.MAX_SAFE_INTEGER))
  ),
  signed(
    "eight-minutes",
    "R-SIG-09",
    "Allows eight minutes, because clocks differ.",
    checks((given) => isSigned(given) && isFresh(given, 480))
  ),
  signed(
    "empty-old-secret",
    "R-SIG-02",
    "Takes an old secret too, which is not set and reads as an empty key.",
    checks((given) => {
      const mac = (content: string | Buffer): string => createHmac("sha256", "").update(content).digest("base64")
      return isFresh(given) && (isSigned(given) || isSigned({ ...given, mac }))
    })
  ),
  signed(
    "ten-minutes",
    "R-SIG-09",
    "Allows an hour instead of five minutes.",
    checks((given) => isSigned(given) && isFresh(given, 3_600))
  ),
  signed("whole-secret", "R-ACK-01", "Uses the text of the secret as the key, whsec_ and all.", (_, { secret }) => ({
    isGenuine: (headers, body) => {
      if (secret === null) return true
      const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body.toString()}`
      return headers["webhook-signature"] === `v1,${createHmac("sha256", secret).update(content).digest("base64")}`
    }
  })),
  signedProbed(
    "acts-then-checks",
    "R-SIG-02",
    "Acts before it checks the signature, and then answers 401.",
    (correct, { ledger }) => ({
      isGenuine: (headers, body) => {
        const isGenuine = correct.isGenuine(headers, body)
        if (!isGenuine) ledger.act({ id: headers["webhook-id"] ?? "", scope: "/hook", stored: body.toString() })
        return isGenuine
      }
    })
  ),
  signed("wrong-answered-200", "R-SIG-02", "Drops what is not genuine, and answers 200 all the same.", (correct) => {
    return {
      isGenuine: () => true,
      keep: (message) =>
        correct.isGenuine(nodeRequest(message.request).headers, Buffer.from(message.body)) && correct.keep(message)
    }
  })
]
