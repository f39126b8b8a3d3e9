import type { Attempt, IntegrationFailureState, IntegrationNotification, Settlement } from "@doorhook/core"
import { HealthRules, FailureState, IntegrationId, Transitions, TenantId } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { attemptOf, settlementOf } from "./fixtures.ts"

const { leastFailedAttempts } = FailureState
const { evaluateBatch, evaluateTime, mayDisable, mayChangeHealth } = HealthRules

const now = 1_000_000
const disableAfter = 1_000
const about = {
  integration_id: IntegrationId.make(7),
  scope: { type: "tenant", id: TenantId.make(3) },
  at: now
} as const

const enabled = (failing: IntegrationFailureState | null = null): HealthRules.HealthSubject => ({
  integration: { id: about.integration_id, scope: about.scope, status: "enabled", disabled_reason: null },
  failing
})
const disabled = (
  disabled_reason: "manual" | "gone" | "failing",
  failing: IntegrationFailureState | null = null
): HealthRules.HealthSubject => ({
  integration: { ...enabled().integration, status: "disabled", disabled_reason },
  failing
})

/** Makes a failure state, by default with enough failed attempts that the next failure disables the integration. */
const failingSince = (
  since: number,
  warnings: number,
  attempts = leastFailedAttempts - 1
): IntegrationFailureState => ({
  since,
  warnings,
  attempts,
  retry_after: null
})

const underLease: Transitions.QueueEntry = {
  state: "delivering",
  reason: null,
  attempts: 1,
  early: 0,
  lane: 3,
  due_at: now,
  worker: "worker",
  resend: 0
}
const endedBefore = Transitions.cancel(underLease, "integration_disabled")

const acknowledged = settlementOf()
const failed = settlementOf({ attempt: attemptOf("timeout"), state: "retrying", next_attempt_at: now + 5_000 })
const exhausted = settlementOf({ attempt: attemptOf("timeout"), state: "exhausted", reason: "schedule_used_up" })
const gone = settlementOf({
  attempt: attemptOf("bad_status", { status: 410 }),
  state: "cancelled",
  reason: "integration_gone",
  gone: true
})
const unattempted = settlementOf({ attempt: null, state: "expired", reason: "lifetime_over" })

/** The consequences of changes for an integration. */
interface Consequences {
  readonly failing: IntegrationFailureState | null
  readonly recovered: HealthRules.HealthReport["recovered"]
  readonly disable: "gone" | "failing" | null
  readonly enable: boolean
  readonly notifications: ReadonlyArray<IntegrationNotification>
}

/** Applies changes to an integration, as a store does. Checks that each type of change occurs at most once. */
const applied = (
  { failing, integration }: HealthRules.HealthSubject,
  changes: ReadonlyArray<HealthRules.HealthChange>
): Consequences => {
  let result: Consequences = { failing, recovered: [], disable: null, enable: false, notifications: [] }
  for (const change of changes) {
    assert.strictEqual(change.integration_id, integration.id)
    if (change.type === "set") {
      assert.notDeepEqual(change.failing, result.failing)
      result = { ...result, failing: change.failing }
    } else if (change.type === "disable") result = { ...result, disable: change.reason }
    else if (change.type === "enable") result = { ...result, enable: true }
    else if (change.type === "cancel") {
      assert.strictEqual(change.reason, result.disable === "gone" ? "integration_gone" : "integration_disabled")
      assert.isNotNull(result.disable, "deliveries are cancelled after their integration is disabled")
    }
  }
  const { changed, notifications, recovered } = HealthRules.reportOf(changes)
  assert.deepEqual(changed, result.disable !== null || result.enable ? [integration.id] : [])
  assert.strictEqual(changes.filter(({ type }) => type === "cancel").length, result.disable === null ? 0 : 1)
  return { ...result, notifications, recovered }
}

const evaluate = (
  subject: HealthRules.HealthSubject,
  batch: ReadonlyArray<HealthRules.AppliedSettlement>,
  canDisable = true
): Consequences => {
  const { id } = subject.integration
  const busy = new Set(canDisable ? [] : [id])
  return applied(subject, evaluateBatch(new Map([[id, subject]]), new Map([[id, batch]]), now, disableAfter, busy))
}

const recoveredFrom = ({ retry_after, since }: IntegrationFailureState) => [
  { integration_id: about.integration_id, failing_since: since, retry_after }
]

/** Applies the health rules to settlements of deliveries in the state `from`. */
const after = (
  subject: HealthRules.HealthSubject,
  settlements: ReadonlyArray<Settlement>,
  from: Transitions.QueueEntry = underLease
): Consequences =>
  evaluate(
    subject,
    settlements.map((settlement) => ({
      settlement,
      from,
      to: Transitions.settle(from, settlement, now, Transitions.reasonToEnd(subject.integration))
    }))
  )

const nothing: Consequences = { failing: null, recovered: [], disable: null, enable: false, notifications: [] }
const givenUp = (deliveries: number): IntegrationNotification => ({ kind: "exhausted", ...about, deliveries })

describe("time alone", () => {
  it("causes a warning, with its start and end, for an enabled integration that has failed for a share of its time", () => {
    const since = now - 600
    const subject = enabled(failingSince(since, 0))
    assert.deepEqual(applied(subject, evaluateTime(subject, now, disableAfter)), {
      ...nothing,
      failing: failingSince(since, 1),
      notifications: [{ kind: "failing", ...about, failing_since: since, disables_at: since + disableAfter }]
    })
  })

  it("causes no warning for an integration that works, has failed for less time, was already reported, or is disabled", () => {
    for (const subject of [
      enabled(),
      enabled(failingSince(now - 400, 0)),
      enabled(failingSince(now - 600, 1)),
      disabled("failing", failingSince(now - 600, 0))
    ])
      assert.deepEqual(evaluateTime(subject, now, disableAfter), [])
  })
})

describe("a batch for an enabled integration", () => {
  it("changes nothing if all is acknowledged or nothing was sent", () => {
    assert.deepEqual(after(enabled(), [acknowledged, acknowledged]), nothing)
    assert.deepEqual(after(enabled(), [unattempted]), nothing)
    assert.deepEqual(after(enabled(), []), nothing)
  })

  it("starts the failure without a notification if an attempt fails", () => {
    assert.deepEqual(after(enabled(), [failed, failed]), { ...nothing, failing: failingSince(now, 0, 2) })
    assert.deepEqual(after(enabled(), [failed, unattempted]), { ...nothing, failing: failingSince(now, 0, 1) })
  })

  it("counts as acknowledged if one of several attempts is acknowledged", () => {
    const failing = failingSince(0, 0)
    const recovers: Consequences = { ...nothing, recovered: recoveredFrom(failing) }
    assert.deepEqual(after(enabled(failing), [failed, acknowledged, failed]), recovers)
  })

  it("counts each failed attempt and keeps the latest Retry-After time", () => {
    const waits = (retry_after: number | null) => ({ ...failed, retry_after })
    assert.deepEqual(after(enabled(), [waits(now + 7), waits(null), waits(now + 9), waits(now + 8)]), {
      ...nothing,
      failing: { ...failingSince(now, 0, 4), retry_after: now + 9 }
    })
    const before = { ...failingSince(now - 1, 0, 4), retry_after: now + 9 }
    const next = after(enabled(before), [waits(now + 8), unattempted])
    assert.deepEqual(next, { ...nothing, failing: { ...before, attempts: 5 } })
  })

  it("causes a warning with the start and the end if the integration has failed for a share of its time", () => {
    const since = now - 600
    assert.deepEqual(after(enabled(failingSince(since, 0, 3)), [failed]), {
      ...nothing,
      failing: failingSince(since, 1, 4),
      notifications: [{ kind: "failing", ...about, failing_since: since, disables_at: since + disableAfter }]
    })
  })

  it("disables the integration and reports that, instead of a warning, if all of its time has passed", () => {
    const since = now - disableAfter
    assert.deepEqual(after(enabled(failingSince(since, 1)), [failed]), {
      ...nothing,
      failing: failingSince(since, 3, leastFailedAttempts),
      disable: "failing",
      notifications: [{ kind: "disabled", ...about, reason: "failing" }]
    })
  })

  it("causes only a warning if all of its time has passed but too few attempts have failed", () => {
    const since = now - 9 * disableAfter
    const result = after(enabled(failingSince(since, 0, leastFailedAttempts - 2)), [failed])
    assert.deepEqual([result.disable, result.notifications.map(({ kind }) => kind)], [null, ["failing"]])
    const both = after(enabled(failingSince(since, 0, leastFailedAttempts - 2)), [failed, exhausted])
    assert.strictEqual(both.disable, "failing")
  })

  it("ends the failure by an acknowledgement, and reports that if a warning was reported", () => {
    assert.deepEqual(after(enabled(failingSince(5, 1)), [acknowledged]), {
      ...nothing,
      recovered: recoveredFrom(failingSince(5, 1)),
      notifications: [{ kind: "recovered", ...about, failing_since: 5 }]
    })
    const unnoticed = failingSince(5, 0)
    assert.deepEqual(after(enabled(unnoticed), [acknowledged]), { ...nothing, recovered: recoveredFrom(unnoticed) })
  })

  it("disables the integration immediately by a 410, whatever else the batch contains", () => {
    assert.deepEqual(after(enabled(), [acknowledged, gone]), {
      ...nothing,
      disable: "gone",
      notifications: [{ kind: "disabled", ...about, reason: "gone" }]
    })
    assert.strictEqual(after(enabled(failingSince(0, 3)), [failed, gone]).disable, "gone")
    const { disable, recovered } = after(enabled(failingSince(0, 0)), [acknowledged, gone])
    assert.deepEqual([disable, recovered], ["gone", []], "nothing is left to catch up with")
  })

  it("counts the late 410 of a delivery that had already ended as a failure, and does not disable the integration", () => {
    const result = after(enabled(), [gone], endedBefore)
    assert.deepEqual(result, { ...nothing, failing: failingSince(now, 0, 1) })
  })

  it("reports how many deliveries were exhausted, without those that had already ended or are resent", () => {
    assert.deepEqual(after(enabled(failingSince(now, 0)), [exhausted, failed, exhausted]).notifications, [givenUp(2)])
    assert.deepEqual(after(enabled(failingSince(now, 0)), [exhausted], endedBefore).notifications, [])
    assert.deepEqual(after(enabled(failingSince(now, 0)), [exhausted], { ...underLease, resend: 2 }).notifications, [])
  })

  it("reports exhausted deliveries before the change of the integration", () => {
    const kinds = after(enabled(failingSince(0, 3)), [exhausted]).notifications.map(({ kind }) => kind)
    assert.deepEqual(kinds, ["exhausted", "disabled"])
  })
})

describe("a batch for a disabled integration", () => {
  it.each(["gone", "failing"] as const)(
    "enables it by an acknowledged probe if doorhook disabled it (%s)",
    (reason) => {
      const enables = { ...nothing, enable: true }
      assert.deepEqual(after(disabled(reason), [acknowledged]), {
        ...enables,
        notifications: [{ kind: "recovered", ...about, failing_since: null }]
      })
      assert.deepEqual(after(disabled(reason, failingSince(5, 3)), [acknowledged, failed]), {
        ...enables,
        recovered: recoveredFrom(failingSince(5, 3)),
        notifications: [{ kind: "recovered", ...about, failing_since: 5 }]
      })
    }
  )

  it("reports that it acknowledges again, but not a probe in the same batch that is exhausted", () => {
    const kinds = after(disabled("failing"), [exhausted, acknowledged]).notifications.map(({ kind }) => kind)
    assert.deepEqual(kinds, ["recovered"])
  })

  it("does not enable it if it was disabled by hand", () => {
    assert.deepEqual(after(disabled("manual"), [acknowledged]), nothing)
  })

  it("does not enable it by a late acknowledgement of a delivery that ended when it was disabled", () => {
    assert.deepEqual(after(disabled("gone"), [acknowledged], endedBefore), nothing)
  })

  it("changes and reports nothing if its probe fails", () => {
    const failing = failingSince(5, 3)
    assert.deepEqual(after(disabled("failing", failing), [failed, unattempted]), { ...nothing, failing })
    assert.deepEqual(after(disabled("failing", failing), [exhausted]), { ...nothing, failing })
    assert.deepEqual(after(disabled("failing", failing), [gone]), { ...nothing, failing })
  })
})

/** Batches of settlements for one integration, with the state of each delivery before and after. */
const batches = fc
  .array(
    fc.record({
      from: fc.constantFrom(underLease, endedBefore, { ...underLease, resend: 2 as const }),
      state: fc.constantFrom<Settlement["state"]>("delivered", "retrying", "exhausted", "expired", "cancelled"),
      outcome: fc.option(fc.constantFrom<Attempt["outcome"]>("acknowledged", "acknowledged", "timeout")),
      gone: fc.integer({ min: 0, max: 9 }).map((of10) => of10 === 0)
    }),
    { maxLength: 4 }
  )
  .map((batch) =>
    batch.map(({ from, gone, outcome, state }) => {
      const settlement = settlementOf({ attempt: outcome === null ? null : attemptOf(outcome), state, gone })
      return { settlement, from, to: Transitions.settle(from, settlement, now, null) }
    })
  )

describe("a batch without consequences", () => {
  it("is one of acknowledged or unattempted deliveries of an enabled integration that does not fail", () => {
    assert.isFalse(mayChangeHealth(enabled(), [acknowledged, unattempted]))
    for (const other of [failed, exhausted, gone]) {
      assert.isTrue(mayChangeHealth(enabled(), [acknowledged, other]))
      // A retry without an attempt has no consequences.
      assert.strictEqual(mayChangeHealth(enabled(), [{ ...other, attempt: null }]), other !== failed)
    }
    assert.isTrue(mayChangeHealth(enabled(failingSince(0, 0)), [acknowledged]))
    assert.isTrue(mayChangeHealth(disabled("manual"), [acknowledged]))
  })

  it("has no consequences, whatever the states of its deliveries", () => {
    let harmless = 0
    fc.assert(
      fc.property(batches, (batch) => {
        const all = batch.map(({ settlement }) => settlement)
        if (mayChangeHealth(enabled(), all)) return
        harmless++
        assert.deepEqual(evaluate(enabled(), batch), nothing)
      }),
      { numRuns: 300 }
    )
    assert.isAbove(harmless, 20)
  })
})

describe("a batch that may disable an integration", () => {
  const failings = fc.option(
    fc.record({
      since: fc.constantFrom(0, now - disableAfter, now - disableAfter + 1, now),
      warnings: fc.nat(3),
      attempts: fc.integer({ min: 1, max: leastFailedAttempts + 2 }),
      retry_after: fc.constant(null)
    })
  )
  const subjects = fc.oneof(
    failings.map(enabled),
    fc
      .tuple(fc.constantFrom("manual" as const, "gone" as const, "failing" as const), failings)
      .map((of) => disabled(...of))
  )

  it("is recognized before its deliveries are read", () => {
    let disables = 0
    fc.assert(
      fc.property(subjects, batches, (subject, batch) => {
        if (evaluate(subject, batch).disable === null) return
        disables++
        const all = batch.map(({ settlement }) => settlement)
        assert.isTrue(mayDisable(subject, all, now, disableAfter))
      }),
      { numRuns: 500 }
    )
    assert.isAbove(disables, 20)
  })

  it("has a 410 or a failure at the end of the time, and is not for a disabled integration", () => {
    const may = (subject: HealthRules.HealthSubject, ...batch: ReadonlyArray<Settlement>) =>
      mayDisable(subject, batch, now, disableAfter)
    assert.isFalse(may(enabled(), failed, exhausted, acknowledged))
    assert.isFalse(may(enabled(failingSince(now - disableAfter + 1, 3)), failed))
    assert.isTrue(may(enabled(failingSince(now - disableAfter, 3)), failed))
    assert.isFalse(may(enabled(failingSince(now - disableAfter, 3, leastFailedAttempts - 2)), failed))
    assert.isTrue(may(enabled(failingSince(now - disableAfter, 3, leastFailedAttempts - 2)), failed, failed))
    assert.isTrue(may(enabled(), acknowledged, gone))
    assert.isFalse(may(disabled("failing"), failed, gone, acknowledged))
  })

  it("disables nothing if its store can't disable now, and has all other consequences", () => {
    fc.assert(
      fc.property(subjects, batches, (subject, batch) => {
        const at = [now, disableAfter] as const
        const all = batch.map(({ settlement }) => settlement)
        const atOnce = evaluate(subject, batch)
        const later = evaluate(subject, batch, false)
        assert.isNull(later.disable)
        // The start of the failure is kept, so the next failure disables the integration.
        if (mayDisable(subject, all, ...at)) assert.strictEqual(later.failing?.since, atOnce.failing?.since)
        else assert.deepEqual(later, atOnce)
        assert.deepEqual(
          later.notifications.filter(({ kind }) => kind !== "failing"),
          atOnce.notifications.filter(({ kind }) => kind !== "failing" && kind !== "disabled")
        )
      }),
      { numRuns: 500 }
    )
  })
})
