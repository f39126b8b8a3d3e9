/**
 * Rules of `DeliveryStore` about calls that end.
 */
import { Effect } from "effect"
import { callLifetime, callMarkOf } from "../../model/CallMark.ts"
import type { Event } from "../../model/Event.ts"
import { BuildingId } from "../../model/Ids.ts"
import type { DeliveryId } from "../../model/Ids.ts"
import type { Integration } from "../../model/Integration.ts"
import { JsonText } from "../../model/JsonText.ts"
import { callEndType } from "../../model/ResourceType.ts"
import type { NewEventRecord } from "../../ports/DeliveryStore.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import type { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  attempt,
  attemptsOf,
  claim,
  claimOne,
  createIntegration,
  enqueue,
  findDelivery,
  heartbeat,
  newEvent,
  pending,
  record,
  resend,
  retryAt,
  settle,
  settlement,
  start,
  worker
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { concurrently, expectEqual } from "../SuiteCase.ts"

const marked = (event: Event, ...integrations: ReadonlyArray<Integration>): NewEventRecord => {
  const call = callMarkOf(event)
  return { ...record(event, ...integrations), ...(call !== null && { call }) }
}

/** Makes a call whose id is the JSON value `id`. */
const callOf = (n: number, id: string, fields: Partial<Event> = {}): Event =>
  newEvent(n, {
    resource_type: "call",
    data: JsonText.make(`{"guid":"\\u0000 \\\\u0000 \\ud800","id":${id}}`),
    ...fields
  })

/** Makes the end of a call whose id is the JSON value `id`. */
const endOf = (n: number, id: string, fields: Partial<Event> = {}): Event =>
  newEvent(n, { resource_type: callEndType, data: JsonText.make(`{"id":${n},"call_id":${id}}`), ...fields })

const endings = Effect.fnUntraced(function* (ids: ReadonlyArray<DeliveryId>) {
  const found = yield* Effect.forEach(ids, findDelivery)
  return found.map(({ reason, state }) => (reason === null ? state : `${state}: ${reason}`))
})

const ended = "cancelled: call_ended"

export const callEndCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "the end of a call cancels the deliveries of the call that wait, and no others",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      const a = yield* createIntegration()
      const b = yield* createIntegration()
      const [delivered, retrying] = yield* enqueue(marked(callOf(1, "7"), a, b))
      for (const delivery of yield* claim(start))
        yield* settle(start, delivery.id === delivered ? settlement(delivery) : retryAt(delivery, start + 3_000))
      const elsewhere = { building_id: BuildingId.make(2) }
      const others = yield* enqueue(
        marked(callOf(2, "8"), a),
        marked(callOf(3, "7", elsewhere), a),
        record(newEvent(4, { data: JsonText.make('{"id":7}') }), a)
      )
      const again = yield* enqueue(marked(callOf(5, "7"), a, b))
      const ends = yield* enqueue(marked(endOf(6, "7"), a))
      const mine = [delivered, retrying].flatMap((id) => id ?? [])
      yield* expectEqual("of the call", yield* endings([...mine, ...again]), ["delivered", ended, ended, ended])
      yield* expectEqual("of others", yield* endings([...others, ...ends]), [
        "pending",
        "pending",
        "pending",
        "pending"
      ])
      const claimed = (yield* claim(start + 3_000)).map(({ id }) => id)
      yield* expectEqual(
        "claimed",
        claimed.toSorted((x, y) => x - y),
        [...others, ...ends]
      )
      const { states } = yield* store.summary(start)
      yield* expectEqual("counts", [states.delivered, states.cancelled, states.pending, states.retrying], [1, 3, 0, 0])
    })
  },
  {
    name: "a call that ended before it is stored is not sent, for as long as a call lives",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const at = (after: number) => ({ created_at: start + after })
      yield* enqueue(marked(endOf(1, "7")))
      const early = yield* enqueue(marked(callOf(2, "7", at(callLifetime - 1)), integration))
      const late = yield* enqueue(marked(callOf(3, "7", at(callLifetime)), integration))
      yield* expectEqual("states", yield* endings([...early, ...late]), [ended, "pending"])
      yield* enqueue(marked(endOf(4, "7", at(2 * callLifetime))))
      yield* expectEqual("after a late end", yield* endings(late), ["pending"])
    })
  },
  {
    name: "the id of a call is compared as text, with all digits",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const ids = ["7", '"8"', '"Zoë \\u00fc"', "9007199254740993", "9007199254740992", '"007"', "1.5", "null", '""']
      const deliveries = yield* enqueue(...ids.map((id, index) => marked(callOf(index + 1, id), integration)))
      const given = ['"7"', "8", '"Zoë ü"', '"9007199254740993"', '"7.0"', "1.5", "null", '""']
      yield* enqueue(...given.map((id, index) => marked(endOf(index + 50, id))))
      yield* expectEqual(
        "states",
        yield* endings(deliveries),
        ids.map((_, index) => (index < 4 ? ended : "pending"))
      )
    })
  },
  {
    name: "a call and its end can be stored at once, in either order",
    run: Effect.gen(function* () {
      const store = yield* DeliveryStore
      yield* heartbeat(start)
      const integration = yield* createIntegration()
      const leased = (event: Event): NewEventRecord => ({
        ...marked(event),
        deliveries: [{ ...pending(integration, event), initial: { state: "delivering", worker } }]
      })
      const [[first] = [], , , [second] = []] = yield* store.enqueue([
        leased(callOf(1, "7")),
        marked(endOf(2, "7")),
        marked(endOf(3, "8")),
        leased(callOf(4, "8"))
      ])
      yield* expectEqual("answer", [first?.state, second?.state], ["cancelled", "cancelled"])
      const ids = [first, second].flatMap((each) => (each === undefined ? [] : [each.id]))
      yield* expectEqual("states", yield* endings(ids), [ended, ended])
      yield* expectEqual("claimed", yield* claim(start), [])
      // No lease is left, because the worker doesn't know the deliveries.
      yield* Effect.forEach(ids, (id) => resend(id, start), { discard: true })
      const claimed = (yield* claim(start)).map(({ id }) => id)
      yield* expectEqual(
        "claimed after a resend",
        claimed.toSorted((x, y) => x - y),
        ids
      )
    })
  },
  {
    name: "an attempt during which the call ends is recorded, and the delivery is sent again only on request",
    run: Effect.gen(function* () {
      yield* heartbeat(start)
      const integration = yield* createIntegration()
      const [id] = yield* enqueue(marked(callOf(1, "7"), integration))
      const delivery = yield* claimOne(start)
      yield* enqueue(marked(endOf(2, "7")))
      yield* settle(start, retryAt(delivery, start + 1_000))
      yield* expectEqual("state", yield* endings([delivery.id]), [ended])
      yield* expectEqual("attempts", yield* attemptsOf(delivery.id), [
        attempt(1, { outcome: "bad_status", status: 500, response_excerpt: "no" })
      ])
      yield* expectEqual("claimed", yield* claim(start + 60_000), [])
      yield* expectEqual("resent", yield* resend(delivery.id, start), [1, id])
      const again = yield* claimOne(start)
      yield* expectEqual("claimed again", [again.id, again.resend, again.attempts], [id, true, 1])
    })
  },
  {
    name: "of a call and its end that are stored concurrently, nothing is left to send",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const ids = yield* concurrently(20, (n) =>
        enqueue(
          n % 2 === 0 ? marked(callOf(n + 1, String(n)), integration) : marked(endOf(n + 1, String(n - 1)), integration)
        )
      )
      const calls = ids.filter((_, n) => n % 2 === 0).flat()
      yield* expectEqual(
        "calls",
        yield* endings(calls),
        calls.map(() => ended)
      )
    })
  }
]
