/**
 * Checks how failures and acknowledgements affect integrations: disabling, probes, notifications.
 */
import type { IntegrationId, IntegrationNotification } from "@doorhook/core"
import type { Settled, Step } from "./Knowledge.ts"
import { stepsOf } from "./Knowledge.ts"
import type { Check, EntryOf, Trace, Violation } from "./Trace.ts"
import { clockError, entriesOf } from "./Trace.ts"

const leastFailedAttempts = 10

/** Describes how a batch wrongly disabled an integration, or wrongly left it enabled; null if neither. */
const problemOf = (
  { settings }: Trace,
  { acknowledged, after, batch, before, entry, failed, failures, since }: Step
) => {
  if (before.integration.status === "disabled") return null
  const failedFor = since === null ? 0 : entry.now - since
  const isLong = failedFor >= settings.disableAfter && failures >= leastFailedAttempts
  const must = failed && !acknowledged && since !== null && isLong
  const reason = after?.integration.disabled_reason ?? null
  if (reason === "gone")
    return batch.some(({ settlement }) => settlement.gone) ? null : "was disabled as gone, but no receiver said so"
  if (reason === "failing" && !must)
    return `was disabled as failing after ${failedFor} ms and ${failures} failed attempts`
  if (reason === null && must)
    return `was not disabled, although it has failed for ${failedFor} ms and ${failures} attempts`
  return null
}

export const disabling: Check = {
  name: "disabling",
  rule: "An integration is disabled as failing at the first failed attempt that is at least the tenth in a row and at least disableAfter after the first of them. It is not disabled earlier.",
  violations: (trace) =>
    stepsOf(trace).flatMap((step) => {
      const problem = problemOf(trace, step)
      if (problem === null) return []
      return [{ what: `integration ${step.integration_id} ${problem}`, entries: [step.before.index, step.entry.index] }]
    })
}

/** Whether the settled attempt was a probe requested after its integration was disabled. */
const isProbe = ({ delivery, grant }: Settled, { before }: Step): boolean =>
  delivery.probed.some((index) => index > before.index && index < grant.index)

export const probes: Check = {
  name: "probes",
  rule: "An integration that doorhook disabled is enabled by an acknowledged probe, and by no other delivery.",
  violations: (trace) =>
    stepsOf(trace).flatMap((step) => {
      const { after, batch, before, entry, integration_id } = step
      if (before.integration.status === "enabled") return []
      const succeeded =
        before.integration.disabled_reason !== "manual" &&
        batch.some((settled) => settled.settlement.attempt?.outcome === "acknowledged" && isProbe(settled, step))
      const enabled = after?.integration.status === "enabled"
      if (enabled === succeeded) return []
      const what = enabled ? "was enabled without a probe" : "was probed successfully but stays disabled"
      return [{ what: `integration ${integration_id} ${what}`, entries: [before.index, entry.index] }]
    })
}

/** Warning thresholds, in percent of the time until a failing integration is disabled. */
const warningThresholds = [50, 70, 90]

/** Returns the number of warnings due for an integration that has failed for this long. Times in milliseconds. */
const warningsDue = (failedFor: number, disableAfter: number): number =>
  warningThresholds.filter((percent) => failedFor * 100 >= percent * disableAfter).length

/**
 * Returns the kinds of notifications that a batch should write. `warned` is the number of warnings since the first
 * failure.
 */
const expected = ({ settings }: Trace, step: Step, warned: number): ReadonlyArray<string> => {
  const { acknowledged, after, batch, before, entry, failed, since } = step
  const kinds: Array<string> = []
  if (after?.integration.status === "enabled") kinds.push("recovered")
  if (before.integration.status === "disabled") return kinds
  if (acknowledged && warned > 0) kinds.push("recovered")
  if (after?.integration.status === "disabled") kinds.push("disabled")
  else if (!acknowledged && failed && since !== null && batch.length > 0) {
    if (warningsDue(entry.now - since, settings.disableAfter) > warned) kinds.push("failing")
  }
  return kinds
}

/** Warnings and last batch of each integration, at one point of a history. */
class WarningState {
  /** Number of warnings since the first failure. */
  readonly warned = new Map<IntegrationId, number>()
  /** Last batch of each integration. */
  readonly last = new Map<IntegrationId, Step>()
}

const isTrueWarning = (notification: IntegrationNotification, since: number | null, disableAfter: number): boolean =>
  notification.kind === "failing" &&
  notification.failing_since === since &&
  notification.disables_at === since + disableAfter

/** Compares the notifications of a batch with the expected ones. */
const ofStep = (trace: Trace, { last, warned }: WarningState, step: Step): ReadonlyArray<Violation> => {
  const { acknowledged, batch, entry, integration_id, notifications, since } = step
  const before = since === null ? 0 : (warned.get(integration_id) ?? 0)
  const wanted = expected(trace, step, before)
  const given = notifications.filter(({ kind }) => kind !== "exhausted").map(({ kind }) => kind)
  const due = since === null ? 0 : warningsDue(entry.now - since, trace.settings.disableAfter)
  const isEnabled = step.before.integration.status === "enabled"
  if (isEnabled) warned.set(integration_id, acknowledged ? 0 : step.failed ? Math.max(before, due) : before)
  last.set(integration_id, step)
  const exhausted = batch.filter(({ settlement }) => settlement.state === "exhausted").length
  const isTrue = (notification: IntegrationNotification): boolean =>
    (notification.kind !== "exhausted" || (notification.deliveries > 0 && notification.deliveries <= exhausted)) &&
    (notification.kind !== "failing" || isTrueWarning(notification, since, trace.settings.disableAfter)) &&
    (notification.kind !== "disabled" || notification.reason === step.after?.integration.disabled_reason)
  if (wanted.join() === given.join() && notifications.every(isTrue)) return []
  const what = `integration ${integration_id} got the notifications ${JSON.stringify(notifications)} instead of: ${wanted.join() || "none"}`
  return [{ what, entries: [step.before.index, entry.index] }]
}

/** Checks warnings that became due as time passed. */
const ofWarning = (trace: Trace, { last, warned }: WarningState, entry: EntryOf<"warned">): ReadonlyArray<Violation> =>
  entry.notifications.flatMap((notification) => {
    const { integration_id } = notification
    const stands = trace.integrations.get(integration_id)?.findLast(({ index }) => index < entry.index)
    const step = last.get(integration_id)
    // A change by a user or the operator resets the failure state.
    const isReset = step === undefined || (stands?.what !== "settled" && (stands?.index ?? 0) > step.entry.index)
    const since = isReset ? null : step.since_after
    const due = since === null ? 0 : warningsDue(entry.now - since, trace.settings.disableAfter)
    const before = warned.get(integration_id) ?? 0
    warned.set(integration_id, Math.max(before, due))
    const isWanted = stands?.integration.status === "enabled" && due > before
    if (isWanted && isTrueWarning(notification, since, trace.settings.disableAfter)) return []
    return [
      {
        what: `integration ${integration_id} got ${JSON.stringify(notification)}, which was not due`,
        entries: [entry.index]
      }
    ]
  })

const written = (trace: Trace): ReadonlyArray<Violation> => {
  const state = new WarningState()
  const steps = Map.groupBy(stepsOf(trace), ({ entry }) => entry.index)
  return trace.entries.flatMap((entry) =>
    entry.kind === "warned"
      ? ofWarning(trace, state, entry)
      : (steps.get(entry.index) ?? []).flatMap((step) => ofStep(trace, state, step))
  )
}

/** Checks that notifications are numbered in the order of writing and kept for the retention period. */
const kept = ({ entries, outcome }: Trace): ReadonlyArray<Violation> => {
  const all = entries.flatMap((entry) =>
    entry.kind === "settled" || entry.kind === "warned"
      ? entry.notifications.map((notification) => ({ index: entry.index, notification }))
      : []
  )
  const { notifications, scenario, wall } = outcome
  const { retention = null } = scenario.settings
  const ids = new Set(notifications.map(({ id }) => id))
  return all.flatMap(({ index, notification }, at) => {
    const isYoung = retention === null || notification.at >= wall + clockError(scenario) - retention
    if (notification.id > (all[at - 1]?.notification.id ?? 0) && (!isYoung || ids.has(notification.id))) return []
    return [{ what: `notification ${notification.id} is out of order, or not kept`, entries: [index] }]
  })
}

/** Longest time until a listener receives a notification, in milliseconds. */
const patience = 1_000

const heard = ({ deaths, entries }: Trace): ReadonlyArray<Violation> => {
  const violations: Array<Violation> = []
  /**
   * Position of each notification in the order in which its engine received them. The store's answers can overtake each
   * other.
   */
  const places = new Map(
    entriesOf(entries, "notifications_received").flatMap(({ index, notifications }) =>
      notifications.map(({ id }, at) => [id, index + at / 1_000])
    )
  )
  const last = new Map<number, number>()
  const heardBy = new Set<string>()
  const ids = new Set<number>()
  for (const { engine, index, notification } of entriesOf(entries, "notification")) {
    // The check `clocks` covers notifications about clocks.
    if (notification.kind === "clock_offset") continue
    const place = places.get(notification.id) ?? 0
    if (ids.has(notification.id) || (last.get(engine) ?? 0) > place)
      violations.push({ what: `notification ${notification.id} was received twice, or out of order`, entries: [index] })
    last.set(engine, place)
    ids.add(notification.id)
    heardBy.add(`${engine} ${notification.id}`)
  }
  const end = entries.at(-1)?.at ?? 0
  for (const { at, engine, index, notifications } of entriesOf(entries, "notifications_received")) {
    if ((deaths.get(engine) ?? end) < at + patience) continue
    for (const { id } of notifications) {
      if (!heardBy.has(`${engine} ${id}`))
        violations.push({ what: `no listener got notification ${id}`, entries: [index] })
    }
  }
  return violations
}

export const notifications: Check = {
  name: "notifications",
  rule: "Notifications are true and written when due. Each reaches listeners once, in order. «recovered» follows a warning or a probe.",
  violations: (trace) => [...written(trace), ...kept(trace), ...heard(trace)]
}
