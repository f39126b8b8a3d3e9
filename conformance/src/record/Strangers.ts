/**
 * Events that others send to the receiver during a run: another run of the suite on another machine, or a sender. What
 * they bring about (a restart, a full memory, a late answer) must not be charged to the receiver.
 */
import { eventIdPrefix } from "@doorhook/core"

/**
 * Characters at either end of an id that identify it: they hold a time and a random number. A receiver that keeps
 * ids in another case, or a part of them, is wrong in its own way, and no sign of another sender.
 */
const identifying = 16

const beginning = (id: string): string => id.slice(0, eventIdPrefix.length + identifying).toLowerCase()
const end = (id: string): string => id.slice(-identifying).toLowerCase()

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

/** What strangers did, in words. */
export const strangersInWords = (strangers: ReadonlyArray<string>): string => {
  const named = strangers.slice(0, mostNamed).join(", ")
  const more = strangers.length > mostNamed ? ` and ${strangers.length - mostNamed} more` : ""
  return strangers.length === 1
    ? `an event that this run did not send took effect during it (${named})`
    : `events that this run did not send took effect during it (${named}${more})`
}
