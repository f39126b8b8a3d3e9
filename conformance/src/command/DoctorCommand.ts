/**
 * `conformance doctor`: what the suite can see and do, whether it works, and which level that makes possible.
 */
import { columns, CommandFailure, Crypto, UrlPolicy } from "@doorhook/core"
import { Console, Effect, Layer } from "effect"
import { Minting } from "../executor/Minting.ts"
import { measureGuard } from "../executor/Calibration.ts"
import { planOf } from "../executor/Plans.ts"
import { calibrateProbe } from "../executor/ProbeCalibration.ts"
import type { ProbeCalibration } from "../executor/ProbeCalibration.ts"
import * as Target from "../executor/Target.ts"
import { secretVariable } from "../report/Rerun.ts"
import { requirements } from "../requirements/index.ts"
import { factsOf } from "../record/Facts.ts"
import { observabilityOf, sightOf } from "../record/Seeing.ts"
import { withDefaults } from "../record/SuiteOptions.ts"
import type { Settled } from "../record/SuiteOptions.ts"
import { settingOf } from "./AloneSetting.ts"
import { makeOptions } from "./RunCommand.ts"
import type { TargetFlags } from "./RunFlags.ts"
import { unusable } from "./Unusable.ts"

const calibrationLines = (calibration: ProbeCalibration): ReadonlyArray<string> => {
  const { digest, double, lag, neverSent, one, two } = calibration
  return [
    `  an event never sent    ${neverSent.observed} effects (expected ${neverSent.expected})`,
    `  one event              ${one.observed} (expected ${one.expected}), ${Math.round(lag)} ms after its acknowledgement`,
    `  two events             ${two.observed} together (expected ${two.expected})`,
    double === null
      ? "  one more on purpose    not tried: --control-url would show that the probe counts past one"
      : `  one more on purpose    ${double.observed} (expected ${double.expected})`,
    digest ? "  digest                 given" : "  digest                 not given: what was stored can't be compared"
  ]
}

/** Without an acknowledged event there is nothing to try a probe with. */
const acknowledgesNothing = ({ secret, url }: Settled): CommandFailure =>
  unusable({
    message: `None of the events was acknowledged, so the probe could not be tried. \`doorhook conformance run --url ${UrlPolicy.shownUrl(url)} --only R-ACK-01\` shows what was answered.${secret === null ? ` A receiver that checks signatures needs its secret: --secret-file FILE, or ${secretVariable}.` : ""}`
  })

/** The highest level there is everything for. */
const levelOf = (options: Settled): 1 | 2 | 3 =>
  options.probe === null ? 1 : options.hooks.restart === null && options.hooks.kill === null ? 2 : 3

/** Looks at everything a run would use. Fails with exit code 4 when something of it can't be used. */
export const runDoctor = (flags: TargetFlags) =>
  Effect.scoped(
    Effect.gen(function* () {
      if (flags.report.length > 0) return yield* CommandFailure.usage("--report: doctor writes none; leave it out")
      const options = withDefaults(yield* makeOptions(flags), 0)
      const { guard, echo } = yield* measureGuard
      yield* Console.log(`Target       ${UrlPolicy.shownUrl(options.url)}`)
      yield* Effect.mapError(Target.reach(options.url, options.deadline), unusable)
      yield* Console.log("             accepts connections")
      yield* Console.log(
        `Clock        an echo takes ${Math.round(echo)} ms at most (99 %), so times are judged to ${guard} ms`
      )
      const terms = { deadline: options.deadline, rule: options.ack, guard, dedupKey: options.dedupKey }
      const setting = settingOf(options, terms)
      const services = Minting.layer.pipe(Layer.provideMerge(Crypto.layerWebCrypto))
      const calibration =
        options.probe === null
          ? null
          : yield* calibrateProbe(options.probe, setting, options.settle).pipe(
              Effect.mapError(unusable),
              Effect.provide(services)
            )
      if (options.probe !== null) {
        yield* Console.log(`Probe        ${options.probe.kind}: ${options.probe.name}`)
        if (calibration === null) return yield* acknowledgesNothing(options)
        yield* Console.log(calibrationLines(calibration).join("\n"))
      }
      const level = levelOf(options)
      const able = factsOf({ ...options, level })
      const digest = calibration?.digest ?? false
      yield* Console.log(
        [
          "",
          ...columns(
            observabilityOf(able, digest).map(({ available, how, what }) => [available ? "yes" : "no", what, how])
          )
        ].join("\n")
      )
      const sight = sightOf(able, digest)
      const unseen = requirements
        .filter(({ level: least, profile }) => profile === null && least <= level)
        .filter((requirement) => {
          const { missing, unproven } = planOf(requirement, 0, options.dedupKey, level, sight)
          return missing !== null || unproven !== null
        })
      const left = unseen.length === 0 ? "" : `\nNot observable then: ${unseen.map(({ id }) => id).join(", ")}`
      yield* Console.log(`\nLevel ${level} can be tested: --level ${level}${left}`)
    })
  )
