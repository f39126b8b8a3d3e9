/**
 * A history told in words.
 */
import type { EventTemplate, Operation, Variation } from "./History.ts"

const ways: Readonly<Record<Variation, string>> = {
  next_attempt: "with the next attempt number",
  resigned: "stamped and signed anew",
  reencoded: "with other whitespace in the body",
  new_connection: "over a new connection"
}

const eventInWords = ({ note, resource_type }: EventTemplate): string =>
  `a new ${resource_type} event${note === "" ? "" : ` (${note})`}`

const howInWords = (how: ReadonlyArray<Variation>): string =>
  how.length === 0 ? "byte for byte" : how.map((variation) => ways[variation]).join(", ")

/**
 * Each operation of a history, in words. Events are called by their number once there are several.
 */
export const inWords = (operations: ReadonlyArray<Operation>): ReadonlyArray<string> => {
  const total = operations.filter(({ k }) => k === "new" || k === "race_new").length
  let sent = 0
  const called = (index: number): string => (total > 1 ? ` (event ${index + 1})` : "")
  const known = (ref: number): string => (total > 1 ? `event ${(ref % Math.max(sent, 1)) + 1}` : "the same event")
  return operations.map((operation) => {
    switch (operation.k) {
      case "new":
        return `${eventInWords(operation.event)}${called(sent++)}`
      case "race_new":
        return `${eventInWords(operation.event)}${called(sent++)}, ${operation.copies} times at once`
      case "again":
        return `${known(operation.ref)} again, ${howInWords(operation.how)}`
      case "race_again":
        return `${known(operation.ref)} again, ${operation.copies} times at once`
    }
  })
}
