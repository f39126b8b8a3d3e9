/**
 * Faults that a forger uses who knows the id of an event: of one that was handled, or of one that is still to come.
 */
import { createHmac } from "node:crypto"
import type { Parts, Setting } from "../receivers/Parts.ts"
import type { Change } from "../receivers/Server.ts"
import { fault } from "./Fault.ts"
import type { Fault } from "./Fault.ts"

const signed = fault(1, "signed")
const signedProbed = fault(2, "signed")

type Headers = Parameters<Parts["isGenuine"]>[0]

const idOf = (headers: Headers): string => headers["webhook-id"] ?? ""

const isKnown = ({ ledger }: Setting, headers: Headers): boolean => ledger.isKnown(`/hook ${idOf(headers)}`)

/** The one signature that fits, whatever its timestamp. */
const signatureOf = ({ secret }: Setting, headers: Headers, body: Buffer): string => {
  const key = Buffer.from((secret ?? "").replace(/^whsec_/, ""), "base64")
  const content = `${idOf(headers)}.${headers["webhook-timestamp"]}.${body.toString()}`
  return `v1,${createHmac("sha256", key).update(content).digest("base64")}`
}

/** Takes more for genuine than is. */
const alsoTakes =
  (mistaken: (setting: Setting, headers: Headers, body: Buffer) => boolean): Change =>
  (correct, setting) => ({
    isGenuine: (headers, body) => correct.isGenuine(headers, body) || mistaken(setting, headers, body)
  })

export const forgeryFaults: ReadonlyArray<Fault> = [
  signed(
    "known-before-checked",
    "R-SIG-02",
    "Answers 200 to an id it knows before it looks at the signature.",
    alsoTakes((setting, headers) => isKnown(setting, headers))
  ),
  signedProbed(
    "seen-before-checked",
    "R-SIG-02",
    "Notes an id as seen before it checks the signature: after a forged request the genuine one is a duplicate.",
    (correct) => {
      const forged = new Set<string>()
      return {
        isGenuine: (headers, body) => {
          const isGenuine = correct.isGenuine(headers, body)
          if (!isGenuine) forged.add(idOf(headers))
          return isGenuine
        },
        keep: (message) => (forged.has(message.id) ? false : correct.keep(message))
      }
    }
  ),
  signed("bans-the-id", "R-SIG-02", "Refuses an id for good once it came under a wrong signature.", (correct) => {
    const forged = new Set<string>()
    return {
      isGenuine: (headers, body) => {
        if (!correct.isGenuine(headers, body)) forged.add(idOf(headers))
        return !forged.has(idOf(headers))
      }
    }
  }),
  signedProbed(
    "stores-before-checked",
    "R-SIG-04",
    "Writes the body of a known id over the one before, and then checks its signature.",
    (correct, setting) => ({
      isGenuine: (headers, body) => {
        if (isKnown(setting, headers)) {
          setting.ledger.restore({ id: idOf(headers), scope: "/hook", stored: body.toString() })
        }
        return correct.isGenuine(headers, body)
      }
    })
  ),
  signed(
    "any-age-once-known",
    "R-SIG-09",
    "Looks at the timestamp of new ids only: an overheard request is good for ever.",
    alsoTakes(
      (setting, headers, body) =>
        isKnown(setting, headers) && headers["webhook-signature"] === signatureOf(setting, headers, body)
    )
  ),
  signed(
    "case-folded-signature",
    "R-SIG-02",
    "Compares signatures without regard to case, like other headers.",
    alsoTakes(
      (setting, headers, body) =>
        headers["webhook-signature"]?.toLowerCase() === signatureOf(setting, headers, body).toLowerCase()
    )
  )
]
