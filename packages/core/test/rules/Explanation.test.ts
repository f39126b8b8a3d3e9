import type { DeliveryReason, DeliveryState } from "@doorhook/core"
import { AttemptOutcome, DeliveryReason as Reasons, deliveryStates, Explanation } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"

const enabled = { status: "enabled", disabled_reason: null } as const
const at = Date.UTC(2026, 2, 2, 7)

const failed = (fields: Partial<Explanation.ExplainedAttempt> = {}): Explanation.ExplainedAttempt => ({
  number: 3,
  started_at: at,
  duration_ms: 12,
  outcome: "bad_status",
  status: 500,
  detail: null,
  ...fields
})

const explain = (
  state: DeliveryState,
  fields: {
    readonly reason?: DeliveryReason
    readonly last?: Explanation.ExplainedAttempt | null
    readonly integration?: Explanation.Explained["integration"]
    readonly next_attempt_at?: number
  } = {}
): string => {
  const { integration = enabled, last = failed(), next_attempt_at = null, reason = null } = fields
  const delivery = { state, reason, attempts: last?.number ?? 0, next_attempt_at }
  const { next, why } = Explanation.explain({ delivery, last, integration })
  return `${why} | ${next}`
}

describe("the explanation of a delivery", () => {
  const statuses: ReadonlyArray<readonly [number, RegExp]> = [
    [302, /answered 302: a redirect, and redirects are not followed.*Change the integration's URL/],
    [204, /answered 204: only 200 acknowledges.*acknowledge: 2xx/],
    [401, /answered 401: it asks for credentials.*signature/],
    [404, /answered 404: nothing is there/],
    [405, /answered 405: it takes no POST/],
    [418, /answered 418: it does not accept the request/],
    [500, /answered 500: something failed inside it/],
    [599, /answered 599: something failed inside it/]
  ]
  for (const [status, words] of statuses) {
    it(`says what ${status} means`, () => assert.match(explain("exhausted", { last: failed({ status }) }), words))
  }

  it("says how long an answer asked to wait, and for how long that is heeded", () => {
    const last = failed({ status: 429, detail: "asked to wait 1m (Retry-After)" })
    const text = explain("retrying", { last, next_attempt_at: at + 60_012 })
    assert.match(text, /answered 429: it has too many requests\. It asked to wait 1m \(Retry-After\)\. \|/)
    assert.match(text, /Attempt 4 is due at 2026-03-02T07:01:00\.012Z, 1m after that answer: its Retry-After is heeded/)
    assert.notMatch(explain("retrying", { last: failed({ status: 429 }), next_attempt_at: at }), /Retry-After/)
    assert.notMatch(explain("retrying", { next_attempt_at: at }), /Retry-After/)
  })

  it("says nothing of more, or of again, where nothing was sent", () => {
    for (const state of ["skipped", "expired", "cancelled"] as const) {
      assert.match(explain(state, { last: null }), /\| Nothing is sent/)
      assert.notMatch(explain(state, { last: null }), /again|Nothing more/)
    }
    assert.match(explain("exhausted"), /\| Nothing more is sent unless/)
  })

  it("names what can be done", () => {
    const actionsOf = (state: DeliveryState, integration: Explanation.Explained["integration"]) => {
      const delivery = { state, reason: null, attempts: 1, next_attempt_at: null }
      return Explanation.explain({ delivery, last: failed(), integration }).actions
    }
    assert.deepStrictEqual(actionsOf("exhausted", enabled), ["resend", "recover"])
    assert.deepStrictEqual(actionsOf("exhausted", null), [])
    assert.deepStrictEqual(actionsOf("delivered", enabled), [])
    const manual = { status: "disabled", disabled_reason: "manual" } as const
    assert.deepStrictEqual(actionsOf("cancelled", manual), ["enable", "resend", "recover"])
    const failing = { status: "disabled", disabled_reason: "failing" } as const
    assert.deepStrictEqual(actionsOf("cancelled", failing), ["probe", "enable", "resend", "recover"])
  })

  it("repeats what the transport saw", () => {
    const tls = failed({ outcome: "tls", status: null, detail: "TLS failed: certificate has expired" })
    assert.match(explain("retrying", { last: tls }), /certificate has expired.*must be valid now, for the name/)
    const timeout = failed({ outcome: "timeout", status: null, detail: "no answer within 5000 ms" })
    assert.match(explain("retrying", { last: timeout }), /headers in time \(no answer within 5000 ms\)/)
    assert.match(
      explain("retrying", { last: failed({ outcome: "timeout", status: 200, duration_ms: 5_004 }) }),
      /answered 200, but too late: after 5004 ms/
    )
  })

  it("says who disabled an integration and what to do about it", () => {
    const gone = { status: "disabled", disabled_reason: "gone" } as const
    const own = { reason: "integration_gone", last: failed({ status: 410 }), integration: gone } as const
    assert.match(
      explain("cancelled", own),
      /answered 410 Gone at 2026-03-02T07:00:00\.000Z: the integration was disabled\. \| .*Probe it with .*enable it, then resend/
    )
    assert.match(explain("cancelled", { ...own, last: null }), /answered another delivery with 410/)
    assert.match(explain("cancelled", { ...own, last: failed() }), /answered 500: .* another delivery with 410/)
    const manual = { status: "disabled", disabled_reason: "manual" } as const
    assert.match(
      explain("skipped", { reason: "integration_disabled", last: null, integration: manual }),
      /was disabled when the event came, so nothing was sent\. \| The integration is disabled, by hand\. Enable it/
    )
    const failing = { status: "disabled", disabled_reason: "failing" } as const
    assert.match(explain("skipped", { last: null, integration: failing }), /acknowledged nothing for too long/)
    assert.match(explain("skipped", { last: null }), /resend this delivery, or recover/)
    assert.match(explain("exhausted", { integration: null }), /integration was deleted/)
  })

  it("tells a ring that came too late from one that was never sent", () => {
    assert.match(explain("expired", { last: null }), /lifetime was over before an attempt could be made/)
    assert.match(explain("expired"), /It was tried 3 times before its lifetime was over/)
    assert.match(explain("cancelled", { reason: "right_lost", last: null }), /no right to these events any more/)
    assert.match(explain("cancelled", { reason: "integration_deleted" }), /was deleted before this was acknowledged/)
  })

  it("has sentences for whatever can be stored", () => {
    const attempt = fc.record({
      number: fc.integer({ min: 1, max: 20 }),
      started_at: fc.constant(at),
      duration_ms: fc.nat(),
      outcome: fc.constantFrom(...AttemptOutcome.literals),
      status: fc.option(fc.integer({ min: 100, max: 599 })),
      detail: fc.option(fc.constant("what was seen"))
    })
    const integration = fc.option(
      fc.record({
        status: fc.constantFrom("enabled" as const, "disabled" as const),
        disabled_reason: fc.option(fc.constantFrom("manual" as const, "gone" as const, "failing" as const))
      })
    )
    const delivery = fc.record({
      state: fc.constantFrom(...deliveryStates),
      reason: fc.option(fc.constantFrom(...Reasons.literals)),
      attempts: fc.nat(20),
      next_attempt_at: fc.option(fc.constant(at))
    })
    fc.assert(
      fc.property(delivery, fc.option(attempt), integration, (one, last, of) => {
        const { next, why } = Explanation.explain({ delivery: one, last, integration: of })
        for (const text of [why, next]) {
          assert.notMatch(text, /undefined|null|NaN|PATCH|\/data/)
          assert.isTrue(text === "" || text.endsWith("."), text)
        }
        assert.notStrictEqual(next, "")
      })
    )
  })
})
