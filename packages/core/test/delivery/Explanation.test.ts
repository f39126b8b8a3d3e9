import type { DeliveryReason, DeliveryState } from "@doorhook/core"
import { AttemptOutcome, DeliveryReason as Reasons, deliveryStates, english, Explanation } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { attemptOf } from "./fixtures.ts"

const at = Date.UTC(2026, 2, 2, 7)
const due = at + 62_000

const enabled = { status: "enabled", disabled_reason: null } as const
const disabledBy = (disabled_reason: "manual" | "gone" | "failing" | null) =>
  ({ status: "disabled", disabled_reason }) as const

/** Makes a failed third attempt. */
const failed = (fields: Partial<Explanation.ExplainedAttempt> = {}): Explanation.ExplainedAttempt =>
  attemptOf("bad_status", { number: 3, started_at: at, duration_ms: 12, status: 500, ...fields })
const blocked = failed({ outcome: "blocked_address", status: null, detail: "10.0.0.1" })
const failedWords = "The receiver answered 500: something failed inside it. Check its log."
const asked = { status: 429, duration_ms: 2_000, detail: "asked to wait 1m (Retry-After)" }
const askedWords =
  "The receiver answered 429: it gets too many requests. Limit those to this integration with requests-per-second. It asked to wait 1m (Retry-After)."

interface Known {
  readonly reason?: DeliveryReason
  readonly last?: Explanation.ExplainedAttempt | null
  readonly integration?: Explanation.Explained["integration"]
  readonly next_attempt_at?: number
  readonly lifetime_over_at?: number
}

/**
 * Explains a delivery to an integration. By default, the delivery has failed three times, and the integration is
 * enabled.
 */
const explain = (state: DeliveryState, known: Known = {}, reader?: Explanation.Reader): Explanation.Explanation => {
  const { integration = enabled, last = failed(), lifetime_over_at, next_attempt_at = null, reason = null } = known
  const delivery = { state, reason, attempts: last?.number ?? 0, next_attempt_at }
  return Explanation.explain({ delivery, last, integration, lifetime_over_at: lifetime_over_at ?? null }, reader)
}

const askForIt = "You can resend this delivery, or recover all deliveries of the integration since a given time."
const tooLate = "It would arrive too late to be useful. To see whether the receiver accepts it now, resend it."
const enableIt = "Enable it, then resend this delivery or recover all since a given time."
const probeIt =
  "Probe it: this sends one delivery and enables the integration if it is acknowledged. Or enable it yourself. Then resend this delivery, or recover all since a given time."

/** Deliveries with their expected explanations: the reason, and the next step. */
const examples: ReadonlyArray<readonly [DeliveryState, Known, why: string, next: string]> = [
  [
    "pending",
    { last: null, next_attempt_at: at },
    "It is stored and has not been sent yet.",
    "Its first attempt is due at 2026-03-02T07:00:00.000Z."
  ],
  ["pending", { last: null }, "It is stored and has not been sent yet.", "Its first attempt is due soon."],
  [
    "pending",
    { next_attempt_at: at },
    `${failedWords} It will be sent again.`,
    "Attempt 4 is due at 2026-03-02T07:00:00.000Z."
  ],
  [
    "delivering",
    { last: null },
    "An attempt is under way.",
    "If the sending process ends before the outcome is recorded, another attempt is made."
  ],
  [
    "delivering",
    {},
    `${failedWords} An attempt is under way.`,
    "If the sending process ends before the outcome is recorded, another attempt is made."
  ],
  ["retrying", { next_attempt_at: due }, failedWords, "Attempt 4 is due at 2026-03-02T07:01:02.000Z."],
  [
    "retrying",
    { last: failed(asked), next_attempt_at: due },
    askedWords,
    "Attempt 4 is due at 2026-03-02T07:01:02.000Z, 1m after that answer: its Retry-After is respected, up to 1h."
  ],
  // Attempts without Retry-After, with an unusual detail, and without a known time of the next attempt.
  [
    "retrying",
    { last: failed({ status: 429 }), next_attempt_at: due },
    "The receiver answered 429: it gets too many requests. Limit those to this integration with requests-per-second.",
    "Attempt 4 is due at 2026-03-02T07:01:02.000Z."
  ],
  [
    "retrying",
    { last: failed({ outcome: "dns", status: null, detail: "NXDOMAIN" }), next_attempt_at: due },
    "The name in the integration's URL has no address (NXDOMAIN). Check the URL and the name's DNS entries.",
    "Attempt 4 is due at 2026-03-02T07:01:02.000Z."
  ],
  ["retrying", { last: failed(asked) }, askedWords, "Attempt 4 is due soon."],
  [
    "delivered",
    { last: failed({ outcome: "acknowledged", status: 200 }) },
    "The receiver acknowledged with 200 after 12 ms.",
    "Nothing to do: the delivery was acknowledged."
  ],
  [
    "exhausted",
    {},
    `${failedWords} It was tried 3 times. The schedule has no more attempts.`,
    `Nothing more is sent. ${askForIt}`
  ],
  [
    "exhausted",
    { last: failed({ number: 1 }), integration: null },
    `${failedWords} It was tried once. The schedule has no more attempts.`,
    "Nothing more is sent. The integration was deleted."
  ],
  [
    "expired",
    {},
    `${failedWords} It was tried 3 times. No attempt is left before its lifetime ends.`,
    `Nothing more is sent. ${tooLate}`
  ],
  [
    "expired",
    { lifetime_over_at: at },
    `${failedWords} It was tried 3 times. No attempt is left before its lifetime ends at 2026-03-02T07:00:00.000Z.`,
    `Nothing more is sent. ${tooLate}`
  ],
  [
    "expired",
    { last: null, lifetime_over_at: at },
    "Its lifetime ended at 2026-03-02T07:00:00.000Z, before an attempt could be made.",
    `Nothing is sent. ${tooLate}`
  ],
  [
    "expired",
    { last: null, integration: null },
    "Its lifetime ended before an attempt could be made.",
    "Nothing is sent. The integration was deleted."
  ],
  [
    "expired",
    { integration: disabledBy("manual") },
    `${failedWords} It was tried 3 times. No attempt is left before its lifetime ends.`,
    `The integration was disabled by hand. ${enableIt}`
  ],
  [
    "skipped",
    { last: null },
    "The integration was disabled when the event was published, so nothing was sent.",
    `Nothing is sent. ${askForIt}`
  ],
  [
    "cancelled",
    { reason: "row_unreadable", last: null },
    "The event or the integration could not be read from the database.",
    `Nothing is sent. ${askForIt}`
  ],
  [
    "skipped",
    { last: null, integration: disabledBy("manual") },
    "The integration was disabled when the event was published, so nothing was sent.",
    `The integration was disabled by hand. ${enableIt}`
  ],
  [
    "skipped",
    { last: null, integration: disabledBy(null) },
    "The integration was disabled when the event was published, so nothing was sent.",
    `The integration was disabled by hand. ${enableIt}`
  ],
  [
    "skipped",
    { last: null, integration: disabledBy("failing") },
    "The integration was disabled when the event was published, so nothing was sent.",
    `The integration is disabled because its receiver acknowledged nothing for too long. ${probeIt}`
  ],
  [
    "cancelled",
    { reason: "integration_gone", last: failed({ status: 410 }), integration: disabledBy("gone") },
    "The receiver answered 410 Gone at 2026-03-02T07:00:00.000Z, so the integration was disabled.",
    `The integration is disabled because its receiver answered 410 Gone. ${probeIt}`
  ],
  [
    "cancelled",
    { reason: "integration_gone" },
    `${failedWords} The receiver answered another delivery with 410 Gone, so the integration was disabled.`,
    `Nothing more is sent. ${askForIt}`
  ],
  [
    "cancelled",
    { reason: "integration_gone", last: null, integration: null },
    "The receiver answered another delivery with 410 Gone, so the integration was disabled.",
    "Nothing is sent. The integration was deleted."
  ],
  [
    "cancelled",
    { reason: "integration_deleted", integration: null },
    "The integration was deleted before the delivery was acknowledged.",
    "Nothing more is sent."
  ],
  [
    "cancelled",
    { reason: "right_lost", last: null },
    "The user who created the integration no longer has a right to these events.",
    "Nothing is sent. Once the right is restored, resend this delivery."
  ],
  [
    "cancelled",
    { reason: "integration_disabled" },
    `${failedWords} The integration was disabled before the delivery was acknowledged.`,
    `Nothing more is sent. ${askForIt}`
  ],
  [
    "cancelled",
    { reason: "integration_disabled", last: null, integration: disabledBy("manual") },
    "The integration was disabled before the delivery was acknowledged.",
    `The integration was disabled by hand. ${enableIt}`
  ]
]

const again = "end this delivery again, or recover all since a given time"
const ownerExamples: ReadonlyArray<readonly [DeliveryState, Known, next: string]> = [
  [
    "exhausted",
    {},
    `Nothing more is sent. You can s${again}. To see whether the receiver works now, send a test event first.`
  ],
  [
    "exhausted",
    { integration: disabledBy("failing") },
    `The integration is disabled because its receiver acknowledged nothing for too long. Try it again: this sends the newest unacknowledged event, and enables the integration if it is acknowledged. Then s${again}.`
  ],
  [
    "skipped",
    { last: null, integration: disabledBy("manual") },
    `The integration was disabled by hand. Enable it, then s${again}.`
  ],
  [
    "cancelled",
    { reason: "right_lost", last: null },
    "Nothing is sent. Once the right is restored, send this delivery again."
  ],
  [
    "expired",
    {},
    "Nothing more is sent. It would arrive too late to be useful. To see whether the receiver accepts it now, send it again."
  ],
  [
    "retrying",
    { last: failed(asked), next_attempt_at: due },
    "Attempt 4 is due at 2026-03-02T07:01:02.000Z, 1m after that answer: its Retry-After is respected, up to 1h."
  ]
]

describe("the explanation of a delivery to an owner", () => {
  for (const [state, known, next] of ownerExamples)
    it(`that is ${state}: ${next}`, () => assert.strictEqual(english(...explain(state, known, "owner").next), next))
})

describe("the explanation of a delivery", () => {
  for (const [state, known, why, next] of examples) {
    it(`that is ${state}: ${why} ${next}`, () => {
      const said = explain(state, known)
      assert.deepStrictEqual([english(...said.why), english(...said.next)], [why, next])
    })
  }

  it("never shows a negative wait when the clocks of two workers differ", () => {
    const { next } = explain("retrying", { last: failed(asked), next_attempt_at: at })
    assert.match(english(...next), /Attempt 4 is due at .*, 0ms after that answer/)
  })

  it.each([
    ["pending", {}, []],
    ["pending", { last: null }, []],
    ["delivering", {}, []],
    ["delivered", {}, []],
    ["expired", {}, ["resend"]],
    ["expired", { integration: null }, []],
    ["expired", { integration: disabledBy("manual") }, ["enable", "resend", "recover"]],
    ["retrying", { last: blocked }, ["allow", "resend"]],
    ["exhausted", { last: blocked }, ["allow", "resend", "recover"]],
    [
      "exhausted",
      { last: blocked, integration: disabledBy("failing") },
      ["allow", "probe", "enable", "resend", "recover"]
    ],
    ["retrying", {}, ["resend"]],
    ["exhausted", {}, ["resend", "recover"]],
    ["exhausted", { integration: null }, []],
    ["skipped", { integration: disabledBy("manual") }, ["enable", "resend", "recover"]],
    ["cancelled", { integration: disabledBy("failing") }, ["probe", "enable", "resend", "recover"]],
    [
      "cancelled",
      { reason: "integration_gone", integration: disabledBy("gone") },
      ["probe", "enable", "resend", "recover"]
    ],
    ["cancelled", { reason: "integration_deleted" }, []],
    ["cancelled", { reason: "right_lost" }, ["resend"]]
  ] as const)("names what can be done for one that is %s, %j: %j", (state, known, actions) => {
    assert.deepStrictEqual([...explain(state, known).actions], [...actions])
    const owners = actions.filter((action) => action !== "allow")
    assert.deepStrictEqual([...explain(state, known, "owner").actions], owners, "only operators can allow networks")
  })

  it("exists for every state and reason that can be stored", () => {
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
        for (const reader of ["operator", "owner"] as const) {
          const { actions, next, why } = Explanation.explain({ delivery: one, last, integration: of }, reader)
          for (const text of [english(...why), english(...next)]) {
            assert.notMatch(text, /undefined|null|NaN|PATCH|\/data/)
            assert.isTrue(text === "" || text.endsWith("."), text)
            if (reader === "owner") assert.notMatch(text, /resend|[Pp]robe|allow-target|what was seen/)
          }
          assert.notStrictEqual(english(...next), "")
          if (reader === "owner") assert.notInclude(actions, "allow")
        }
      })
    )
  })
})
