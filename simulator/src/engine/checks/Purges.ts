/**
 * What is deleted after its time was over, and what is over is deleted.
 */
import { settledStates } from "@doorhook/core"
import type { Check, Violation } from "./Check.ts"
import type { EntryOf, Trace, TracedDelivery } from "./Trace.ts"
import { clockOf, entriesOf, putBackSince } from "./Trace.ts"

const settled: ReadonlySet<string> = new Set(settledStates)

/** Between two rounds of housekeeping, and how long a round takes at most, in milliseconds. */
const rounds = 130_000

const byEvent = ({ deliveries }: Trace): ReadonlyMap<string, ReadonlyArray<TracedDelivery>> => {
  const groups = new Map<string, Array<TracedDelivery>>()
  for (const delivery of deliveries.values()) {
    const group = groups.get(delivery.event.id)
    if (group === undefined) groups.set(delivery.event.id, [delivery])
    else group.push(delivery)
  }
  return groups
}

const problemsOf = (
  trace: Trace,
  of: ReadonlyMap<string, ReadonlyArray<TracedDelivery>>,
  purged: EntryOf<"purged">
): ReadonlyArray<string> => {
  const { answer, deliveries, engine, events, request } = purged
  const { retention } = trace.settings
  const ids = new Set(deliveries.map(({ id }) => id))
  const whole = events.flatMap(({ id }) => of.get(id) ?? [])
  return [
    ...(retention === null || request.before > clockOf(trace, engine, purged) + putBackSince(trace, 0) - retention
      ? [`what is younger than the retention is purged`]
      : []),
    ...events.filter(({ created_at }) => created_at >= request.before).map(({ id }) => `${id} is too young`),
    ...deliveries.filter(({ state }) => !settled.has(state)).map(({ id, state }) => `delivery ${id} is ${state}`),
    ...(whole.length === ids.size && whole.every(({ id }) => ids.has(id))
      ? []
      : [`of ${whole.length} deliveries of the purged events, ${ids.size} went`]),
    ...(answer.events === events.length && answer.deliveries === deliveries.length
      ? []
      : [`${events.length} events and ${deliveries.length} deliveries went, the answer is ${JSON.stringify(answer)}`])
  ]
}

/** What should have gone, and is there at the end. */
const leftOver = (trace: Trace, of: ReadonlyMap<string, ReadonlyArray<TracedDelivery>>): ReadonlyArray<Violation> => {
  const { entries, outcome, settings } = trace
  if (settings.retention === null) return []
  const end = entries.at(-1)?.at ?? 0
  const before = outcome.wall - settings.retention - rounds - outcome.scenario.skew
  const there = new Set(outcome.deliveries.map(({ id }) => id))
  return [...of.values()].flatMap((deliveries) => {
    const isOver = deliveries.every(
      ({ event, final, resent, settlements }) =>
        event.created_at < before &&
        final !== undefined &&
        settled.has(final.state) &&
        [...resent.map((index) => entries[index]?.at ?? 0), ...settlements.map(({ entry }) => entry.at)].every(
          (at) => at < end - rounds
        )
    )
    const left = deliveries.filter(({ id }) => there.has(id))
    if (!isOver || left.length === 0 || wasCancelledLately(trace, left, end - rounds)) return []
    const what = `delivery ${left.map(({ id }) => id).join()} is over and was not purged`
    return [{ what, entries: left.map(({ enqueued }) => enqueued.index) }]
  })
}

/** Whether what is left of an event was ended by a change of its integration, and no earlier than at a time. */
const wasCancelledLately = (trace: Trace, left: ReadonlyArray<TracedDelivery>, since: number): boolean =>
  left.some(({ integration_id }) => trace.integrations.get(integration_id)?.some(({ at }) => at >= since) === true)

export const purges: Check = {
  name: "purges",
  rule: "Housekeeping takes events that are older than the retention and settled, as a whole, and no others; it counts what it takes, and leaves nothing behind.",
  violations: (trace) => {
    const of = byEvent(trace)
    return [
      ...entriesOf(trace.entries, "purged").flatMap((entry) =>
        problemsOf(trace, of, entry).map((what) => ({ what, entries: [entry.index] }))
      ),
      ...leftOver(trace, of)
    ]
  }
}
