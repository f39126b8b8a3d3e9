/** Tests the ledger alone. Each test passes it the steps of a delivery. */
import type { DeliveryState, Event, Settlement } from "@doorhook/core"
import {
  BuildingId,
  defaultDeliverySettings,
  DeliveryId,
  EventId,
  IntegrationId,
  JsonText,
  noDeliveries
} from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Ledger } from "../src/results/Ledger.ts"
import { Measurements } from "../src/results/Measurements.ts"

const event: Event = {
  id: EventId.make("evt_0000000000000000000000000001", { disableChecks: true }),
  resource_type: "access_log",
  action: "create",
  building_id: BuildingId.make(1),
  tenant_ids: [],
  data: JsonText.JsonText.make("{}"),
  created_at: 0
}
const delivery = DeliveryId.make(1)
const integration = IntegrationId.make(1)

const emptyLedger = () => {
  const { ackTimeout, retry } = defaultDeliverySettings
  const measurements = new Measurements()
  const ledger = new Ledger({ measurements, timeOf: (at) => at, retry, ackTimeout, tolerance: 0, slack: 2_000 })
  const store = (id: number, state: DeliveryState) =>
    ledger.stored(DeliveryId.make(id), state, event, integration, measurements.integration(integration, "a house"))
  return { ledger, measurements, store, whats: () => ledger.violations.map(({ what }) => what) }
}

/** Returns the settlement of a failed attempt. */
const retrying = (number: number, changes: Partial<Settlement>): Settlement => ({
  delivery_id: delivery,
  integration_id: integration,
  attempt: {
    number,
    started_at: 0,
    duration_ms: 5_000,
    outcome: "timeout",
    status: null,
    response_excerpt: null,
    detail: "no answer"
  },
  state: "retrying",
  reason: null,
  next_attempt_at: 10_000,
  lane: 3,
  early: 0,
  retry_after: null,
  gone: false,
  ...changes
})

const failed = { _tag: "Failed", outcome: "timeout", detail: "no answer", elapsed: 5_000 } as const

/** Returns a ledger with a delivery that failed at 5 s and is due again at 10 s. */
const withRetry = () => {
  const { ledger, measurements, store } = emptyLedger()
  const request = (attempt: number, now: number, earlyOf: number | null = null) => {
    ledger.leased(delivery, earlyOf)
    return ledger.requested(integration, event.id, attempt, now) ?? assert.fail("it is open")
  }
  store(1, "pending")
  ledger.responded(request(1, 0), failed, "timeout", 5_000)
  ledger.settled(retrying(1, {}), 5_000)
  return { ledger, measurements, request }
}

describe("a retry sent after its due time", () => {
  it("breaks a rule", () => {
    const { ledger, request } = withRetry()
    request(2, 20_000)
    assert.deepStrictEqual(
      ledger.violations.map(({ what }) => what),
      ["attempt 2 of delivery 1 was sent 10000 ms after it was due"]
    )
  })

  it("breaks no rule if all places were full until then", () => {
    const { ledger, request } = withRetry()
    ledger.busy(50_000)
    ledger.busy(5_000)
    request(2, 20_000)
    assert.deepStrictEqual(ledger.violations, [])
  })
})

describe("a retry sent before its due time", () => {
  const whats = (earlyOf: number | null, changes: Partial<Settlement> = { early: 1 }) => {
    const { ledger, request } = withRetry()
    ledger.responded(request(2, 6_000, earlyOf), failed, "timeout", 8_000)
    ledger.settled(retrying(2, changes), 8_000)
    return ledger.violations.map(({ what }) => what)
  }

  it("breaks no rule if it was claimed early and changes neither the schedule nor the due time", () => {
    assert.deepStrictEqual(whats(10_000), [])
  })

  it("breaks a rule if it was not claimed early", () => {
    assert.strictEqual(whats(null)[0], "attempt 2 of delivery 1 was sent 4000 ms before it was due")
  })

  it("breaks a rule if it uses up the schedule or changes the due time", () => {
    assert.deepStrictEqual(whats(10_000, { early: 0, next_attempt_at: 38_000 }), [
      "delivery 1 counts 0 early attempts after attempt 2"
    ])
    assert.deepStrictEqual(whats(10_000, { early: 1, next_attempt_at: 38_000 }), [
      "delivery 1 has a retry 30000 ms after attempt 2, against its schedule"
    ])
  })
})

describe("a request", () => {
  const counted = (measurements: Measurements) => {
    const { attemptsPerDelivery, outcomes, totals } = measurements
    const inSeries = measurements.series.intervals.reduce((sum, { requests }) => sum + requests, 0)
    const ended = Object.values(outcomes).reduce((sum, count) => sum + count, 0)
    assert.deepStrictEqual([inSeries, ended], [totals.requests, totals.requests])
    return { requests: totals.requests, outcomes, attemptsPerDelivery: attemptsPerDelivery.slice(0, 4) }
  }
  const acknowledged = {
    _tag: "Answered",
    status: 200,
    retry_after: null,
    excerpt: "",
    headers_elapsed: 40,
    elapsed: 40
  } as const

  it("counts when it is sent, even if its process dies without an answer", () => {
    const { ledger, measurements, request } = withRetry()
    const cut = request(2, 10_000)
    ledger.processed(cut, 10_000)
    ledger.cutOff(cut)
    const again = request(2, 40_000)
    ledger.processed(again, 40_000)
    ledger.responded(again, acknowledged, "acknowledged", 40_040)
    ledger.settled(retrying(2, { state: "delivered", next_attempt_at: null }), 40_040)
    assert.deepStrictEqual(counted(measurements), {
      requests: 3,
      outcomes: { timeout: 1, cut_off: 1, acknowledged: 1 },
      attemptsPerDelivery: [0, 0, 0, 1]
    })
    assert.strictEqual(measurements.totals.duplicates, 1)
  })

  it("counts as cut off if it is repeated, and as in flight if the run ends first", () => {
    const { ledger, measurements, request } = withRetry()
    request(2, 10_000)
    request(2, 40_000)
    ledger.finish(40_001, { events: 1, states: { ...noDeliveries, delivering: 1 }, oldest_due_at: null }, 0)
    assert.deepStrictEqual(counted(measurements), {
      requests: 3,
      outcomes: { timeout: 1, cut_off: 1, in_flight: 1 },
      attemptsPerDelivery: [0, 0, 0, 0]
    })
    assert.deepStrictEqual(ledger.violations, [])
  })

  it("does not count if it was not sent", () => {
    const { ledger, measurements, request } = withRetry()
    ledger.unsent(request(2, 10_000))
    assert.strictEqual(counted(measurements).requests, 1)
  })

  it("is not acknowledged by a late answer or by another status than 200", () => {
    for (const change of [{ headers_elapsed: 5_001 }, { status: 204 }]) {
      const { ledger, request } = withRetry()
      ledger.responded(request(2, 10_000), { ...acknowledged, ...change }, "acknowledged", 10_040)
      ledger.settled(retrying(2, { state: "delivered", next_attempt_at: null }), 10_040)
      assert.deepStrictEqual(
        ledger.violations.map(({ rule }) => rule),
        ["delivered-is-received"]
      )
    }
  })

  it("breaks a rule without an open delivery, but counts", () => {
    const { ledger, measurements } = withRetry()
    ledger.integrationEnded(integration, 6_000)
    ledger.requested(integration, event.id, 2, 10_000)
    assert.deepStrictEqual(
      ledger.violations.map(({ rule }) => rule),
      ["nothing-after-end"]
    )
    assert.strictEqual(counted(measurements).requests, 2)
  })
})

describe("a delivery stored as skipped", () => {
  const finish = (ledger: Ledger) => {
    const states = { ...noDeliveries, skipped: 2 }
    ledger.finish(9_000, { events: 2, states, oldest_due_at: null }, 0)
  }

  it("breaks a rule if the integration was never disabled", () => {
    const { ledger, store, whats } = emptyLedger()
    store(1, "skipped")
    store(2, "skipped")
    finish(ledger)
    assert.deepStrictEqual(whats(), [
      "delivery 1 was stored as skipped, but integration 1 is neither disabled nor deleted"
    ])
    assert.strictEqual(ledger.brokenIn("nothing-lost"), 2)
  })

  it("breaks no rule if the end of the integration is reported later", () => {
    const { ledger, store, whats } = emptyLedger()
    store(1, "skipped")
    ledger.integrationEnded(integration, 1_000)
    store(2, "skipped")
    finish(ledger)
    assert.deepStrictEqual(whats(), [])
  })
})

describe("an event", () => {
  const told = (...to: ReadonlyArray<number>) => {
    const { ledger, whats } = emptyLedger()
    const ids = (numbers: ReadonlyArray<number>) => numbers.map((number) => IntegrationId.make(number))
    ledger.matched(event, ids(to), new Set(ids([1, 2])))
    return { places: ledger.broken, whats: whats() }
  }

  it("goes once to each integration that it matches", () => {
    assert.deepStrictEqual(told(2, 1), { places: 0, whats: [] })
    assert.deepStrictEqual(told(1, 1), { places: 1, whats: [`event ${event.id} went to 1, 1 instead of 1, 2`] })
    assert.deepStrictEqual(told(), { places: 2, whats: [`event ${event.id} went to nobody instead of 1, 2`] })
    assert.strictEqual(told(1, 2, 2).places, 1)
  })
})
