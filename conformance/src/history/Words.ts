/**
 * A history told in words.
 */
import type { Cut, EventTemplate, Operation, Variation } from "./History.ts"
import { forgeryInWords, malformationInWords } from "./Invalid.ts"
import { countOf, twinsInWords } from "./Twins.ts"
import { variationInWords } from "./Variation.ts"

const eventInWords = ({ note, resource_type }: EventTemplate): string =>
  `a new ${resource_type} event${note === "" ? "" : ` (${note})`}`

const howInWords = (how: ReadonlyArray<Variation>): string =>
  how.length === 0 ? "byte for byte" : how.map(variationInWords).join(", ")

const cutInWords = (cut: Cut): string =>
  cut.in === "body"
    ? `given up after ${cut.percent} % of its body`
    : cut.share === 0
      ? "given up as soon as it was sent"
      : `given up after ${Math.round(cut.share * 100)} % of the time an answer usually takes`

/** How many events an operation makes that can be referred to. */
const eventsOf = (operation: Operation): number => {
  switch (operation.k) {
    case "new":
    case "race_new":
    case "cut_new":
    case "forged":
    case "malformed":
    case "method_new":
      return 1
    case "twins":
      return countOf(operation.kind)
    case "shuffled":
      return operation.order.length
    case "pause_during":
      return operation.count
    default:
      return 0
  }
}

/**
 * Each operation of a history, in words. Events are called by their number once there are several.
 */
export const inWords = (operations: ReadonlyArray<Operation>): ReadonlyArray<string> => {
  const total = operations.reduce((sum, operation) => sum + eventsOf(operation), 0)
  let sent = 0
  const called = (index: number): string => (total > 1 ? ` (event ${index + 1})` : "")
  const severally = (count: number): string => {
    const first = sent + 1
    sent += count
    return total > 1 && count > 0 ? ` (events ${first} to ${sent})` : ""
  }
  const known = (ref: number): string => (total > 1 ? `event ${(ref % Math.max(sent, 1)) + 1}` : "the same event")
  return operations.map((operation) => {
    switch (operation.k) {
      case "new": {
        const how = operation.how.length === 0 ? "" : `, ${howInWords(operation.how)}`
        return `${eventInWords(operation.event)}${called(sent++)}${how}`
      }
      case "race_new":
        return `${eventInWords(operation.event)}${called(sent++)}, ${operation.copies} times at once`
      case "cut_new":
        return `${eventInWords(operation.event)}${called(sent++)}, ${cutInWords(operation.cut)}`
      case "forged":
        return `${eventInWords(operation.event)}${called(sent++)}, ${forgeryInWords(operation.kind)}`
      case "forged_again":
        return `${known(operation.ref)} again, ${forgeryInWords(operation.kind)}`
      case "malformed":
        return `${eventInWords(operation.event)}${called(sent++)}, ${malformationInWords(operation.kind)}`
      case "method_new":
        return `${operation.method} about ${eventInWords(operation.event)}${called(sent++)}${operation.with_body ? ", with its body" : ""}`
      case "method_again":
        return `${operation.method} about ${known(operation.ref)}${operation.with_body ? ", with its body" : ""}`
      case "twins":
        return `new ${operation.event.resource_type} events with ${twinsInWords(operation.kind)}${severally(eventsOf(operation))}`
      case "shuffled":
        return `${operation.order.length} new events, not in the order they happened in${severally(operation.order.length)}`
      case "pause_during":
        return `${operation.count} new events while the receiver stands still until after their deadline, each again before it goes on${severally(operation.count)}`
      case "again":
        return `${known(operation.ref)} again, ${howInWords(operation.how)}`
      case "cut_again":
        return `${known(operation.ref)} again, ${cutInWords(operation.cut)}`
      case "retry":
        return `${known(operation.ref)} again, until it is acknowledged`
      case "retry_open":
        return "every event without an acknowledgement again, until it is acknowledged"
      case "again_all":
        return `every event again, ${howInWords(operation.how)}`
      case "volleys":
        return `up to ${operation.rounds} new ${operation.event.resource_type} events one after the other, each ${operation.copies} times at once to the last byte`
      case "race_again":
        return `${known(operation.ref)} again, ${operation.copies} times at once`
      case "filler":
        return `up to ${operation.count} other new events`
      case "abort_storm":
        return `${operation.count} new events at once, all given up after ${operation.percent} % of their bodies`
      case "stalled":
        return `${operation.count} new events at once, which stop after ${operation.percent} % of their bodies and stay open`
      case "elsewhere":
        return `${known(operation.ref)} to the receiver's other URL`
      case "idle":
        return `nothing for ${operation.ms} ms`
      case "age":
        return `nothing until ${operation.ms} ms have passed and all else is done`
      case "restart":
        return "the receiver is restarted"
      case "kill_amid":
        return `the receiver is killed while ${operation.workers} workers send new events${(operation.copies ?? 1) > 1 ? `, each ${operation.copies} times at once` : ""}, ${operation.after} ms after ${operation.from === undefined ? "their first" : "the first acknowledgement"}`
      case "advance":
        return `the receiver's clock is moved forward by ${Math.round(operation.ms / 60_000)} minutes`
      case "load":
        return `events at ${operation.factor === 1 ? "" : `${operation.factor} times `}the declared peak rate for ${operation.ms} ms`
    }
  })
}
