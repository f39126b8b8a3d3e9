/**
 * What a run does before anything else, and what a replay and the doctor do by themselves: the receiver is reached, the
 * simplest events are sent, the probe is calibrated; then a history can be tried out by itself.
 */
import { Crypto } from "@doorhook/core"
import { Clock, Effect, Layer, Struct } from "effect"
import type { Trace } from "../evidence/Trace.ts"
import { execute } from "../execution/Perform.ts"
import { during } from "../execution/Execution.ts"
import type { Occasion, Setting } from "../execution/Execution.ts"
import { Slots } from "../execution/Slots.ts"
import type { TargetUnusable } from "../execution/Reaching.ts"
import { forBindings, keyOf } from "../history/History.ts"
import type { Case, History } from "../history/History.ts"
import { Minting } from "../history/Minting.ts"
import type { Terms } from "../judgement/Terms.ts"
import type { ProbeUnusable } from "../probes/Probe.ts"
import type { ProbeCalibration } from "../record/Evidence.ts"
import { defaultMaxTime } from "../record/Options.ts"
import type { Means, Options } from "../record/Options.ts"
import { simplestCases } from "../requirements/Acknowledging.ts"
import type { Need } from "../requirements/Requirement.ts"
import { calibrateProbe, measureGuard } from "./Calibrate.ts"
import type { Guard } from "./Calibrate.ts"
import { makeLedger } from "./Ledger.ts"
import { settle } from "./Settle.ts"
import type { Reader } from "./Settle.ts"
import { reach } from "./Target.ts"

/** What histories are executed with, for as long as a run takes. */
export const services = Layer.mergeAll(Minting.layer, Slots.layer).pipe(Layer.provideMerge(Crypto.layerWebCrypto))

/** The share of the time that one operation takes which sends many events, at most; the second where others wait for it. */
export const fillerShare = 0.07
export const fillerShareAlone = 0.035
/** The same outside of a run, where nothing else is to be done. */
const fillerAlone = 0.25

/** By what waiting times are multiplied in a run of this many milliseconds, unless it is said. */
export const paceOf = (maxTime: number): number => Math.min(1, maxTime / defaultMaxTime)

export const termsOf = ({ ack, deadline, dedupKey, tolerance }: Options, { guard }: Guard): Terms => ({
  deadline,
  guard,
  rule: ack,
  dedupKey,
  tolerance
})

/** What a run with these options and means can see and do, the digest aside. */
export const givenBy = ({ level, peakRate }: Options, { hooks, probe, secret, urls }: Means): ReadonlyArray<Need> => {
  const given: Readonly<Record<Exclude<Need, "digest">, boolean>> = {
    effects: probe !== null && level >= 2,
    stop: level >= 3 && (hooks.restart !== null || hooks.kill !== null),
    kill: level >= 3 && hooks.kill !== null,
    pause: hooks.pause !== null && hooks.resume !== null,
    advance: hooks.advance !== null,
    endpoints: urls.length > 1,
    secret: secret !== null,
    rate: peakRate !== null
  }
  return Struct.keys(given).filter((need) => given[need])
}

/** What the histories of a run share. */
export const settingOf = Effect.fnUntraced(function* (
  options: Options,
  means: Means,
  terms: Terms,
  { pace, typical }: Pick<Setting, "pace" | "typical">
): Effect.fn.Return<Setting> {
  const clock = yield* Clock.Clock
  const begun = clock.monotonicTimeNanosUnsafe()
  return {
    urls: means.urls,
    secret: means.secret,
    bindings: options.binding,
    terms,
    hooks: means.hooks,
    interventions: [],
    sent: { count: 0 },
    now: () => Number(clock.monotonicTimeNanosUnsafe() - begun) / 1_000_000,
    startedAfter: new Set(),
    clock: { ahead: 0 },
    comeback: means.comeback,
    typical,
    pace,
    peakRate: options.peakRate ?? 0
  }
})

/** The simplest cases, as far as the receiver is bound to their events. */
export const controlsOf = ({ binding }: Options): ReadonlyArray<Case> => {
  const adapted = simplestCases.flatMap((one) => forBindings(one, binding) ?? [])
  return [...new Map(adapted.map((one) => [keyOf(one.history), one])).values()]
}

export const readerOf = (
  { seed }: Options,
  { probe, urls }: Means,
  terms: Terms,
  calibration: ProbeCalibration | null
): Reader | null =>
  probe === null || calibration === null
    ? null
    : { probe, calibration, terms, seed, endpoints: urls.map(({ href }) => href) }

/** The trace as of now, when its effects were read: what others did to the receiver until then is part of it. */
export const upToNow = (trace: Trace, { interventions, now }: Setting): Trace =>
  during({ ...trace, ended: now() }, interventions)

/** Executes a history by itself and reads its effects: for confirming, shrinking and `replay`. One at a time. */
export type TryOut = (
  history: History
) => Effect.Effect<Trace, TargetUnusable | ProbeUnusable, Minting | Crypto | Slots>

export const tryOutWith =
  (setting: Setting, occasion: Occasion, reader: () => Reader | null, patience: number): TryOut =>
  (history) =>
    Effect.gen(function* () {
      const { broke, trace } = yield* execute(history, setting, occasion)
      // What did not start again shows no effects, and that is seen already.
      if (broke?.stayedDown === true) return trace
      if (broke !== null) return yield* broke
      const own = reader()
      if (own === null) return trace
      const [seen = trace] = (yield* settle([trace], own, patience)).traces
      return upToNow(seen, setting)
    })

/** A receiver that has been looked at, with nothing else going on. */
export interface Alone {
  readonly guard: Guard
  readonly terms: Terms
  /** Null without a probe, and where nothing is acknowledged. */
  readonly calibration: ProbeCalibration | null
  /** Whether it acknowledges the simplest events. */
  readonly acknowledges: boolean
  readonly tryOut: TryOut
}

/** Looks at a receiver, and makes ready to execute histories at full length, each by itself. */
export const prepareAlone = Effect.fnUntraced(function* (
  options: Options,
  means: Means
): Effect.fn.Return<Alone, TargetUnusable | ProbeUnusable, Minting | Crypto | Slots> {
  const guard = yield* measureGuard
  const terms = termsOf(options, guard)
  yield* reach(means.urls[0], options.deadline)
  const ledger = makeLedger(terms)
  const setting = yield* settingOf(options, means, terms, { pace: 1, typical: ledger.typical })
  const occasion: Occasion = {
    title: "alone",
    allElseDone: Effect.void,
    fillerTime: options.maxTime * fillerAlone
  }
  for (const { history, lane, title } of controlsOf(options)) {
    const { broke, trace } = yield* execute(history, setting, occasion)
    if (broke !== null) return yield* broke
    ledger.add({ title, lane, alone: true, trace, whole: true, settled: true, repeats: [] })
  }
  const acknowledges = ledger.acknowledges()
  const calibration =
    means.probe === null || !acknowledges
      ? null
      : yield* calibrateProbe(means.probe, setting, occasion, { bindings: options.binding, settle: options.settle })
  const reader = readerOf(options, means, terms, calibration)
  return {
    guard,
    terms,
    calibration,
    acknowledges,
    tryOut: tryOutWith(setting, occasion, () => reader, options.settle)
  }
})
