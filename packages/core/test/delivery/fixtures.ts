/**
 * Values shared by the tests of several rules.
 */
import type { Attempt, Settlement } from "@doorhook/core"
import { makeLeased } from "../fixtures.ts"

/** Makes a first attempt with this outcome. */
export const attemptOf = (outcome: Attempt["outcome"], fields: Partial<Attempt> = {}): Attempt => ({
  number: 1,
  started_at: 0,
  duration_ms: 5,
  outcome,
  status: null,
  response_excerpt: null,
  detail: null,
  ...fields
})

/** Makes the settlement of a first attempt, acknowledged by default. */
export const settlementOf = (fields: Partial<Settlement> = {}): Settlement => ({
  delivery_id: makeLeased(1).id,
  integration_id: makeLeased(1).integration.id,
  attempt: attemptOf("acknowledged"),
  state: "delivered",
  reason: null,
  next_attempt_at: null,
  lane: 3,
  early: 0,
  retry_after: null,
  gone: false,
  ...fields
})
