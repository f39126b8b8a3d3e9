/**
 * Checks that nothing was lost: the answers to publishers, the requests to receivers, and the store must agree.
 */
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { eventually } from "./Eventually.ts"
import type { Load } from "./Load.ts"
import type { Receiver } from "@doorhook/testkit/Receiver"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { callApi } from "./ThirdParty.ts"

/** Returns the values of `GET /metrics`. The keys are names with their labels, spelled as in the response. */
export const metricsOf = (url: string): Effect.Effect<Readonly<Record<string, number>>> =>
  Effect.promise(async () => {
    const text = await (await fetch(`${url}/metrics`)).text()
    const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))
    return Object.fromEntries(
      samples.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))])
    )
  })

const Readiness = Schema.Struct({
  status: Schema.String,
  detail: Schema.optionalKey(Schema.String),
  oldest_due_age_ms: Schema.NullOr(Schema.Finite),
  delivering: Schema.Finite,
  buffered: Schema.Finite,
  unsettled: Schema.Finite,
  last_claim_at: Schema.NullOr(Schema.String),
  outage: Schema.NullOr(Schema.Struct({ cause: Schema.String, since: Schema.String, detail: Schema.String }))
})

/** Returns the status and body of `GET /health/ready`. */
export const readinessOf = Effect.fnUntraced(function* (url: string) {
  const answer = yield* Effect.promise(() => fetch(`${url}/health/ready`))
  const body = yield* Schema.decodeUnknownEffect(Readiness)(yield* Effect.promise(() => answer.json()))
  return { code: answer.status, ...body }
}, Effect.orDie)

const Page = Schema.Struct({
  deliveries: Schema.Array(Schema.Struct({ event_id: Schema.String, state: Schema.String, attempts: Schema.Finite })),
  next: Schema.NullOr(Schema.String)
})
type Listed = (typeof Page.Type)["deliveries"][number]

/** Returns all deliveries, read page by page like `doorhook deliveries list`. */
export const listDeliveries = Effect.fnUntraced(function* (url: string) {
  const all: Array<Listed> = []
  for (let after: string | null = ""; after !== null;) {
    const path = `/operator/deliveries?limit=1000&after=${after}`
    const body: unknown = yield* Effect.promise(async () => (await callApi(url, operatorKey, "GET", path)).json())
    const page: typeof Page.Type = yield* Schema.decodeUnknownEffect(Page)(body)
    all.push(...page.deliveries)
    after = page.next
  }
  return all
}, Effect.orDie)

const idsOf = (receiver: Receiver): ReadonlySet<string> =>
  new Set(receiver.received.map(({ headers }) => String(headers["webhook-id"])))

const active = ["pending", "delivering", "retrying"]

/**
 * Waits until all deliveries have ended. Checks that exactly the events answered with 202 are in the store and were
 * received. Also checks that at most `cutOff` requests were sent without being recorded. Assumes that there is one
 * integration, which gets all events.
 */
export const accountFor = Effect.fnUntraced(function* (options: {
  readonly url: string
  readonly load: Load
  readonly receiver: Receiver
  /** Maximum number of requests that could have been sent without being recorded. */
  readonly cutOff: number
}) {
  const { load, receiver, url } = options
  yield* Effect.promise(load.stop)
  const stateOf = (metrics: Readonly<Record<string, number>>, state: string): number =>
    metrics[`doorhook_deliveries{state="${state}"}`] ?? Number.NaN
  const metrics = yield* eventually("every delivery has ended", metricsOf(url), (read) =>
    active.every((state) => stateOf(read, state) === 0)
  )
  const listed = yield* listDeliveries(url)
  const stored = new Set(listed.map(({ event_id }) => event_id))
  assert.strictEqual(listed.length, stored.size, "each event has one delivery")
  assert.strictEqual(stateOf(metrics, "delivered"), listed.length, "the metrics count what the list shows")
  assert.deepStrictEqual(
    listed.filter(({ state }) => state !== "delivered"),
    []
  )
  const received = idsOf(receiver)
  assert.deepStrictEqual(
    [...load.accepted].filter((id) => !stored.has(id)),
    [],
    "accepted, but not in the store"
  )
  assert.deepStrictEqual(
    [...stored].filter((id) => !received.has(id)),
    [],
    "in the store, but not received"
  )
  assert.deepStrictEqual(
    [...received].filter((id) => !stored.has(id)),
    [],
    "received, but not in the store"
  )
  const recorded = listed.reduce((sum, { attempts }) => sum + attempts, 0)
  assert.isAtMost(receiver.received.length - recorded, options.cutOff, "sent, but not recorded")
})

/** Checks that refused callers got a 503 with `Retry-After`. */
export const assertClearRefusals = (load: Load): void => {
  for (const { body, retryAfter, status } of load.refused) {
    assert.strictEqual(status, 503, body)
    assert.match(String(retryAfter), /^[0-9]+$/)
    assert.match(body, /"code":"unavailable","title":"Temporarily unavailable","detail":"The [^"]{20,200}"/)
    assert.notMatch(body, /SQL|\.ts|node:|\n/, "no inner detail")
  }
}
