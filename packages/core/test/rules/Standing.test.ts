import type { DeliveryState, NewDelivery } from "@doorhook/core"
import { activeStates, deliveryStates, Standing } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { makeLeased } from "../fixtures.ts"
import { attemptOf, settlementOf } from "./fixtures.ts"

const { begun, cancelled, claimed, isDue, reasonToEnd, released, resent, settled } = Standing

const now = 50_000
const lease = { token: "lease", until: 70_000 }
const isActive = (state: DeliveryState): boolean => activeStates.some((active) => active === state)

/** Stored and not yet sent. */
const waiting: Standing.Standing = {
  state: "pending",
  reason: null,
  attempts: 0,
  lane: 2,
  due_at: 0,
  lease_token: null,
  resend: 0
}
/** Its second attempt is under way. */
const underLease: Standing.Standing = {
  ...waiting,
  state: "delivering",
  attempts: 1,
  lane: 3,
  due_at: 70_000,
  lease_token: "lease"
}
/** Its second attempt was made, and its receiver failed once more. */
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
    assert.strictEqual(isDue({ due_at }, now), expected)
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
  const handedOver = asked({ state: "delivering", lease })
  const pending = asked({ state: "pending" })
  const enabled = { status: "enabled", version: 1 } as const
  const none = { attempts: 0, lane: 2, resend: 0 } as const
  const due: Standing.Standing = { ...none, state: "pending", reason: null, due_at: 40_000, lease_token: null }

  it("is due from its publication, or under the lease that it was handed over with", () => {
    assert.deepEqual(begun(pending, event, enabled), due)
    const underway: Standing.Standing = {
      ...none,
      state: "delivering",
      reason: null,
      due_at: 70_000,
      lease_token: "lease"
    }
    assert.deepEqual(begun(handedOver, event, enabled), underway)
  })

  it("is claimed anew, and so sent to where the integration says now, when that changed since the match", () => {
    assert.deepEqual(begun(handedOver, event, { ...enabled, version: 2 }), due)
    assert.deepEqual(begun(pending, event, { ...enabled, version: 2 }), due)
  })

  it("does not vanish with what takes no more: it is skipped where disabled, cancelled where deleted", () => {
    const disabled = { status: "disabled", version: 2 } as const
    const ended = { ...none, due_at: null, lease_token: null }
    for (const one of [skipped, pending]) {
      assert.deepEqual(begun(one, event, disabled), { ...ended, state: "skipped", reason: "integration_disabled" })
      assert.deepEqual(begun(one, event, undefined), { ...ended, state: "cancelled", reason: "integration_deleted" })
    }
  })

  it("is skipped if it was asked to be, for the reason given, though the integration takes more by now", () => {
    const forRight = asked({ state: "skipped", reason: "right_lost" })
    assert.deepInclude(begun(forRight, event, enabled), { state: "skipped", reason: "right_lost", due_at: null })
  })

  it("is under no lease then: it is not handed over, so that nobody holds it", () => {
    const disabled = { status: "disabled", version: 1 } as const
    assert.deepInclude(begun(handedOver, event, disabled), { state: "skipped", lease_token: null })
    assert.deepInclude(begun(handedOver, event, undefined), { state: "cancelled", lease_token: null })
  })
})

describe("a claimed delivery", () => {
  it("is under the lease until the lease ends, with its attempts and its lane as they were", () => {
    const retrying: Standing.Standing = { ...waiting, state: "retrying", attempts: 3, lane: 3 }
    assert.deepEqual(claimed({ ...retrying, reason: "lifetime_over" }, lease), {
      ...retrying,
      state: "delivering",
      due_at: lease.until,
      lease_token: lease.token
    })
  })

  it("knows whether it was asked for, and answers all that was asked until then at once", () => {
    assert.deepEqual(
      ([0, 1, 2] as const).map((resend) => claimed({ ...waiting, resend }, lease).resend),
      [0, 1, 1]
    )
  })
})

describe("a settled delivery", () => {
  it("stands as the settlement says, under no lease", () => {
    assert.deepEqual(settled(underLease, failedAgain, now, null), {
      state: "retrying",
      reason: null,
      attempts: 2,
      lane: 3,
      due_at: 90_000,
      lease_token: null,
      resend: 0
    })
    const given = settlementOf({
      ...failedAgain,
      state: "exhausted",
      reason: "schedule_used_up",
      next_attempt_at: null
    })
    assert.deepInclude(settled(underLease, given, now, null), {
      state: "exhausted",
      reason: "schedule_used_up",
      due_at: null
    })
  })

  it("waits next in the lane that the settlement names, however it goes on", () => {
    const first: Standing.Standing = { ...underLease, attempts: 0, lane: 0 }
    const toRetries = settlementOf({ ...failedAgain, lane: 1 })
    for (const [standing, toEnd] of [
      [first, null],
      [first, "integration_gone"],
      [{ ...first, resend: 2 }, null]
    ] as const)
      assert.strictEqual(settled(standing, toRetries, now, toEnd).lane, 1)
  })

  it("counts no attempt when none was made", () => {
    const expired = settlementOf({ attempt: null, state: "expired", reason: "lifetime_over" })
    assert.deepInclude(settled(underLease, expired, now, null), { state: "expired", attempts: 1 })
  })

  it("keeps its state when it was ended under its lease, and counts its attempt, once", () => {
    for (const settlement of [failedAgain, settlementOf({ attempt: attemptOf("acknowledged", { number: 2 }) })]) {
      for (const toEnd of [null, "integration_gone"] as const) {
        const ended = cancelled(underLease, "right_lost")
        assert.deepEqual(settled(ended, settlement, now, toEnd), { ...ended, attempts: 2, lease_token: null })
      }
    }
  })

  it("is due at once when it was asked for during the attempt, however this ended", () => {
    for (const settlement of [failedAgain, settlementOf({ attempt: attemptOf("acknowledged", { number: 2 }) })]) {
      const next = settled({ ...underLease, resend: 2 }, settlement, now, null)
      assert.deepEqual(next, {
        ...underLease,
        state: "pending",
        attempts: 2,
        due_at: now,
        lease_token: null,
        resend: 1
      })
    }
  })

  it("was answered by the attempt that was asked for before it began", () => {
    assert.deepInclude(settled({ ...underLease, resend: 1 }, failedAgain, now, null), {
      state: "retrying",
      resend: 0
    })
  })

  it("ends as it was, however its receiver failed, when it was the probe of a disabled integration", () => {
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
        assert.deepEqual(settled({ ...underLease, resend }, settlement, now, "integration_disabled"), {
          state: "cancelled",
          reason: "integration_disabled",
          attempts: 2,
          lane: 3,
          due_at: null,
          lease_token: null,
          resend: 0
        })
      }
    }
    assert.strictEqual(settled(underLease, settlementOf(), now, "integration_gone").state, "delivered")
    const expired = settlementOf({ attempt: null, state: "expired", reason: "lifetime_over" })
    assert.strictEqual(settled(underLease, expired, now, "integration_gone").state, "expired")
  })
})

describe("a delivery that is given back unattempted", () => {
  it.each([
    [0, 0, "pending", 0],
    [1, 0, "retrying", 0],
    [1, 1, "pending", 1],
    [1, 2, "pending", 1],
    [0, 2, "pending", 1]
  ] as const)("after %i attempts, asked for (%i): is %s", (attempts, resend, state, still) => {
    assert.deepEqual(released({ ...underLease, attempts, resend }, 60_000), {
      ...underLease,
      state,
      attempts,
      due_at: 60_000,
      lease_token: null,
      resend: still
    })
  })
})

describe("a delivery that is to be sent again", () => {
  it("is due now in any state, and its waiting retry is replaced", () => {
    for (const state of deliveryStates) {
      const before: Standing.Standing = {
        ...waiting,
        state,
        reason: "schedule_used_up",
        attempts: 4,
        due_at: isActive(state) ? now : null,
        lease_token: "ended"
      }
      const expected = { ...before, state: "pending", reason: null, due_at: now, lease_token: null, resend: 1 } as const
      assert.deepEqual(resent(before, now), expected)
    }
    assert.strictEqual(resent({ ...waiting, state: "retrying", due_at: 90_000 }, now).due_at, now)
  })

  it("is not sent twice at once: under a live lease it is marked, and stays under it", () => {
    for (const resend of [0, 1, 2] as const)
      assert.deepEqual(resent({ ...underLease, resend }, now), { ...underLease, resend: 2 })
  })

  it("does not wait for a lease that has run out, and takes it away", () => {
    assert.deepInclude(resent(underLease, underLease.due_at ?? 0), { state: "pending", lease_token: null })
  })
})

describe("a delivery that is cancelled", () => {
  it("is due no more and asked for no more, and keeps the token of the attempt that is under way", () => {
    assert.deepEqual(cancelled({ ...underLease, resend: 2 }, "right_lost"), {
      ...underLease,
      state: "cancelled",
      reason: "right_lost",
      due_at: null
    })
  })

  it("says whether its integration's receiver was gone or its integration was disabled", () => {
    assert.deepEqual(
      (["gone", "failing", "manual", null] as const).map((disabled_reason) =>
        Standing.reasonOfDisabled({ disabled_reason })
      ),
      ["integration_gone", "integration_disabled", "integration_disabled", "integration_disabled"]
    )
  })

  it("is recovered with all others that ended, or never began, without an acknowledgement, and those that wait for a retry", () => {
    const others = deliveryStates.filter((state) => !isActive(state) && state !== "delivered")
    assert.sameMembers([...Standing.unacknowledgedStates], others)
    const recovered = deliveryStates.filter((state) => Standing.isRecoverable({ state }))
    assert.sameMembers(recovered, [...others, "retrying"])
  })
})

describe("deliveries of an integration", () => {
  it("end for the reason for which it takes no more", () => {
    const disabled = (disabled_reason: "gone" | "failing" | "manual") =>
      reasonToEnd({ status: "disabled", disabled_reason })
    assert.deepEqual(
      [disabled("gone"), disabled("failing"), disabled("manual"), reasonToEnd(undefined)],
      ["integration_gone", "integration_disabled", "integration_disabled", "integration_deleted"]
    )
    assert.isNull(reasonToEnd({ status: "enabled", disabled_reason: null }))
  })
})
