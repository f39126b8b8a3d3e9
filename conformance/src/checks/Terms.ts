/**
 * The terms on which answers are judged in a run.
 */
import { Acknowledgement, DurationText } from "@doorhook/core"

export interface Terms {
  /** How long a receiver has, in milliseconds. */
  readonly deadline: number
  /** How far around the deadline nothing is decided, in milliseconds: the suite's own measuring error. */
  readonly guard: number
  readonly rule: Acknowledgement.AcknowledgementRule
  /** Which key for dropping duplicates is stressed; `both` vary together. */
  readonly dedupKey: DedupKey
}

export type DedupKey = "both" | "header" | "body"

/** The terms of the interface, as far as a clock can keep to them. */
export const defaultTerms: Terms = {
  deadline: Acknowledgement.defaultDeadline,
  guard: 50,
  rule: "200",
  dedupKey: "both"
}

/** What acknowledges, in words. */
export const statusInWords = ({ rule }: Terms): string => (rule === "200" ? "status 200" : "a 2xx status")

/** What acknowledges and until when, in words. */
export const inWords = (terms: Terms): string => `${statusInWords(terms)} within ${DurationText.format(terms.deadline)}`

/** How long an answer is waited for before it counts as late. */
export const patienceOf = ({ deadline, guard }: Terms): number => deadline + guard
