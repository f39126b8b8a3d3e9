/**
 * What is recorded is what happened, and adds up.
 */
import { deliveryStates } from "@doorhook/core"
import type { Check, Violation } from "./Check.ts"
import type { Trace } from "./Trace.ts"
import { entriesOf } from "./Trace.ts"

/** Attempts that were answered, by an engine that lived on, and that it never tried to record. */
const unrecorded = ({ entries, requests }: Trace): ReadonlyArray<Violation> => {
  const gone = new Set(
    entriesOf(entries, "process").flatMap(({ engine, what }) => (what === "started" ? [] : [engine]))
  )
  const tried = new Set(
    entriesOf(entries, "settled").flatMap(({ engine, settlements }) =>
      settlements.map(({ attempt, delivery_id }) => `${engine} ${delivery_id} ${attempt?.number}`)
    )
  )
  const end = entries.at(-1)?.at ?? 0
  return requests.flatMap(({ delivery, entry, response }) => {
    const key = `${entry.engine} ${delivery.id} ${entry.attempt}`
    if (response === null || gone.has(entry.engine) || response.entry.at > end - 10_000 || tried.has(key)) return []
    return [{ what: `attempt ${entry.attempt} of delivery ${delivery.id} was never recorded`, entries: [entry.index] }]
  })
}

export const attemptNumbers: Check = {
  name: "attempt-numbers",
  rule: "The attempts of a delivery are numbered from 1 without gaps, each made under its number; none that was answered is forgotten.",
  violations: (trace) => [
    ...unrecorded(trace),
    ...[...trace.deliveries.values()].flatMap(({ final, id, requests, settlements }) => {
      if (final === undefined) return []
      const entries = [...requests.map(({ entry }) => entry.index), ...settlements.map(({ entry }) => entry.index)]
      const numbers = final.history.map(({ number }) => number)
      const wanted = numbers.map((_, at) => at + 1)
      const unseen = final.history.filter(
        ({ number, status }) =>
          !requests.some(
            ({ entry, response }) =>
              entry.attempt === number &&
              response !== null &&
              (response.result._tag === "Answered" ? response.result.status : null) === status
          )
      )
      return [
        ...(numbers.join() === wanted.join() && final.attempts === numbers.length
          ? []
          : [{ what: `delivery ${id} has attempts ${numbers.join()} and says ${final.attempts}`, entries }]),
        ...unseen.map(({ number }) => ({ what: `attempt ${number} of delivery ${id} was not seen so`, entries })),
        // Each settled attempt leaves its row, whatever became of the delivery.
        ...(settlements.filter(({ settlement }) => settlement.attempt !== null).length > numbers.length
          ? [{ what: `delivery ${id} lost an attempt`, entries }]
          : []),
        ...(requests.length > 0 && final.state === "delivered" && numbers.length === 0
          ? [{ what: `delivery ${id} is delivered without an attempt`, entries }]
          : [])
      ]
    })
  ]
}

export const tallies: Check = {
  name: "tallies",
  rule: "The store's tallies agree with its rows.",
  violations: ({ entries, outcome: { deliveries, summary } }) => {
    const counted = deliveryStates.map((state) => deliveries.filter((delivery) => delivery.state === state).length)
    const told = deliveryStates.map((state) => summary.states[state])
    const events = new Set(entriesOf(entries, "enqueued").flatMap(({ events }) => events.map(({ event }) => event.id)))
    for (const purged of entriesOf(entries, "purged")) for (const { id } of purged.events) events.delete(id)
    return [
      ...(counted.join() === told.join()
        ? []
        : [{ what: `rows by state ${counted.join()}, tallies ${told.join()}`, entries: [] }]),
      ...(events.size === summary.events
        ? []
        : [{ what: `${events.size} events were stored and not purged, ${summary.events} are told`, entries: [] }])
    ]
  }
}
