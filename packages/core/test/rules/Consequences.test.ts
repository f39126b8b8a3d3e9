import type { Attempt, IntegrationFailing, IntegrationNotice, Settlement } from "@doorhook/core"
import { Consequences, IntegrationId, Standing, TenantId } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { attemptOf, settlementOf } from "./fixtures.ts"

const { consequencesOf, mayDisable, mayHaveConsequences, warningOf } = Consequences

const now = 1_000_000
const disableAfter = 1_000
const about = {
  integration_id: IntegrationId.make(7),
  scope: { type: "tenant", id: TenantId.make(3) },
  at: now
} as const

const enabled = (failing: IntegrationFailing | null = null): Consequences.Subject => ({
  integration: { id: about.integration_id, scope: about.scope, status: "enabled", disabled_reason: null },
  failing
})
const disabled = (
  disabled_reason: "manual" | "gone" | "failing",
  failing: IntegrationFailing | null = null
): Consequences.Subject => ({
  integration: { ...enabled().integration, status: "disabled", disabled_reason },
  failing
})

const underLease: Standing.Standing = {
  state: "delivering",
  reason: null,
  attempts: 1,
  lane: 3,
  due_at: now + 20_000,
  lease_token: "lease",
  resend: 0
}
const endedMeanwhile = Standing.cancelled(underLease, "integration_disabled")

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

/** What follows when deliveries of an integration that stood so are settled so. */
const after = (
  subject: Consequences.Subject,
  settlements: ReadonlyArray<Settlement>,
  from: Standing.Standing = underLease
): Consequences.Consequences =>
  consequencesOf(
    subject,
    settlements.map((settlement) => ({
      settlement,
      from,
      to: Standing.settled(from, settlement, now, Standing.reasonToEnd(subject.integration))
    })),
    now,
    disableAfter
  )

const nothing = { failing: null, disable: null, enable: false, notices: [] } as const
const givenUp = (deliveries: number): IntegrationNotice => ({ kind: "exhausted", ...about, deliveries })

describe("time that goes by", () => {
  it("tells of an enabled integration that fails for a share of its time, since when, and when it is disabled", () => {
    const since = now - 600
    assert.deepEqual(warningOf(enabled({ since, noticed: 0 }), now, disableAfter), {
      failing: { since, noticed: 1 },
      notice: { kind: "failing", ...about, failing_since: since, disables_at: since + disableAfter }
    })
  })

  it("tells of none that does not fail, fails for a shorter time, was told of, or is disabled", () => {
    for (const subject of [
      enabled(),
      enabled({ since: now - 400, noticed: 0 }),
      enabled({ since: now - 600, noticed: 1 }),
      disabled("failing", { since: now - 600, noticed: 0 })
    ])
      assert.isNull(warningOf(subject, now, disableAfter))
  })
})

describe("a batch that shows an enabled integration", () => {
  it("that acknowledges, or was sent nothing, changes nothing", () => {
    assert.deepEqual(after(enabled(), [acknowledged, acknowledged]), nothing)
    assert.deepEqual(after(enabled(), [unattempted]), nothing)
    assert.deepEqual(after(enabled(), []), nothing)
  })

  it("that fails, begins its time, silently", () => {
    assert.deepEqual(after(enabled(), [failed, failed]), { ...nothing, failing: { since: now, noticed: 0 } })
    assert.deepEqual(after(enabled(), [failed, unattempted]), { ...nothing, failing: { since: now, noticed: 0 } })
  })

  it("that fails beside one acknowledgement, counts as acknowledged", () => {
    assert.deepEqual(after(enabled({ since: 0, noticed: 0 }), [failed, acknowledged, failed]), nothing)
  })

  it("that has failed for a share of its time, tells since when, and when it is disabled", () => {
    const since = now - 600
    assert.deepEqual(after(enabled({ since, noticed: 0 }), [failed]), {
      ...nothing,
      failing: { since, noticed: 1 },
      notices: [{ kind: "failing", ...about, failing_since: since, disables_at: since + disableAfter }]
    })
  })

  it("that has failed for all of its time, disables it and says so, instead of that it fails", () => {
    const since = now - disableAfter
    assert.deepEqual(after(enabled({ since, noticed: 1 }), [failed]), {
      ...nothing,
      failing: { since, noticed: 3 },
      disable: "failing",
      notices: [{ kind: "disabled", ...about, reason: "failing" }]
    })
  })

  it("that acknowledges again after it was told to fail, tells that it has recovered", () => {
    assert.deepEqual(after(enabled({ since: 5, noticed: 1 }), [acknowledged]), {
      ...nothing,
      notices: [{ kind: "recovered", ...about, failing_since: 5 }]
    })
    assert.deepEqual(after(enabled({ since: 5, noticed: 0 }), [acknowledged]), nothing)
  })

  it("whose receiver is gone, disables it at once, whatever else was acknowledged or is over", () => {
    assert.deepEqual(after(enabled(), [acknowledged, gone]), {
      ...nothing,
      disable: "gone",
      notices: [{ kind: "disabled", ...about, reason: "gone" }]
    })
    assert.strictEqual(after(enabled({ since: 0, noticed: 3 }), [failed, gone]).disable, "gone")
  })

  it("does not disable it for the late 410 of a delivery that was ended before, which counts as a failure", () => {
    const result = after(enabled(), [gone], endedMeanwhile)
    assert.deepEqual(result, { ...nothing, failing: { since: now, noticed: 0 } })
  })

  it("tells how many deliveries were given up, and of none that was ended before or is to be sent again", () => {
    assert.deepEqual(after(enabled({ since: now, noticed: 0 }), [exhausted, failed, exhausted]).notices, [givenUp(2)])
    assert.deepEqual(after(enabled({ since: now, noticed: 0 }), [exhausted], endedMeanwhile).notices, [])
    assert.deepEqual(after(enabled({ since: now, noticed: 0 }), [exhausted], { ...underLease, resend: 2 }).notices, [])
  })

  it("tells what was given up before it tells what became of the integration", () => {
    const kinds = after(enabled({ since: 0, noticed: 3 }), [exhausted]).notices.map(({ kind }) => kind)
    assert.deepEqual(kinds, ["exhausted", "disabled"])
  })
})

describe("a batch that shows a disabled integration", () => {
  it.each(["gone", "failing"] as const)(
    "that doorhook disabled (%s), enables it by an acknowledged probe",
    (reason) => {
      const enables = { ...nothing, enable: true }
      assert.deepEqual(after(disabled(reason), [acknowledged]), {
        ...enables,
        notices: [{ kind: "recovered", ...about, failing_since: null }]
      })
      assert.deepEqual(after(disabled(reason, { since: 5, noticed: 3 }), [acknowledged, failed]), {
        ...enables,
        notices: [{ kind: "recovered", ...about, failing_since: 5 }]
      })
    }
  )

  it("tells that it acknowledges again, and nothing of a probe beside it that was the last attempt of its schedule", () => {
    const kinds = after(disabled("failing"), [exhausted, acknowledged]).notices.map(({ kind }) => kind)
    assert.deepEqual(kinds, ["recovered"])
  })

  it("does not enable it when it was disabled by hand", () => {
    assert.deepEqual(after(disabled("manual"), [acknowledged]), nothing)
  })

  it("does not enable it for what was acknowledged late, of a delivery that was ended when it was disabled", () => {
    assert.deepEqual(after(disabled("gone"), [acknowledged], endedMeanwhile), nothing)
  })

  it("leaves it as it fails when its probe fails, without a word", () => {
    const failing = { since: 5, noticed: 3 }
    assert.deepEqual(after(disabled("failing", failing), [failed, unattempted]), { ...nothing, failing })
    assert.deepEqual(after(disabled("failing", failing), [exhausted]), { ...nothing, failing })
    assert.deepEqual(after(disabled("failing", failing), [gone]), { ...nothing, failing })
  })
})

/** A batch of one integration, with where its deliveries stood before and stand after. */
const batches = fc
  .array(
    fc.record({
      from: fc.constantFrom(underLease, endedMeanwhile, { ...underLease, resend: 2 as const }),
      state: fc.constantFrom<Settlement["state"]>("delivered", "retrying", "exhausted", "expired", "cancelled"),
      outcome: fc.option(fc.constantFrom<Attempt["outcome"]>("acknowledged", "acknowledged", "timeout")),
      gone: fc.integer({ min: 0, max: 9 }).map((of10) => of10 === 0)
    }),
    { maxLength: 4 }
  )
  .map((batch) =>
    batch.map(({ from, gone, outcome, state }) => {
      const settlement = settlementOf({ attempt: outcome === null ? null : attemptOf(outcome), state, gone })
      return { settlement, from, to: Standing.settled(from, settlement, now, null) }
    })
  )

describe("what needs nothing of a store", () => {
  it("is all that is acknowledged, or was not attempted, of an enabled integration that does not fail", () => {
    assert.isFalse(mayHaveConsequences(enabled(), [acknowledged, unattempted]))
    for (const other of [failed, exhausted, gone]) {
      assert.isTrue(mayHaveConsequences(enabled(), [acknowledged, other]))
      // Also without an attempt.
      assert.strictEqual(mayHaveConsequences(enabled(), [{ ...other, attempt: null }]), other !== failed)
    }
    assert.isTrue(mayHaveConsequences(enabled({ since: 0, noticed: 0 }), [acknowledged]))
    assert.isTrue(mayHaveConsequences(disabled("manual"), [acknowledged]))
  })

  it("has no consequences, wherever its deliveries stood", () => {
    let harmless = 0
    fc.assert(
      fc.property(batches, (applied) => {
        const all = applied.map(({ settlement }) => settlement)
        if (mayHaveConsequences(enabled(), all)) return
        harmless++
        assert.deepEqual(consequencesOf(enabled(), applied, now, disableAfter), nothing)
      }),
      { numRuns: 300 }
    )
    assert.isAbove(harmless, 20)
  })
})

describe("what may disable an integration", () => {
  const failings = fc.option(
    fc.record({ since: fc.constantFrom(0, now - disableAfter, now - disableAfter + 1, now), noticed: fc.nat(3) })
  )
  const subjects = fc.oneof(
    failings.map(enabled),
    fc
      .tuple(fc.constantFrom("manual" as const, "gone" as const, "failing" as const), failings)
      .map((of) => disabled(...of))
  )

  it("is known before its deliveries are looked at", () => {
    let disables = 0
    fc.assert(
      fc.property(subjects, batches, (subject, applied) => {
        if (consequencesOf(subject, applied, now, disableAfter).disable === null) return
        disables++
        const all = applied.map(({ settlement }) => settlement)
        assert.isTrue(mayDisable(subject, all, now, disableAfter))
      }),
      { numRuns: 500 }
    )
    assert.isAbove(disables, 20)
  })

  it("is no mere failure, and nothing that came of a disabled one", () => {
    const may = (subject: Consequences.Subject, ...batch: ReadonlyArray<Settlement>) =>
      mayDisable(subject, batch, now, disableAfter)
    assert.isFalse(may(enabled(), failed, exhausted, acknowledged))
    assert.isFalse(may(enabled({ since: now - disableAfter + 1, noticed: 3 }), failed))
    assert.isTrue(may(enabled({ since: now - disableAfter, noticed: 3 }), failed))
    assert.isTrue(may(enabled(), acknowledged, gone))
    assert.isFalse(may(disabled("failing"), failed, gone, acknowledged))
  })

  it("is left out where its store can't do so now, and all else follows", () => {
    fc.assert(
      fc.property(subjects, batches, (subject, applied) => {
        const at = [now, disableAfter] as const
        const all = applied.map(({ settlement }) => settlement)
        const atOnce = consequencesOf(subject, applied, ...at)
        const later = consequencesOf(subject, applied, ...at, false)
        assert.isNull(later.disable)
        // It goes on failing since when it did, so that the next failure decides.
        if (mayDisable(subject, all, ...at)) assert.strictEqual(later.failing?.since, atOnce.failing?.since)
        else assert.deepEqual(later, atOnce)
        assert.deepEqual(
          later.notices.filter(({ kind }) => kind !== "failing"),
          atOnce.notices.filter(({ kind }) => kind !== "failing" && kind !== "disabled")
        )
      }),
      { numRuns: 500 }
    )
  })
})
