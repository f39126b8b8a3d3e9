/**
 * Events that somebody else sends to the receiver while a run goes on: another run of the suite on another machine, or a
 * sender. What they bring about (a restart, a full memory, a late answer) must not be charged to the receiver.
 */
import { eventIdPrefix } from "@doorhook/core"

/**
 * This much of an id at either end tells it from every other: a time and a random number stand in it. A receiver that
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
