/**
 * The preparation of a run: measures how accurately this machine can time an answer, makes the setting of all histories
 * and calibrates the probe.
 */
import { Crypto } from "@doorhook/core"
import { Clock, Effect, Layer, Struct } from "effect"
import type { Trace } from "../evidence/Trace.ts"
import { withInterventions } from "../execution/Execution.ts"
import type { CaseContext, Setting } from "../execution/Execution.ts"
import { execute } from "../execution/Perform.ts"
import { TargetUnusable } from "../execution/Send.ts"
import { Slots } from "../execution/Slots.ts"
import { accessLog, call, EventFactory } from "../history/Events.ts"
import { forBindings, keyOf, makeCase, newEvent } from "../history/History.ts"
import type { Case } from "../history/History.ts"
import { inOtherCase } from "../history/Json.ts"
import { openEcho } from "../http/Wire.ts"
import { classify } from "../judgement/Criteria.ts"
import type { Criteria } from "../judgement/Criteria.ts"
import { ProbeUnusable, subjectOf } from "../probes/Probe.ts"
import type { Probe, Subject } from "../probes/Probe.ts"
import type { ProbeCalibration } from "../record/Evidence.ts"
import { defaultMaxTime } from "../record/Options.ts"
import type { Means, Options } from "../record/Options.ts"
import { simplestCases } from "../requirements/Acknowledgement.ts"
import type { Need } from "../requirements/Requirement.ts"
import type { Reader } from "./EffectReading.ts"
import { timeShares } from "./Schedule.ts"

/** The services that histories are executed with. */
export const services = EventFactory.layer.pipe(Layer.provideMerge(Crypto.layerWebCrypto))

/** Returns the default factor for waiting times in a run of `maxTime` milliseconds. */
export const paceOf = (maxTime: number): number => Math.min(1, maxTime / defaultMaxTime)

export const termsOf = ({ ack, deadline, dedupKey, tolerance }: Options, { guard }: Guard): Criteria => ({
  deadline,
  guard,
  rule: ack,
  dedupKey,
  tolerance
})

/**
 * Returns the needs that a run with these options and means meets. Leaves out `digest`, which depends on the probe's
 * answers.
 */
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

/** Makes the setting that all histories of a run share. */
export const settingOf = Effect.fnUntraced(function* (
  options: Options,
  means: Means,
  criteria: Criteria,
  { pace, typical }: Pick<Setting, "pace" | "typical">
): Effect.fn.Return<Setting> {
  const clock = yield* Clock.Clock
  const begun = clock.monotonicTimeNanosUnsafe()
  const now = (): number => Number(clock.monotonicTimeNanosUnsafe() - begun) / 1_000_000
  return {
    urls: means.urls,
    secret: means.secret,
    bindings: options.binding,
    criteria,
    hooks: means.hooks,
    slots: new Slots(now, options.maxRate, options.maxTime * timeShares.longestPause),
    interventions: [],
    sent: { count: 0 },
    now,
    startedAfter: new Set(),
    clock: { ahead: 0 },
    comeback: means.comeback,
    typical,
    pace,
    peakRate: options.peakRate ?? 0,
    maxRate: options.maxRate
  }
})

/** Returns the simplest cases, adapted to the receiver's bindings. */
export const controlsOf = ({ binding }: Options): ReadonlyArray<Case> => {
  const adapted = simplestCases.flatMap((one) => forBindings(one, binding) ?? [])
  return [...new Map(adapted.map((one) => [keyOf(one.history), one])).values()]
}

export const readerOf = (
  { seed }: Options,
  { probe, urls }: Means,
  criteria: Criteria,
  calibration: ProbeCalibration | null
): Reader | null =>
  probe === null || calibration === null
    ? null
    : { probe, calibration, criteria, seed, endpoints: urls.map(({ href }) => href) }

/**
 * Extends a trace to the present, when its effects have just been read: adds the actions of other cases on the receiver
 * until now.
 */
export const upToNow = (trace: Trace, { interventions, now }: Setting): Trace =>
  withInterventions({ ...trace, ended: now() }, interventions)

const leastGuard = 50
const warmUp = 10
const rounds = 100

/** The 99th percentile. */
const percentile99 = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * 0.99) - 1)] ?? 0

/** The guard band and the delay from which it is derived, in milliseconds. */
export interface Guard {
  readonly guard: number
  readonly echo: number
}

/**
 * Measures the suite's own delay with an echo server in its process. An answer counts as late only if it is late by
 * more than the guard: three times the 99th percentile of that delay, and at least 50 ms.
 */
export const measureGuard: Effect.Effect<Guard> = Effect.scoped(
  Effect.gen(function* () {
    const echo = yield* openEcho
    const timings: Array<number> = []
    for (let round = 0; round < warmUp + rounds; round++) {
      const elapsed = yield* echo
      if (round >= warmUp) timings.push(elapsed)
    }
    const slowest = percentile99(timings)
    return { guard: Math.max(leastGuard, Math.ceil(3 * slowest)), echo: slowest }
  })
)

const betweenReadings = 20

const unusable = (message: string): ProbeUnusable => new ProbeUnusable({ message })

/** Reads until a condition is true or the time is up. Returns the last reading. */
const readUntil = Effect.fnUntraced(function* (
  probe: Probe,
  subject: Subject,
  enough: (effects: number) => boolean,
  limit: number
) {
  const until = (yield* Clock.currentTimeMillis) + limit
  let reading = yield* probe.read(subject)
  while (!enough(reading.effects) && (yield* Clock.currentTimeMillis) < until) {
    yield* Effect.sleep(betweenReadings)
    reading = yield* probe.read(subject)
  }
  return reading
})

/** Makes the receiver record one more effect and checks that the probe shows it. Returns null without `double`. */
const checkDouble = Effect.fnUntraced(function* (probe: Probe, { hooks }: Setting, subject: Subject, limit: number) {
  if (hooks.double === null) return null
  const before = (yield* probe.read(subject)).effects
  yield* Effect.mapError(hooks.double(subject.webhookId), ({ message }) => new TargetUnusable({ message }))
  const { effects } = yield* readUntil(probe, subject, (seen) => seen > before, limit)
  const asked = `after the receiver was asked (POST ${hooks.names["double"] ?? "double"}) to record one more effect`
  if (effects <= before) {
    return yield* unusable(
      `The probe still says effects = ${effects} ${asked}, so it can't count past ${before} and would hide every double effect. It must count effects, not say whether there is one.`
    )
  }
  if (effects !== before + 1) {
    return yield* unusable(
      `The probe says effects = ${effects}, not ${before + 1}, ${asked}. The probe must count each effect once, and the control URL must record exactly one.`
    )
  }
  return { expected: before + 1, observed: effects }
})

/**
 * Checks that the probe reports no effects for an id without its last character. Otherwise it would confuse ids that
 * begin alike.
 */
const checkWhole = Effect.fnUntraced(function* (
  probe: Probe,
  subjects: ReadonlyArray<Subject>,
  phantom: Subject,
  byDataId: boolean
) {
  for (const subject of subjects) {
    for (const key of byDataId ? (["webhookId", "dataId"] as const) : (["webhookId"] as const)) {
      const beginning = subject[key].slice(0, -1)
      const { dataId, webhookId } = phantom
      const { effects } = yield* probe.read({ ...subject, dataId, webhookId, [key]: beginning })
      if (effects === 0) continue
      return yield* unusable(
        `The probe says effects = ${effects} for ${beginning}, which is only the beginning of an event's id. It counts effects of ids that begin alike together, and would show two effects for a correct receiver. It must match whole ids: use grep -cw, or = instead of LIKE.`
      )
    }
  }
})

/** Makes a case of up to three events, as the bindings allow. */
const trial = (bindings: ReadonlyArray<string> | null) =>
  forBindings(makeCase("timing", "the probe", newEvent(accessLog), newEvent(call), newEvent(accessLog)), bindings)

/**
 * Checks that the probe counts correctly: no effect for an event that was never sent, one for one event, two for two,
 * and one more after the receiver recorded an additional effect on request. Returns null if the receiver acknowledges
 * nothing.
 */
export const calibrateProbe = Effect.fnUntraced(function* (
  probe: Probe,
  setting: Setting,
  context: CaseContext,
  { bindings, settle }: { readonly bindings: ReadonlyArray<string> | null; readonly settle: number }
): Effect.fn.Return<ProbeCalibration | null, TargetUnusable | ProbeUnusable, EventFactory | Crypto> {
  const factory = yield* EventFactory
  const phantom: Subject = {
    webhookId: yield* factory.webhookId,
    resourceType: "access_log",
    dataId: String(yield* factory.dataId),
    endpoint: null
  }
  const never = yield* probe.read(phantom)
  if (never.effects !== 0) {
    return yield* unusable(
      `The probe says effects = ${never.effects} for an event that was never sent. It must say 0 for an unknown id. Does it count all events together?`
    )
  }
  const one = trial(bindings)
  if (one === null) return null
  const { broke, trace } = yield* execute(one.history, setting, context)
  if (broke !== null) return yield* broke
  const acknowledged = trace.attempts.filter(({ exchange }) => classify(exchange, setting.criteria) === "acknowledged")
  const subjects = acknowledged.flatMap(({ event }) => trace.events[event] ?? []).map((sent) => subjectOf(sent, null))
  if (subjects.length === 0) return null
  const begun = yield* Clock.currentTimeMillis
  // Waits for one effect only. If the receiver loses the other events, the probe is still usable, and requirements
  // judge the loss.
  let seen = 0
  while (seen === 0 && (yield* Clock.currentTimeMillis) < begun + settle) {
    const readings = yield* Effect.forEach(subjects, probe.read, { concurrency: probe.concurrency })
    seen = Math.max(...readings.map(({ effects }) => effects))
    if (seen === 0) yield* Effect.sleep(betweenReadings)
  }
  const lag = (yield* Clock.currentTimeMillis) - begun
  if (seen === 0) {
    return yield* unusable(
      `The probe says effects = 0 for ${subjects.length} acknowledged events, after ${settle} ms. Either the probe looks in the wrong place or the receiver drops events that it acknowledges. Query the probe for ${subjects[0]?.webhookId} by hand, or allow more time with --settle.`
    )
  }
  const limit = Math.max(1_000, Math.min(settle, 3 * lag))
  const readings = yield* Effect.forEach(subjects.slice(0, 2), (subject) =>
    readUntil(probe, subject, (effects) => effects > 0, limit)
  )
  if ((yield* probe.read(phantom)).effects !== 0) {
    return yield* unusable(
      "The probe counts effects for an event that was never sent, after other events were sent: it ignores the id in the request."
    )
  }
  const [subject = phantom] = subjects
  // An unknown webhook-id with the data.id of an event that was sent.
  const byDataId = (yield* probe.read({ ...subject, webhookId: phantom.webhookId })).effects > 0
  yield* checkWhole(probe, subjects, phantom, byDataId)
  const folded = { ...subject, webhookId: inOtherCase(subject.webhookId), dataId: phantom.dataId }
  const foldsCase = (yield* probe.read(folded)).effects > 0
  // URLs that none of the events was sent to.
  const [, ...others] = setting.urls
  const elsewhere = others.flatMap(({ href }) => subjects.map((each) => ({ ...each, endpoint: href })))
  const shownElsewhere = yield* Effect.forEach(elsewhere, probe.read)
  return {
    kind: probe.kind,
    name: probe.name,
    neverSent: { expected: 0, observed: never.effects },
    one: { expected: 1, observed: readings[0]?.effects ?? 0 },
    two: { expected: readings.length, observed: readings.reduce((sum, { effects }) => sum + effects, 0) },
    double: yield* checkDouble(probe, setting, subject, limit),
    digest: readings.some(({ digest }) => digest !== null),
    byDataId,
    blindToUrls: shownElsewhere.some(({ effects }) => effects > 0),
    foldsCase,
    lag
  }
})
