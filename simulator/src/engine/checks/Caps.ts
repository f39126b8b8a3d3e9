/**
 * No engine has more requests open than it may.
 */
import type { Check, Violation } from "./Check.ts"
import type { Request, Trace } from "./Trace.ts"

/** The places at which more than `cap` of some requests were open at once. */
const above = (requests: ReadonlyArray<Request>, cap: number, name: string): ReadonlyArray<Violation> => {
  let open: ReadonlyArray<Request> = []
  return requests.flatMap((request) => {
    open = [...open.filter(({ endedAt, response }) => isOpen(endedAt, response?.entry.index, request)), request]
    if (open.length <= cap) return []
    return [
      { what: `${open.length} requests open ${name}, more than ${cap}`, entries: open.map(({ entry }) => entry.index) }
    ]
  })
}

/** Whether a request that ends at some time is open when another one starts. */
const isOpen = (endedAt: number, responseIndex: number | undefined, { entry }: Request): boolean =>
  responseIndex === undefined ? endedAt > entry.at : responseIndex > entry.index

const groupBy = (requests: ReadonlyArray<Request>, keyOf: (request: Request) => string) => {
  const groups = new Map<string, Array<Request>>()
  for (const request of requests) {
    const key = keyOf(request)
    groups.set(key, [...(groups.get(key) ?? []), request])
  }
  return groups
}

export const caps: Check = {
  name: "caps",
  rule: "An engine never has more requests open to an integration, or in all, than its settings say.",
  violations: ({ requests, settings }: Trace) => [
    ...[...groupBy(requests, ({ entry }) => `by engine ${entry.engine}`)].flatMap(([name, group]) =>
      above(group, settings.concurrency, name)
    ),
    ...[
      ...groupBy(
        requests,
        ({ delivery, entry }) => `by engine ${entry.engine} to integration ${delivery.integration_id}`
      )
    ].flatMap(([name, group]) => above(group, settings.concurrencyPerIntegration, name))
  ]
}
