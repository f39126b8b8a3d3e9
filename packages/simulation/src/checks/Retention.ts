/**
 * Checks how long data is kept: idempotency keys, feeds, old events.
 */
import { eventIdsIn } from "@doorhook/core"
import type { Check, EntryOf, Trace, TracedDelivery, Violation } from "./Trace.ts"
import { clockError, clockOf, entriesOf, isSettled, putBackSince } from "./Trace.ts"

/** One execution of a request. */
interface Carried {
  readonly entry: EntryOf<"enqueued">
  readonly from: number
  readonly until: number
  readonly ids: ReadonlyArray<string>
}

/** Groups pairs by their first member. */
const byKey = <A>(pairs: ReadonlyArray<readonly [string, A]>): ReadonlyMap<string, ReadonlyArray<A>> =>
  new Map([...Map.groupBy(pairs, ([key]) => key)].map(([key, group]) => [key, group.map(([, item]) => item)] as const))

const published = ({ entries, invoked }: Trace): ReadonlyArray<Violation> => {
  const requested = byKey(
    [...invoked.values()].flatMap((entry) =>
      entry.operation.type === "publish" && entry.operation.key !== null
        ? [[entry.operation.key, { entry, events: entry.operation.events }] as const]
        : []
    )
  )
  const answers = byKey(
    entriesOf(entries, "ok").flatMap((ok) => {
      const operation = invoked.get(ok.op)?.operation
      return operation?.type === "publish" && operation.key !== null ? [[operation.key, ok] as const] : []
    })
  )
  const keysOf = new Map(
    [...requested].flatMap(([key, calls]) =>
      calls.flatMap(({ events }) => events.map(({ data }) => [data, key] as const))
    )
  )
  const stored = byKey(
    entriesOf(entries, "enqueued").flatMap((entry) => {
      const keys = new Set(entry.events.flatMap(({ event }) => keysOf.get(event.data) ?? []))
      return [...keys].map((key): readonly [string, Carried] => {
        const of = entry.events.filter(({ event }) => keysOf.get(event.data) === key)
        const remembered = entry.keys.find((each) => each.key === key)
        const created = of[0]?.event.created_at ?? 0
        return [
          key,
          {
            entry,
            from: remembered?.created_at ?? created,
            until: remembered?.expires_at ?? created + 24 * 3_600_000,
            ids: of.map(({ event }) => event.id)
          }
        ]
      })
    })
  )
  return [...requested].flatMap(([key, calls]) => {
    const times = stored.get(key) ?? []
    const oks = answers.get(key) ?? []
    const sizes = new Set(calls.map(({ events }) => events.length))
    const show = [...times.map(({ entry }) => entry.index), ...oks.map(({ index }) => index)]
    const twice = times.some(
      ({ from, ids }, at) => !sizes.has(ids.length) || times.slice(0, at).some((other) => other.until > from)
    )
    const unknown = oks.filter(
      ({ answer, index }) =>
        !times.some(({ entry, ids }) => entry.index < index && ids.join() === eventIdsIn(answer).join())
    )
    const answered = new Set(oks.map(({ answer }) => answer))
    return [
      ...(twice ? [{ what: `the events under the key ${key} are stored more than once`, entries: show }] : []),
      ...(unknown.length > 0 || answered.size > times.length
        ? [{ what: `the answers under the key ${key} differ, or don't match what was stored`, entries: show }]
        : [])
    ]
  })
}

const created = ({ entries }: Trace): ReadonlyArray<Violation> =>
  [
    ...byKey(
      entriesOf(entries, "integration").flatMap((entry) =>
        entry.what === "created" && entry.key !== null ? [[entry.key, entry] as const] : []
      )
    )
  ].flatMap(([key, made]) =>
    made.length < 2
      ? []
      : [{ what: `more than one integration was created under ${key}`, entries: made.map(({ index }) => index) }]
  )

export const idempotent: Check = {
  name: "idempotent",
  rule: "Requests under one idempotency key are carried out once, in any process and whatever breaks, and get equal answers.",
  violations: (trace) => [...published(trace), ...created(trace)]
}

/** Checks the pages that one reader has read. */
const readBy = (trace: Trace, parts: ReadonlyArray<EntryOf<"feed_read">>): ReadonlyArray<Violation> => {
  const violations: Array<Violation> = []
  const seen = new Set<number>()
  let last = 0
  for (const { cursor, ids, index, integration_id, more, op } of parts) {
    for (const id of ids) {
      if (id <= last || trace.deliveries.get(id)?.integration_id !== integration_id)
        violations.push({
          what: `delivery ${id} was read after ${last}: out of order, twice or from the wrong feed`,
          entries: [index]
        })
      last = id
      seen.add(id)
    }
    const requestedAt = trace.invoked.get(op)?.index ?? 0
    // The reader must have got every delivery up to the end of the page that was stored before the request and not
    // purged before the answer.
    const upTo = more ? cursor : Infinity
    for (const { enqueued, id, integration_id: of, purged } of trace.deliveries.values()) {
      const isDue =
        of === integration_id && id <= upTo && enqueued.index < requestedAt && (purged?.index ?? Infinity) > index
      if (!isDue || seen.has(id)) continue
      violations.push({ what: `delivery ${id} was skipped`, entries: [enqueued.index, index] })
      seen.add(id)
    }
  }
  return violations
}

export const feeds: Check = {
  name: "feeds",
  rule: "A reader that follows a feed by cursor sees every delivery of the integration once, in the order of storing, except deliveries that were purged before.",
  violations: (trace) => {
    const readers = Map.groupBy(entriesOf(trace.entries, "feed_read"), ({ reader }) => reader)
    return [...readers.values()].flatMap((parts) => readBy(trace, parts))
  }
}

/** Longest time from the start of one retention run to the end of the next, in milliseconds. */
const rounds = 130_000

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
      ? [`events younger than the retention are purged`]
      : []),
    ...events.filter(({ created_at }) => created_at >= request.before).map(({ id }) => `${id} is too young`),
    ...deliveries.filter(({ state }) => !isSettled(state)).map(({ id, state }) => `delivery ${id} is ${state}`),
    ...(whole.length === ids.size && whole.every(({ id }) => ids.has(id))
      ? []
      : [`the purged events have ${whole.length} deliveries, but ${ids.size} were deleted`]),
    ...(answer.events === events.length && answer.deliveries === deliveries.length
      ? []
      : [
          `${events.length} events and ${deliveries.length} deliveries were deleted, but the answer is ${JSON.stringify(answer)}`
        ])
  ]
}

/** Finds deliveries that should have been purged but exist at the end. */
const leftOver = (trace: Trace, of: ReadonlyMap<string, ReadonlyArray<TracedDelivery>>): ReadonlyArray<Violation> => {
  const { entries, outcome, settings } = trace
  if (settings.retention === null) return []
  const end = entries.at(-1)?.at ?? 0
  const before = outcome.wall - settings.retention - rounds - clockError(outcome.scenario)
  const there = new Set(outcome.deliveries.map(({ id }) => id))
  return [...of.values()].flatMap((deliveries) => {
    const isOver = deliveries.every(
      ({ event, final, resent, settlements }) =>
        event.created_at < before &&
        final !== undefined &&
        isSettled(final.state) &&
        [...resent.map((index) => entries[index]?.at ?? 0), ...settlements.map(({ entry }) => entry.at)].every(
          (at) => at < end - rounds
        )
    )
    const left = deliveries.filter(({ id }) => there.has(id))
    if (!isOver || left.length === 0 || wasCancelledLately(trace, left, end - rounds)) return []
    const what = `delivery ${left.map(({ id }) => id).join()} has ended and was not purged`
    return [{ what, entries: left.map(({ enqueued }) => enqueued.index) }]
  })
}

/**
 * Whether an integration of the remaining deliveries changed at `since` or later. Such a change may have ended
 * deliveries.
 */
const wasCancelledLately = (trace: Trace, left: ReadonlyArray<TracedDelivery>, since: number): boolean =>
  left.some(({ integration_id }) => trace.integrations.get(integration_id)?.some(({ at }) => at >= since) === true)

export const purges: Check = {
  name: "purges",
  rule: "Retention deletes settled events that are older than the retention, with all their deliveries, and nothing else. It reports what it deletes.",
  violations: (trace) => {
    const of = Map.groupBy(trace.deliveries.values(), ({ event }) => event.id)
    return [
      ...entriesOf(trace.entries, "purged").flatMap((entry) =>
        problemsOf(trace, of, entry).map((what) => ({ what, entries: [entry.index] }))
      ),
      ...leftOver(trace, of)
    ]
  }
}
