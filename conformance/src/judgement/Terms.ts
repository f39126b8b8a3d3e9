/**
 * The terms on which answers are judged in a run.
 */
import { Acknowledgement, DurationText } from "@doorhook/core"
import { Schema } from "effect"

export const DedupKey = Schema.Literals(["both", "header", "body"])
export type DedupKey = typeof DedupKey.Type

export const Terms = Schema.Struct({
  /** How long a receiver has, in milliseconds. */
  deadline: Schema.Finite,
  /** How far around the deadline nothing is decided, in milliseconds: the suite's own measuring error. */
  guard: Schema.Finite,
  rule: Schema.Literals(["200", "2xx"]),
  /** Which key for dropping duplicates is stressed; `both` vary together. */
  dedupKey: DedupKey,
  /** How old, or how early, a signature may be, in milliseconds (`--tolerance`). */
  tolerance: Schema.Finite
})
export type Terms = typeof Terms.Type

/** Doorhook's own decision: Standard Webhooks names no number. */
export const defaultTolerance = 300_000

/** The terms of the interface, as far as a clock can keep to them. */
export const defaultTerms: Terms = {
  deadline: Acknowledgement.defaultDeadline,
  guard: 50,
  rule: "200",
  dedupKey: "both",
  tolerance: defaultTolerance
}

/** What acknowledges, in words. */
export const statusInWords = ({ rule }: Terms): string => (rule === "200" ? "status 200" : "a 2xx status")

/** What acknowledges and until when, in words. */
export const inWords = (terms: Terms): string => `${statusInWords(terms)} within ${DurationText.format(terms.deadline)}`

/**
 * Until when an answer is in time beyond doubt. However badly the suite times just now, it only ever takes an answer for
 * later than it was: a machine so busy that the guard reaches the deadline must not keep every answer from counting.
 */
export const certainlyInTime = ({ deadline, guard }: Terms): number => deadline - Math.min(guard, deadline / 4)

/** How long an answer is waited for before it counts as late. */
export const patienceOf = ({ deadline, guard }: Terms): number => deadline + guard
