/**
 * The port through which the suite sees what a receiver did: how often the effect of an event was committed.
 */
import { Effect, Schema } from "effect"

/** Whose effects are asked for. */
export interface Subject {
  readonly webhookId: string
  readonly resourceType: string
  /** `event.data.id` as raw JSON text: it may be longer than a double holds. */
  readonly dataId: string
  /** The URL the event was sent to; null where there is one only. */
  readonly endpoint: string | null
}

export interface ProbeReading {
  readonly effects: number
  /** `sha256:HEX` of the RFC 8785 form of `event.data` as it was stored; null when the probe does not say. */
  readonly digest: string | null
}

/** The probe gave no answer that can be used: nothing can be said of what the receiver did. */
export class ProbeUnusable extends Schema.TaggedError<ProbeUnusable>()("ProbeUnusable", {
  /** What was asked, what came of it, what to do. */
  message: Schema.String
}) {}

/** A digest in the one form in which it is compared: hex digits have no case (RFC 4648, section 8). */
export const readDigest = (
  text: string | null,
  unusable: (what: string) => ProbeUnusable
): Effect.Effect<string | null, ProbeUnusable> =>
  text === null || /^sha256:[0-9a-f]{64}$/i.test(text)
    ? Effect.succeed(text === null ? null : text.toLowerCase())
    : Effect.fail(unusable(`the digest ${JSON.stringify(text.slice(0, 100))}, which is not sha256: and 64 hex digits`))

/** How effects are counted. */
export const probeKinds = ["http", "exec", "log", "sink"] as const
type ProbeKind = (typeof probeKinds)[number]

export interface Probe {
  readonly kind: ProbeKind
  /** Where it looks, for reports. */
  readonly name: string
  /** How many readings may be made at once. */
  readonly concurrency: number
  readonly read: (subject: Subject) => Effect.Effect<ProbeReading, ProbeUnusable>
  /** The ids of all events it has seen effects of, whoever sent them; missing where it can be asked for one only. */
  readonly seen?: Effect.Effect<ReadonlyArray<string>, ProbeUnusable>
}
