/**
 * Receivers can tell that it was us, with the secret they have: the current one, or one that was rotated out within a day.
 */
import type { Integration } from "@doorhook/core"
import { Redacted } from "effect"
import { signatureHeader, timestampAt } from "../rules/SignatureHeader.ts"
import type { Check, Violation } from "./Check.ts"
import { versionsAt } from "./Knowledge.ts"
import type { Trace } from "./Trace.ts"
import { clockOf } from "./Trace.ts"

const day = 24 * 3_600_000
/** How many secrets that were rotated out sign at most. */
const mostKept = 5

/** What the clocks of two processes, and a jump of the world's, can make of a day. */
const leeway = 5 * 60_000

const wrong = (trace: Trace): ReadonlyArray<Violation> =>
  trace.requests.flatMap((request) => {
    const { delivery, entry } = request
    const clock = clockOf(trace, entry.engine, entry)
    const genuine = versionsAt(trace, request).some(
      (version) => signatureHeader(version, entry, clock) === entry.signature
    )
    if (genuine && entry.timestamp === timestampAt(clock)) return []
    const what = `delivery ${delivery.id} is not signed with the secrets of integration ${delivery.integration_id}`
    return [{ what, entries: [entry.index] }]
  })

/** Rotations that do not keep the secret before for a day, or end one that had time left and need not make room. */
const forgotten = ({ integrations }: Trace): ReadonlyArray<Violation> =>
  [...integrations.values()].flatMap((history) =>
    history.flatMap(({ index, integration, wall }, at) => {
      const before = history[at - 1]?.integration
      if (before === undefined) return []
      const secretOf = (secret: Integration["signing_secret"]) => Redacted.value(secret)
      if (secretOf(before.signing_secret) === secretOf(integration.signing_secret)) return []
      const [newest, ...older] = integration.previous_secrets
      const isKept =
        newest !== undefined &&
        secretOf(newest.secret) === secretOf(before.signing_secret) &&
        Math.abs(newest.until - wall - day) < leeway
      // Before the leeway's end a clock may say that its time is over.
      const owed = before.previous_secrets.filter(({ until }) => until > wall + leeway).slice(0, mostKept - 1)
      const kept = new Map(older.map(({ secret, until }) => [secretOf(secret), until]))
      if (isKept && owed.every(({ secret, until }) => kept.get(secretOf(secret)) === until)) return []
      return [{ what: `integration ${integration.id} lost the secret it had`, entries: [index] }]
    })
  )

export const signatures: Check = {
  name: "signatures",
  rule: "Every request is signed with the current secret, and with each before it during its day.",
  violations: (trace) => [...wrong(trace), ...forgotten(trace)]
}
