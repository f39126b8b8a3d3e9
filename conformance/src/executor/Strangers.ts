/**
 * Events that somebody else sends to the receiver while a run goes on: another run of the suite on another machine, or a
 * sender. What they bring about (a restart, a full memory, a late answer) must not be charged to the receiver.
 */
import { eventIdPrefix } from "@doorhook/core"
import type { Outcome } from "./Judgement.ts"

/**
 * So much of an id at either end tells it from every other: a time and a random number stand in it. A receiver that
 * keeps ids in another case, or a part of them, is wrong in its own way and not two senders' target.
 */
const telling = 16

const beginning = (id: string): string => id.slice(0, eventIdPrefix.length + telling).toLowerCase()
const end = (id: string): string => id.slice(-telling).toLowerCase()

/** Those of the ids that are none of the run's own, nor made of one of them. */
export const strangersAmong = (seen: Iterable<string>, own: Iterable<string>): ReadonlyArray<string> => {
  const beginnings = new Set<string>()
  const ends = new Set<string>()
  for (const id of own) {
    beginnings.add(beginning(id))
    ends.add(end(id))
  }
  return [...new Set(seen)].filter((id) => !beginnings.has(beginning(id)) && !ends.has(end(id)))
}

/** The most ids that are named. */
const mostNamed = 3

export const strangersInWords = (strangers: ReadonlyArray<string>): string => {
  const named = strangers.slice(0, mostNamed).join(", ")
  const more = strangers.length > mostNamed ? ` and ${strangers.length - mostNamed} more` : ""
  return strangers.length === 1
    ? `an event that this run did not send took effect meanwhile (${named})`
    : `events that this run did not send took effect meanwhile (${named}${more})`
}

/** What was found while somebody else sent events, too: what is wrong then may be their doing. */
export const doubted = (outcome: Outcome, strangers: ReadonlyArray<string>): Outcome =>
  strangers.length === 0 || (outcome.verdict !== "FAIL" && outcome.verdict !== "WARN")
    ? outcome
    : {
        ...outcome,
        verdict: "INCONCLUSIVE",
        observed: `${outcome.observed}; but ${strangersInWords(strangers)}: let nobody else send to the receiver during a run`
      }
