/**
 * Rules for stored data: the store returns it byte for byte.
 */
import { Effect } from "effect"
import { BuildingId, DeliveryId, TenantId } from "../../model/Ids.ts"
import { JsonText } from "../../model/JsonText.ts"
import { DeliveryStore } from "../../ports/DeliveryStore.ts"
import type { IntegrationStore } from "../../ports/IntegrationStore.ts"
import {
  attempt,
  attemptsOf,
  claim,
  claimOne,
  createIntegration,
  enqueue,
  enqueueOne,
  eventId,
  keptEvent,
  newEvent,
  record,
  settlement,
  settle,
  start
} from "../Fixtures.ts"
import type { SuiteCase } from "../SuiteCase.ts"
import { expectEqual } from "../SuiteCase.ts"

/** Texts that parsing, escaping or normalization might change. */
const delicateTexts: ReadonlyArray<string> = [
  `{"b":1,"a":2,"10":3,"9":4}`,
  `{"id":12345678901234567890,"small":-0.00000000000000000001}`,
  `{"one":1.0,"exponent":1E+2,"zero":-0}`,
  `{"a":1,"a":2,"a":1}`,
  `{"separators":"\u2028\u2029","bom":"\ufeff"}`,
  `{"emoji":"🔔👩‍👩‍👧","combining":"e\u0301 \u00e9"}`,
  String.raw`{"lone":"\ud800","escaped":"\u0000\/\"\\","pair":"\ud83d\ude00"}`,
  `{ "spaces" :\t[ 1 ,\n2 ] }\n`,
  `{"quote":"'; DROP TABLE deliveries; --","placeholder":"? $1 :name","percent":"%s"}`,
  `{"long":"${"x".repeat(100_000)}"}`,
  `{}`
]

export const fidelityCases: ReadonlyArray<SuiteCase<DeliveryStore | IntegrationStore>> = [
  {
    name: "an event is stored as published, even without deliveries",
    run: Effect.gen(function* () {
      const event = newEvent(1, {
        resource_type: "call",
        building_id: BuildingId.make(9_007_199_254_740_991),
        tenant_ids: [TenantId.make(3), TenantId.make(1), TenantId.make(2)],
        created_at: 1_893_456_000_123
      })
      const withoutTenants = newEvent(2, { tenant_ids: [] })
      const [id = DeliveryId.make(1)] = yield* enqueue(
        record(event),
        record(withoutTenants),
        record(newEvent(3, { ...event, id: eventId(3) }), yield* createIntegration())
      )
      yield* expectEqual("event", yield* keptEvent(event), event)
      yield* expectEqual("event without tenants", yield* keptEvent(withoutTenants), withoutTenants)
      const found = yield* (yield* DeliveryStore).find(id)
      yield* expectEqual("event of a delivery", found?.event, { ...event, id: eventId(3) })
      yield* expectEqual("unknown event", yield* keptEvent(newEvent(4)), undefined)
    })
  },
  {
    name: "the text of an event's `data` is stored byte for byte",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const events = delicateTexts.map((text, index) => newEvent(index + 1, { data: JsonText.make(text) }))
      yield* enqueue(...events.map((event) => record(event, integration)))
      for (const event of events) {
        yield* expectEqual("text as stored", (yield* keptEvent(event))?.data, event.data)
      }
      const claimed = yield* claim(start)
      yield* expectEqual(
        "texts as claimed",
        claimed.map(({ event }) => event),
        events
      )
    })
  },
  {
    name: "the texts of an attempt are stored unchanged",
    run: Effect.gen(function* () {
      const integration = yield* createIntegration()
      const id = yield* enqueueOne(newEvent(1), integration)
      const texts = ["", "null", ...delicateTexts, "a zero \u0000 inside", "x".repeat(16 * 1_024)]
      for (const [index, text] of texts.entries()) {
        const now = start + index * 30_000
        const made = attempt(index + 1, { response_excerpt: text, detail: text })
        const retry = { state: "retrying", next_attempt_at: now, attempt: made } as const
        yield* settle(now, settlement(yield* claimOne(now), retry))
      }
      const attempts = yield* attemptsOf(id)
      yield* expectEqual(
        "excerpts",
        attempts.map(({ response_excerpt }) => response_excerpt),
        texts
      )
      yield* expectEqual(
        "details",
        attempts.map(({ detail }) => detail),
        texts
      )
    })
  }
]
