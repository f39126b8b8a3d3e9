/**
 * Settings for executing a history.
 */
import { Effect, Redacted } from "effect"
import type { Setting } from "../../src/execution/Execution.ts"
import { execute } from "../../src/execution/Perform.ts"
import { Slots } from "../../src/execution/Slots.ts"
import type { History } from "../../src/history/History.ts"
import type { Operation } from "../../src/history/Operations.ts"
import { noHooks } from "../../src/hooks/Hooks.ts"
import { defaultCriteria } from "../../src/judgement/Criteria.ts"
import { services } from "../../src/run/Setup.ts"

export const secret = Redacted.make("whsec_dGhlIHNlY3JldCBvZiB0aGUgcmVjZWl2ZXI=")

export const criteria = { ...defaultCriteria, deadline: 2_000 }

export { services }

/** Makes a setting for a receiver. `others` replaces defaults. Each setting has its own clock. */
export const settingOf = (url: URL, others: Partial<Omit<Setting, "urls">> = {}): Setting => {
  const startedAt = performance.now()
  return {
    urls: [url],
    secret,
    bindings: null,
    criteria,
    hooks: noHooks,
    slots: new Slots(() => performance.now() - startedAt, others.maxRate ?? null, 30_000),
    interventions: [],
    sent: { count: 0 },
    now: () => performance.now() - startedAt,
    startedAfter: new Set(),
    clock: { ahead: 0 },
    comeback: 30_000,
    typical: () => 0,
    pace: 1,
    peakRate: 0,
    maxRate: null,
    ...others
  }
}

/** Executes operations against a receiver. */
export const executed = (
  url: string,
  ops: ReadonlyArray<Operation>,
  { fillerTime = 1_000, ...others }: Partial<Omit<Setting, "urls">> & { readonly fillerTime?: number } = {}
) =>
  execute({ v: 1, ops }, settingOf(new URL(url), others), {
    title: "a case",
    allElseDone: Effect.void,
    fillerTime
  }).pipe(Effect.provide(services))

/** Executes a history in a setting. */
export const executeIn = (history: History, setting: Setting) =>
  execute(history, setting, { title: "a case", allElseDone: Effect.void, fillerTime: 1_000 }).pipe(
    Effect.provide(services)
  )
