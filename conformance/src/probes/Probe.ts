/**
 * The port through which the suite sees what a receiver did: how often the effect of an event was committed.
 */
import { Effect, Predicate, Schema } from "effect"
import type { SentEvent } from "../evidence/Trace.ts"

/** Whose effects are asked for. */
export interface Subject {
  readonly webhookId: string
  readonly resourceType: string
  /** `event.data.id` as raw JSON text: it may be longer than a double holds. */
  readonly dataId: string
  /** The URL the event was sent to; null where there is one only. */
  readonly endpoint: string | null
}

/** An event as the subject of a reading, at one URL where there are several. */
export const subjectOf = ({ dataId, resourceType, webhookId }: SentEvent, endpoint: string | null): Subject => ({
  webhookId,
  resourceType,
  dataId,
  endpoint
})

export interface ProbeReading {
  readonly effects: number
  /** `sha256:HEX` of the RFC 8785 form of `event.data` as it was stored; null when the probe does not say. */
  readonly digest: string | null
  /** `event.data` as it is stored, as JSON text, where the probe shows it. */
  readonly data: string | null
}

/** The probe gave no answer that can be used: nothing can be said of what the receiver did. */
export class ProbeUnusable extends Schema.TaggedError<ProbeUnusable>()("ProbeUnusable", {
  /** What was asked, what came of it, what to do. */
  message: Schema.String
}) {}

/** A value that is not what it should be: a database's client may give a count as a text. */
const inWords = (value: unknown): string =>
  Predicate.isString(value)
    ? `${JSON.stringify(value.slice(0, 100))}, a text`
    : Predicate.isBigInt(value)
      ? `${value}n, a bigint`
      : Predicate.isObjectKeyword(value)
        ? "an object"
        : String(value)

const fieldOf = (given: unknown, name: string): unknown =>
  Predicate.hasProperty(given, name) ? given[name] : undefined

/** What a probe gave, as a reading, with the digest in one form: hex digits have no case (RFC 4648, section 8). */
export const readReading = (
  given: unknown,
  unusable: (what: string) => ProbeUnusable
): Effect.Effect<ProbeReading, ProbeUnusable> => {
  const [effects, digest] = [fieldOf(given, "effects"), fieldOf(given, "digest") ?? null]
  if (!Predicate.isNumber(effects) || !Number.isSafeInteger(effects) || effects < 0) {
    return Effect.fail(unusable(`effects: ${inWords(effects)}; give a whole number, 0 or more`))
  }
  const stored = fieldOf(given, "data")
  // What is shown is shown only: digests decide.
  const data = stored === undefined ? null : Predicate.isString(stored) ? stored : JSON.stringify(stored)
  if (digest === null) return Effect.succeed({ effects, digest, data })
  return Predicate.isString(digest) && /^sha256:[0-9a-f]{64}$/i.test(digest)
    ? Effect.succeed({ effects, digest: digest.toLowerCase(), data })
    : Effect.fail(unusable(`digest: ${inWords(digest)}; give sha256: and 64 hex digits`))
}

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
