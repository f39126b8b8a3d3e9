/**
 * Makes sure that the probe can be believed, before anything is judged by it: an event that was never sent has no effect,
 * one that was has one, two together have two, and where the receiver can be asked to record one more, two are seen.
 */
import type { Crypto } from "@doorhook/core"
import { Clock, Effect, Schema } from "effect"
import { read } from "../checks/Reading.ts"
import { accessLog, call } from "../history/Events.ts"
import { newEvent } from "../history/History.ts"
import { ProbeUnusable } from "../probes/Probe.ts"
import type { Probe, Subject } from "../probes/Probe.ts"
import { execute } from "./Execute.ts"
import { Minting } from "./Minting.ts"
import type { Setting } from "./Setting.ts"
import { TargetUnusable } from "./TargetUnusable.ts"

const Control = Schema.Struct({ expected: Schema.Int, observed: Schema.Int })

export const ProbeCalibration = Schema.Struct({
  neverSent: Control,
  one: Control,
  two: Control,
  /** After the receiver was asked to record one more effect; null when it can't be. */
  double: Schema.NullOr(Control),
  digest: Schema.Boolean,
  /** Whether it tells events by `data.id` alone, of whatever type they are. */
  byDataId: Schema.optionalKey(Schema.Boolean),
  /** Whether it counts the effects at all of the receiver's URLs together, whichever it is asked for. */
  blindToUrls: Schema.optionalKey(Schema.Boolean),
  /** From the acknowledgement to the effect, in milliseconds. */
  lag: Schema.Finite
})
export type ProbeCalibration = typeof ProbeCalibration.Type

const betweenReadings = 20

const unusable = (message: string): ProbeUnusable => new ProbeUnusable({ message })

/** Reads until a condition holds or the time is up; what was read last. */
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

const checkDouble = Effect.fnUntraced(function* (probe: Probe, setting: Setting, subject: Subject, limit: number) {
  if (setting.hooks.double === null) return null
  const before = (yield* probe.read(subject)).effects
  yield* Effect.mapError(setting.hooks.double(subject.webhookId), ({ message }) => new TargetUnusable({ message }))
  const { effects } = yield* readUntil(probe, subject, (seen) => seen > before, limit)
  if (effects <= before) {
    return yield* unusable(
      `The probe still says effects = ${effects} after the receiver was asked (POST ${setting.hooks.names["double"] ?? "double"}) to record one more, so it can't count past ${before} and would hide every double effect. Make it count effects, not whether there is one.`
    )
  }
  return { expected: before + 1, observed: effects }
})

/** Makes sure that no event counts under the beginning of its id as well: twins have such ids. */
const checkWhole = Effect.fnUntraced(function* (
  probe: Probe,
  subjects: ReadonlyArray<Subject>,
  phantom: Subject,
  byDataId: boolean
) {
  for (const subject of subjects) {
    const webhookId = subject.webhookId.slice(0, -1)
    const dataId = subject.dataId.slice(0, -1)
    const beginnings = [
      [webhookId, { ...subject, webhookId, dataId: phantom.dataId }],
      ...(byDataId ? [[dataId, { ...subject, webhookId: phantom.webhookId, dataId }] as const] : [])
    ] as const
    for (const [id, beginning] of beginnings) {
      const { effects } = yield* probe.read(beginning)
      if (effects === 0) continue
      return yield* unusable(
        `The probe says effects = ${effects} for ${id}, which is how the id of an event begins that was sent, and no event's id. It counts ids that begin alike together, and would show two effects of a receiver that is right. Make it match whole ids: grep -cw, = instead of LIKE.`
      )
    }
  }
})

/** Calibrates the probe; null when the receiver acknowledges nothing, so that there is nothing to calibrate it with. */
export const calibrateProbe = Effect.fnUntraced(function* (
  probe: Probe,
  setting: Setting,
  settle: number
): Effect.fn.Return<ProbeCalibration | null, TargetUnusable | ProbeUnusable, Minting | Crypto> {
  const minting = yield* Minting
  const phantom: Subject = {
    webhookId: yield* minting.webhookId,
    resourceType: "access_log",
    dataId: String(yield* minting.dataId),
    endpoint: null
  }
  const never = yield* probe.read(phantom)
  if (never.effects !== 0) {
    return yield* unusable(
      `The probe says effects = ${never.effects} for an event that was never sent; it must say 0 for an unknown id. It may count all events together.`
    )
  }
  const { broke, trace } = yield* execute(
    { v: 1, ops: [newEvent(accessLog), newEvent(call), newEvent(accessLog)] },
    setting
  )
  if (broke !== null) return yield* broke
  const acknowledged = trace.attempts.filter(({ exchange }) => read(exchange, setting.terms) === "acknowledged")
  const subjects = acknowledged.flatMap(({ event }): ReadonlyArray<Subject> => {
    const sent = trace.events[event]
    return sent === undefined ? [] : [{ ...sent, endpoint: null }]
  })
  if (subjects.length === 0) return null
  const begun = yield* Clock.currentTimeMillis
  // One that shows its effect is enough: a receiver that loses the others is to be judged, not given up.
  let seen = 0
  while (seen === 0 && (yield* Clock.currentTimeMillis) < begun + settle) {
    const readings = yield* Effect.forEach(subjects, probe.read)
    seen = Math.max(...readings.map(({ effects }) => effects))
    if (seen === 0) yield* Effect.sleep(betweenReadings)
  }
  const lag = (yield* Clock.currentTimeMillis) - begun
  if (seen === 0) {
    return yield* unusable(
      `The probe says effects = 0 for ${subjects.length} events that were acknowledged, after ${settle} ms. Either it looks in the wrong place or the receiver drops what it acknowledges: ask it for ${subjects[0]?.webhookId} by hand, or give it more time with --settle.`
    )
  }
  const limit = Math.max(1_000, Math.min(settle, 3 * lag))
  const readings = yield* Effect.forEach(subjects.slice(0, 2), (subject) =>
    readUntil(probe, subject, (effects) => effects > 0, limit)
  )
  if ((yield* probe.read(phantom)).effects !== 0) {
    return yield* unusable(
      "The probe counts effects for an event that was never sent, once others were: it does not look at the id it is asked for."
    )
  }
  const [first = { effects: 0, digest: null }] = readings
  const [subject = phantom] = subjects
  // An id that nobody was sent, and the data.id of an event that was.
  const byDataId = (yield* probe.read({ ...subject, webhookId: phantom.webhookId })).effects > 0
  yield* checkWhole(probe, subjects, phantom, byDataId)
  // URLs to which none of them was sent.
  const elsewhere = setting.otherUrls.flatMap(({ href }) => subjects.map((one) => ({ ...one, endpoint: href })))
  const shownElsewhere = yield* Effect.forEach(elsewhere, probe.read)
  const total = readings.reduce((sum, { effects }) => sum + effects, 0)
  return {
    neverSent: { expected: 0, observed: never.effects },
    one: { expected: 1, observed: first.effects },
    two: { expected: readings.length, observed: total },
    double: yield* checkDouble(probe, setting, subject, limit),
    digest: readings.some(({ digest }) => digest !== null),
    byDataId,
    blindToUrls: shownElsewhere.some(({ effects }) => effects > 0),
    lag
  }
})
