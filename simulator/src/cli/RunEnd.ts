/**
 * Parts that all kinds of runs need at their end: the facts for the report, objectives that end the run early, and the
 * reason for a failure.
 */
import { CommandFailure, DurationText } from "@doorhook/core"
import { Effect, Record } from "effect"
import type { Measurements } from "../results/Measurements.ts"
import type { RunFacts, RunReport } from "../results/RunReport.ts"
import { isUnaccounted, isUnreached } from "../results/RunReport.ts"
import { figuresOf } from "../results/Figures.ts"
import { outcomesText } from "../results/RunText.ts"
import { isMissedAlready } from "../results/Slo.ts"
import { counted } from "../results/Format.ts"
import type { RunSettings } from "./ReadRun.ts"
import type { RunTexts } from "./RunFlags.ts"
import { commandLine } from "./RunFlags.ts"

export const factsOf = (
  { ackTimeout, integrations, load, maxInFlight, retry, speed, target: { kind }, warmUp }: RunSettings,
  texts: RunTexts,
  own: Pick<RunFacts, "target" | "seed" | "began_at">
): RunFacts => ({
  kind,
  scenario: load.name,
  description: load.description,
  start: load.start,
  time_zone: load.time_zone,
  duration: load.duration,
  buildings: load.premises.length,
  integrations: integrations.length,
  speed,
  // Null for a service, which uses its own settings.
  ack_timeout: kind === "service" ? null : ackTimeout,
  retry: kind === "service" ? null : Record.map(retry, ({ delays }) => delays),
  warm_up: warmUp,
  max_in_flight: kind === "virtual" ? null : maxInFlight,
  generator: texts.generator._tag === "Some" ? texts.generator.value : null,
  command: commandLine(texts, `${own.seed}`),
  ...own
})

/** Interval at which objectives are checked during a run. */
const lookEvery = "250 millis"

/** With `--stop-on-miss`, waits until an objective counts as missed, and returns that objective. Else waits forever. */
export const firstMiss = (
  settings: Pick<RunSettings, "load" | "slos" | "stopOnMiss" | "target">,
  measurements: Measurements,
  broken: () => number
): Effect.Effect<string> =>
  settings.stopOnMiss
    ? Effect.suspend(() => {
        const { load, slos, target } = settings
        const standing = {
          ...figuresOf(measurements, target.kind, { lost: null, broken: broken() }),
          measurements,
          mostEvents: load.mostEvents
        }
        const missed = slos.find((slo) => isMissedAlready(standing, slo))
        return missed === undefined
          ? Effect.delay(firstMiss(settings, measurements, broken), lookEvery)
          : Effect.succeed(missed.text)
      })
    : Effect.never

/** Suggests what to check when a receiver acknowledged nothing. */
const adviceFor = ({ statuses, totals }: RunReport, isSigned: boolean): string => {
  if ((statuses["401"] ?? 0) + (statuses["403"] ?? 0) < totals.requests)
    return "is the receiver running, and is this its URL?"
  return isSigned
    ? "it might check signatures: is the given secret right?"
    : "it might check signatures: give its secret with --secret"
}

export interface EndOptions {
  readonly lastFailure?: string | null
  /** Why the deliveries of a service are unknown. */
  readonly silence?: string | null
  /** Whether a secret was given for the receiver. */
  readonly isSigned?: boolean
  /** Whether the run is one of several runs with different seeds. */
  readonly isOneOfMany?: boolean
}

/** Returns why a run failed, in one line; null if it didn't fail. */
export const failureOf = (
  report: RunReport,
  { isOneOfMany = false, isSigned = false, lastFailure = null, silence = null }: EndOptions = {}
): CommandFailure | null => {
  const { ack_timeout, command, kind, outcomes, slos, statuses, totals, verdict } = report
  const fail = (message: string) => new CommandFailure({ message, exitCode: 1 })
  if (totals.failed > 0)
    return fail(
      `${kind === "service" ? "The service" : "The engine in this process"} did not accept ${counted(totals.failed, "event")}; the last answer was: ${lastFailure ?? "none"}`
    )
  const [lost, broken] = [totals.lost ?? 0, totals.broken ?? 0]
  if (broken > 0 && kind === "virtual")
    return fail(`Seed ${report.seed} breaks a delivery rule in ${counted(broken, "place")}. To repeat: ${command}`)
  if (lost > 0)
    return fail(
      `${counted(lost, "delivery", "deliveries")} of accepted events ${lost === 1 ? "is" : "are"} not accounted for`
    )
  if (broken > 0) return fail(`A delivery rule was broken in ${counted(broken, "place")}; the summary says which`)
  if (isUnreached(report))
    return fail(
      `${report.target.replace(/^against /, "")} acknowledged none of ${totals.requests} requests: ${outcomesText(outcomes, statuses)}. Expected 200${ack_timeout === null ? "" : ` within ${DurationText.format(ack_timeout)}`}; ${adviceFor(report, isSigned)}`
    )
  if (isUnaccounted(report))
    return fail(
      `The service did not report the deliveries of ${counted(totals.accepted, "accepted event")}: ${silence ?? "they were not read"}`
    )
  if (verdict === "pass") return null
  const missed = slos.filter(({ met }) => !met).map(({ measured, slo }) => `${slo} (${measured})`)
  if (missed.length === 0 && report.stopped_by === null) return fail("The run failed before its end")
  const which = missed.length > 0 ? missed.join(", ") : report.stopped_by
  return fail(
    `Objectives missed${isOneOfMany ? ` by seed ${report.seed}` : ""}: ${which}${isOneOfMany ? `. To repeat: ${command}` : ""}`
  )
}
