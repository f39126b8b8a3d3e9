import type { DeliveryState, NewDelivery } from "@doorhook/core"
import { activeStates, deliveryStates, Transitions } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { makeLeased } from "../fixtures.ts"
import { attemptOf, settlementOf } from "./fixtures.ts"

const { enqueue, cancel, claim, isCurrent, isDue, reasonToEnd, release, resend, settle } = Transitions

const now = 50_000
const isActive = (state: DeliveryState): boolean => activeStates.some((active) => active === state)

/** A delivery that is stored but has not been sent. */
const waiting: Transitions.QueueEntry = {
  state: "pending",
  reason: null,
  attempts: 0,
  early: 0,
  lane: 2,
  due_at: 0,
  worker: null,
  resend: 0
}
/** A delivery whose second attempt is in progress. */
const underLease: Transitions.QueueEntry = {
  ...waiting,
  state: "delivering",
  attempts: 1,
  lane: 3,
  due_at: 40_000,
  worker: "worker"
}
/** The settlement of a failed second attempt. */
const failedAgain = settlementOf({
  attempt: attemptOf("timeout", { number: 2 }),
  state: "retrying",
  next_attempt_at: 90_000
})

describe("a delivery can be claimed", () => {
  it.each([
    [49_999, true],
    [50_000, true],
    [50_001, false],
    [null, false]
  ])("at 50000 when due at %j: %j", (due_at, expected) => {
    assert.strictEqual(isDue({ due_at, worker: null }, now), expected)
    assert.isFalse(isDue({ due_at, worker: "worker" }, now), "not while it is leased")
  })
})

describe("a new delivery", () => {
  const { event } = makeLeased(1, { event: { created_at: 40_000 } })
  const asked = (initial: NewDelivery["initial"]): NewDelivery => ({
    integration_id: makeLeased(1).integration.id,
    lane: 2,
    matched_version: 1,
    initial
  })
  const skipped = asked({ state: "skipped", reason: "integration_disabled" })
  const handedOver = asked({ state: "delivering", worker: "publisher" })
  const pending = asked({ state: "pending" })
  const enabled = { status: "enabled", version: 1 } as const
  const none = { attempts: 0, early: 0, lane: 2, resend: 0 } as const
  const due: Transitions.QueueEntry = { ...none, state: "pending", reason: null, due_at: 40_000, worker: null }

  it("is due at its publication, even while it is leased to its publisher", () => {
    assert.deepEqual(enqueue(pending, event, enabled), due)
    assert.deepEqual(enqueue(handedOver, event, enabled), { ...due, state: "delivering", worker: "publisher" })
  })

  it("is not leased if its integration has changed since the match, so that it is sent to the new URL", () => {
    assert.deepEqual(enqueue(handedOver, event, { ...enabled, version: 2 }), due)
    assert.deepEqual(enqueue(pending, event, { ...enabled, version: 2 }), due)
  })

  it("is skipped if its integration is disabled, and cancelled if the integration is deleted", () => {
    const disabled = { status: "disabled", version: 2 } as const
    const ended = { ...none, due_at: null, worker: null }
    for (const one of [skipped, pending]) {
      assert.deepEqual(enqueue(one, event, disabled), { ...ended, state: "skipped", reason: "integration_disabled" })
      assert.deepEqual(enqueue(one, event, undefined), { ...ended, state: "cancelled", reason: "integration_deleted" })
    }
  })

  it("is skipped on request, for the given reason, even if the integration is enabled by now", () => {
    const forRight = asked({ state: "skipped", reason: "right_lost" })
    assert.deepInclude(enqueue(forRight, event, enabled), { state: "skipped", reason: "right_lost", due_at: null })
  })

  it("is not leased if its integration is disabled or deleted", () => {
    const disabled = { status: "disabled", version: 1 } as const
    assert.deepInclude(enqueue(handedOver, event, disabled), { state: "skipped", worker: null })
    assert.deepInclude(enqueue(handedOver, event, undefined), { state: "cancelled", worker: null })
  })
})

describe("a claimed delivery", () => {
  it("is leased to the worker, and keeps its attempts, lane and due time", () => {
    const retrying: Transitions.QueueEntry = {
      ...waiting,
      state: "retrying",
      attempts: 3,
      early: 1,
      lane: 3,
      due_at: 90_000
    }
    assert.deepEqual(claim({ ...retrying, reason: "lifetime_over" }, "worker"), {
      ...retrying,
      state: "delivering",
      worker: "worker"
    })
  })

  it("serves all resends requested so far, and is marked as a resend if there are any", () => {
    assert.deepEqual(
      ([0, 1, 2] as const).map((resend) => claim({ ...waiting, resend }, "worker").resend),
      [0, 1, 1]
    )
  })
})

describe("a settlement", () => {
  it("belongs to the worker's current lease if its attempt is the next one or none was made", () => {
    const current = (number: number | null, worker: string, standing = underLease) =>
      isCurrent(standing, { attempt: number === null ? null : attemptOf("timeout", { number }) }, worker)
    assert.deepEqual(
      [1, 2, 3, null].map((number) => current(number, "worker")),
      [false, true, false, true]
    )
    for (const number of [1, 2, 3, null]) {
      assert.isFalse(current(number, "another"))
      assert.isFalse(current(number, "worker", { ...underLease, worker: null }))
    }
    assert.isTrue(current(2, "worker", cancel(underLease, "right_lost")), "of a delivery that was cancelled")
  })
})

describe("a settled delivery", () => {
  it("has the state of the settlement and no lease", () => {
    assert.deepEqual(settle(underLease, { ...failedAgain, early: 1 }, now, null), {
      state: "retrying",
      reason: null,
      attempts: 2,
      early: 1,
      lane: 3,
      due_at: 90_000,
      worker: null,
      resend: 0
    })
    const given = settlementOf({
      ...failedAgain,
      state: "exhausted",
      reason: "schedule_used_up",
      next_attempt_at: null
    })
    assert.deepInclude(settle(underLease, given, now, null), {
      state: "exhausted",
      reason: "schedule_used_up",
      due_at: null
    })
  })

  it("next waits in the lane of the settlement, whatever the state", () => {
    const first: Transitions.QueueEntry = { ...underLease, attempts: 0, lane: 0 }
    const toRetries = settlementOf({ ...failedAgain, lane: 1 })
    for (const [standing, toEnd] of [
      [first, null],
      [first, "integration_gone"],
      [{ ...first, resend: 2 }, null]
    ] as const)
      assert.strictEqual(settle(standing, toRetries, now, toEnd).lane, 1)
  })

  it("counts no attempt if none was made", () => {
    const expired = settlementOf({ attempt: null, state: "expired", reason: "lifetime_over" })
    assert.deepInclude(settle(underLease, expired, now, null), { state: "expired", attempts: 1 })
  })

  it("keeps its state if it was ended during its lease, and counts its attempt", () => {
    for (const settlement of [
      { ...failedAgain, early: 1 },
      settlementOf({ attempt: attemptOf("acknowledged", { number: 2 }) })
    ]) {
      for (const toEnd of [null, "integration_gone"] as const) {
        const ended = cancel(underLease, "right_lost")
        assert.deepEqual(settle(ended, settlement, now, toEnd), {
          ...ended,
          attempts: 2,
          early: settlement.early,
          worker: null
        })
      }
    }
  })

  it("is due immediately if a resend was requested during the attempt, whatever the outcome", () => {
    for (const settlement of [failedAgain, settlementOf({ attempt: attemptOf("acknowledged", { number: 2 }) })]) {
      const next = settle({ ...underLease, resend: 2 }, settlement, now, null)
      assert.deepEqual(next, {
        ...underLease,
        state: "pending",
        attempts: 2,
        due_at: now,
        worker: null,
        resend: 1
      })
    }
  })

  it("has no further resend if the resend was requested before the attempt began", () => {
    assert.deepInclude(settle({ ...underLease, resend: 1 }, failedAgain, now, null), {
      state: "retrying",
      resend: 0
    })
  })

  it("ends as cancelled again after any failure if it was the probe of a disabled integration", () => {
    const givenUp = settlementOf({
      ...failedAgain,
      state: "exhausted",
      reason: "schedule_used_up",
      next_attempt_at: null
    })
    const tooLate = { ...givenUp, state: "expired", reason: "lifetime_over" } as const
    const gone = { ...givenUp, state: "cancelled", reason: "integration_gone", gone: true } as const
    for (const resend of [0, 1, 2] as const) {
      for (const settlement of [failedAgain, givenUp, tooLate, gone]) {
        assert.deepEqual(settle({ ...underLease, resend }, settlement, now, "integration_disabled"), {
          state: "cancelled",
          reason: "integration_disabled",
          attempts: 2,
          early: 0,
          lane: 3,
          due_at: null,
          worker: null,
          resend: 0
        })
      }
    }
    assert.strictEqual(settle(underLease, settlementOf(), now, "integration_gone").state, "delivered")
    const expired = settlementOf({ attempt: null, state: "expired", reason: "lifetime_over" })
    assert.strictEqual(settle(underLease, expired, now, "integration_gone").state, "expired")
  })
})

describe("a delivery that is released without an attempt", () => {
  it.each([
    [0, 0, "pending", 0],
    [1, 0, "retrying", 0],
    [1, 1, "pending", 1],
    [1, 2, "pending", 1],
    [0, 2, "pending", 1]
  ] as const)("after %i attempts, with resend mark %i, is %s", (attempts, resend, state, still) => {
    assert.deepEqual(release({ ...underLease, attempts, resend }, 60_000), {
      ...underLease,
      state,
      attempts,
      // A resend requested during the lease is not delayed.
      due_at: resend === 2 ? underLease.due_at : 60_000,
      worker: null,
      resend: still
    })
  })

  it("keeps its due time, unless a time is given", () => {
    assert.deepEqual(release(underLease), release(underLease, underLease.due_at))
  })

  it("stays ended if it was ended during its lease, and has no worker", () => {
    const ended = cancel(underLease, "right_lost")
    for (const after of [release(ended), release(ended, 60_000)]) assert.deepEqual(after, { ...ended, worker: null })
  })
})

describe("a resent delivery", () => {
  it("is due now in every state unless it is leased, and replaces its waiting retry", () => {
    for (const state of deliveryStates) {
      if (state === "delivering") continue
      const before: Transitions.QueueEntry = {
        ...waiting,
        state,
        reason: "schedule_used_up",
        attempts: 4,
        early: 2,
        due_at: isActive(state) ? now : null
      }
      const expected = { ...before, state: "pending", reason: null, due_at: now, resend: 1 } as const
      assert.deepEqual(resend(before, now), expected)
    }
    assert.strictEqual(resend({ ...waiting, state: "retrying", due_at: 90_000 }, now).due_at, now)
  })

  it("is not sent twice at the same time: if it is leased, it is marked and stays leased", () => {
    for (const mark of [0, 1, 2] as const)
      assert.deepEqual(resend({ ...underLease, resend: mark }, now), { ...underLease, resend: 2 })
  })

  it("is not sent during the attempt in which it was cancelled", () => {
    const ended = cancel(underLease, "integration_disabled")
    assert.deepEqual(resend(ended, now), { ...underLease, reason: null, due_at: now, resend: 2 })
  })

  it("is due now if its lease is lost, even if it was leased before it was due", () => {
    const early = { ...underLease, due_at: 900_000 }
    assert.deepInclude(release(resend(early, now)), { state: "pending", due_at: now, worker: null, resend: 1 })
  })
})

describe("a cancelled delivery", () => {
  it("is no longer due or requested, and keeps the worker that may be sending it", () => {
    assert.deepEqual(cancel({ ...underLease, resend: 2 }, "right_lost"), {
      ...underLease,
      state: "cancelled",
      reason: "right_lost",
      due_at: null
    })
  })

  it("has the reason that the receiver was gone or the integration was disabled", () => {
    assert.deepEqual(
      (["gone", "failing", "manual", null] as const).map((disabled_reason) =>
        Transitions.reasonOfDisabled({ disabled_reason })
      ),
      ["integration_gone", "integration_disabled", "integration_disabled", "integration_disabled"]
    )
  })

  it("is recovered, like all deliveries that ended unacknowledged, were never sent, or wait for a retry", () => {
    const others = deliveryStates.filter((state) => !isActive(state) && state !== "delivered")
    assert.sameMembers([...Transitions.unacknowledgedStates], others)
    const recovered = deliveryStates.filter((state) => Transitions.isRecoverable({ state }))
    assert.sameMembers(recovered, [...others, "retrying"])
  })
})

describe("deliveries of an integration", () => {
  it("end for the reason why the integration takes no more", () => {
    const disabled = (disabled_reason: "gone" | "failing" | "manual") =>
      reasonToEnd({ status: "disabled", disabled_reason })
    assert.deepEqual(
      [disabled("gone"), disabled("failing"), disabled("manual"), reasonToEnd(undefined)],
      ["integration_gone", "integration_disabled", "integration_disabled", "integration_deleted"]
    )
    assert.isNull(reasonToEnd({ status: "enabled", disabled_reason: null }))
  })
})
