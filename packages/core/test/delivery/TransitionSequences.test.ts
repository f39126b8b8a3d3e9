import type { DeliveryState, Settlement } from "@doorhook/core"
import { activeStates, laneOf, Transitions } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { attemptOf, settlementOf } from "./fixtures.ts"

const { cancel, claim, isCurrent, isDue, release, resend, settle } = Transitions

const isActive = (state: DeliveryState): boolean => activeStates.some((active) => active === state)

/** A delivery that is stored but has not been sent. */
const waiting: Transitions.QueueEntry = {
  state: "pending",
  reason: null,
  attempts: 0,
  early: 0,
  lane: laneOf({ urgent: false }, 0),
  due_at: 0,
  worker: null,
  resend: 0
}

/** A step, which is applied if the delivery's state allows it. */
interface Step {
  readonly call: "claim" | "claim early" | "settle" | "release" | "lose" | "resend" | "cancel"
  /** Time since the previous step, in milliseconds. */
  readonly after: number
  readonly outcome: Settlement["state"]
  readonly attempted: boolean
  readonly toEnd: "integration_disabled" | null
}

const steps = fc.array(
  fc.record<Step>({
    call: fc.constantFrom<Step["call"]>(
      "claim",
      "claim",
      "claim early",
      "settle",
      "release",
      "lose",
      "resend",
      "cancel"
    ),
    after: fc.integer({ min: 0, max: 30_000 }),
    outcome: fc.constantFrom<Settlement["state"]>("delivered", "retrying", "exhausted", "expired", "cancelled"),
    attempted: fc.boolean(),
    toEnd: fc.constantFrom<Step["toEnd"]>(null, null, "integration_disabled")
  }),
  { maxLength: 30 }
)

const isHeld = ({ state }: Transitions.QueueEntry): boolean => state === "delivering"

/** Returns the state after a step; null if the step is not possible. */
const apply = (from: Transitions.QueueEntry, { attempted, call, outcome, toEnd }: Step, time: number) => {
  switch (call) {
    case "claim":
      return isDue(from, time) ? claim(from, "worker") : null
    case "claim early":
      return from.state === "retrying" && !isDue(from, time) ? claim(from, "worker") : null
    case "release":
      return from.worker === null ? null : release(from, time)
    case "lose":
      return from.worker === null ? null : release(from)
    case "resend":
      return resend(from, time)
    case "cancel":
      return isActive(from.state) ? cancel(from, "integration_deleted") : null
    case "settle": {
      const attempt = attempted ? attemptOf("timeout", { number: from.attempts + 1 }) : null
      if (!isCurrent(from, { attempt }, "worker")) return null
      const next_attempt_at = outcome === "retrying" ? time + 40_000 : null
      return settle(from, settlementOf({ attempt, state: outcome, next_attempt_at }), time, toEnd)
    }
  }
}

interface Move {
  readonly step: Step
  readonly time: number
  readonly before: Transitions.QueueEntry
  readonly after: Transitions.QueueEntry
}

/** Applies the steps that are possible. */
const follow = (made: ReadonlyArray<Step>): ReadonlyArray<Move> => {
  const moves: Array<Move> = []
  let before = waiting
  let time = 0
  for (const step of made) {
    time += step.after
    const after = apply(before, step, time)
    if (after === null) continue
    moves.push({ step, time, before, after })
    before = after
  }
  return moves
}

describe("a delivery, whatever happens in whatever order,", () => {
  it("is due if and only if it is active, has a worker only if it was leased, and counts each attempt", () => {
    fc.assert(
      fc.property(steps, (made) => {
        for (const { after, before, step } of follow(made)) {
          assert.strictEqual(after.due_at !== null, isActive(after.state))
          if (after.state === "delivering") assert.isNotNull(after.worker)
          if (after.worker !== null) assert.include(["delivering", "cancelled"], after.state)
          if (step.call === "claim early") assert.strictEqual(after.due_at, before.due_at)
          if (after.resend === 2) assert.strictEqual(after.state, "delivering")
          const counted = step.call === "settle" && step.attempted ? 1 : 0
          assert.strictEqual(after.attempts, before.attempts + counted)
        }
      }),
      { numRuns: 300 }
    )
  })

  it("gets each requested attempt, unless its integration takes no more", () => {
    fc.assert(
      fc.property(steps, (made) => {
        // Whether a requested attempt has yet to begin (`owed`) or is in progress (`underway`).
        let owed = false
        let underway = false
        for (const { after, before, step, time } of follow(made)) {
          if (step.call === "resend") owed = true
          if (step.call === "cancel") owed = false
          if (step.call === "settle" && step.toEnd !== null && after.state === "cancelled") owed = false
          if ((step.call === "release" || step.call === "lose") && isHeld(before)) owed ||= underway
          if (step.call === "claim" || step.call === "claim early") {
            underway = owed
            owed = false
            assert.strictEqual(after.resend, underway ? 1 : 0)
          }
          if (owed) {
            assert.isTrue(isActive(after.state), "it is still to be sent")
            // Only a release may set a due time in the future.
            if (step.call !== "release" && after.worker === null) assert.isAtMost(after.due_at ?? Infinity, time)
          }
        }
      }),
      { numRuns: 300 }
    )
  })
})
