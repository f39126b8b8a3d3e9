/**
 * The same request under the same key is carried out once, and answered alike however often it comes.
 */
import { eventIdsIn } from "@doorhook/core"
import type { Check, Violation } from "./Check.ts"
import type { EntryOf, Trace } from "./Trace.ts"
import { entriesOf } from "./Trace.ts"

/** One time that a request was carried out. */
interface Carried {
  readonly entry: EntryOf<"enqueued">
  readonly from: number
  readonly until: number
  readonly ids: ReadonlyArray<string>
}

const byKey = <A>(pairs: Iterable<readonly [string, A]>): ReadonlyMap<string, ReadonlyArray<A>> => {
  const groups = new Map<string, Array<A>>()
  for (const [key, item] of pairs) {
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

const published = ({ entries }: Trace): ReadonlyArray<Violation> => {
  const invoked = new Map(entriesOf(entries, "invoke").map((entry) => [entry.op, entry]))
  const asked = byKey(
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
    [...asked].flatMap(([key, calls]) => calls.flatMap(({ events }) => events.map(({ data }) => [data, key] as const)))
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
  return [...asked].flatMap(([key, calls]) => {
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
      ...(twice ? [{ what: `what was published under the key ${key} is stored more than once`, entries: show }] : []),
      ...(unknown.length > 0 || answered.size > times.length
        ? [{ what: `the answers under the key ${key} differ, or are not what was stored`, entries: show }]
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
      : [{ what: `two integrations were made under ${key}`, entries: made.map(({ index }) => index) }]
  )

export const idempotent: Check = {
  name: "idempotent",
  rule: "Whatever comes under one key is carried out once, whoever takes it in and whatever breaks, and all its answers are equal.",
  violations: (trace) => [...published(trace), ...created(trace)]
}
