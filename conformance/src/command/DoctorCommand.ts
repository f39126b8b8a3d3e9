/**
 * `conformance doctor`: reports what the suite can observe and control, whether that works, and the highest level it
 * allows.
 */
import { columns, CommandFailure, UrlPolicy } from "@doorhook/core"
import { Console, Effect } from "effect"
import { program } from "../Program.ts"
import type { ProbeCalibration } from "../record/Evidence.ts"
import { defaults, secretVariable } from "../record/Options.ts"
import type { Means, Options } from "../record/Options.ts"
import { plansOf, sightOf } from "../record/Outcome.ts"
import { observabilityOf } from "../report/MakeReport.ts"
import type { Level } from "../requirements/Requirement.ts"
import { Session } from "../run/Session.ts"
import { givenBy, services } from "../run/Setup.ts"
import * as Target from "../run/Target.ts"
import type { TargetFlags } from "./Flags.ts"
import { prepare, unusable } from "./Prepare.ts"

const calibrationLines = (calibration: ProbeCalibration): ReadonlyArray<string> => {
  const { digest, double, foldsCase, lag, neverSent, one, two } = calibration
  return [
    `  an event never sent    ${neverSent.observed} effects (expected ${neverSent.expected})`,
    `  one event              ${one.observed} (expected ${one.expected}), ${Math.round(lag)} ms after its acknowledgement`,
    `  two events             ${two.observed} together (expected ${two.expected})`,
    double === null
      ? "  a doubled effect       not tried: --control-url would show whether the probe counts past one"
      : `  a doubled effect       ${double.observed} (expected ${double.expected})`,
    digest ? "  digest                 given" : "  digest                 not given: what was stored can't be compared",
    ...(foldsCase ? ["  ids in another case    count as the same: receivers that confuse them can't be detected"] : [])
  ]
}

/** Makes the failure for a probe that could not be tried because no event was acknowledged. */
const acknowledgesNothing = ({ secret, urls: [url] }: Means): CommandFailure =>
  unusable({
    message: `No event was acknowledged, so the probe could not be tried. \`${program.called} run --url ${UrlPolicy.shownUrl(url)} --only R-ACK-01\` shows the answers.${secret === null ? ` If the receiver checks signatures, give its secret: --secret SECRET, or ${secretVariable}.` : ""}`
  })

/** Returns the highest level that a run with these means can test. */
const levelOf = ({ hooks, probe }: Means): Level =>
  probe === null ? 1 : hooks.restart === null && hooks.kill === null ? 2 : 3

/** Checks everything that a run would use. Fails with exit code 4 if any of it can't be used. */
export const runDoctor = (flags: TargetFlags) =>
  Effect.scoped(
    Effect.gen(function* () {
      if (flags.report.length > 0)
        return yield* CommandFailure.usage("--report: doctor writes no reports; leave it out")
      const { given, means } = yield* prepare(flags)
      const { probe, urls } = means
      const level = levelOf(means)
      const options: Options = { ...defaults, seed: 0, ...given, level, profile: [] }
      yield* Console.log(`Target       ${UrlPolicy.shownUrl(urls[0])}`)
      yield* Effect.mapError(Target.reach(urls[0], options.deadline), unusable)
      yield* Console.log("             accepts connections")
      const session = yield* Session.make(options, means)
      yield* session.prepare.pipe(Effect.mapError(unusable), Effect.provide(services))
      const { calibration, guard } = session
      yield* Console.log(
        `Clock        99 % of requests to an echo server took up to ${Math.round(guard.echo)} ms, so times are judged with a tolerance of ${guard.guard} ms`
      )
      if (probe !== null) {
        yield* Console.log(`Probe        ${probe.kind}: ${probe.name}`)
        if (calibration === null) return yield* acknowledgesNothing(means)
        yield* Console.log(calibrationLines(calibration).join("\n"))
      }
      const seen = { given: givenBy(options, means), calibration }
      const matrix = observabilityOf({ ...seen, options, hooks: means.hooks.names, repeatable: true })
      yield* Console.log(
        ["", ...columns(matrix.map(({ available, how, what }) => [available ? "yes" : "no", what, how]))].join("\n")
      )
      const unseen = plansOf(options, sightOf(seen)).filter(
        ({ missing, requirement, unproven }) => requirement.profile === null && (missing !== null || unproven !== null)
      )
      const left =
        unseen.length === 0 ? "" : `\nNot observable: ${unseen.map(({ requirement }) => requirement.id).join(", ")}`
      yield* Console.log(`\nLevel ${level} can be tested: --level ${level}${left}`)
    })
  )
