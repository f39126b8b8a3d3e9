/**
 * `conformance run --dry-run`: what a run would send, case by case, and nothing is sent or started.
 */
import { CommandFailure, UrlPolicy } from "@doorhook/core"
import { Console, Effect } from "effect"
import type { Case } from "../history/History.ts"
import { inWords } from "../history/Operations.ts"
import { plansOf } from "../record/Plan.ts"
import type { Plan } from "../record/Plan.ts"
import { exitCodes } from "../report/Conclusion.ts"
import { needs } from "../requirements/Requirement.ts"
import type { Need } from "../requirements/Requirement.ts"
import { select, whyNothing } from "../requirements/Catalogue.ts"
import type { Checked, RunFlags } from "./Flags.ts"
import { checkTarget } from "./Prepare.ts"
import { checkFiles } from "./RunCommand.ts"

/** What a run has to see and to act with; in words where that depends on the receiver, which a run asks. */
const sightOf = ({ controlUrl, options, secret, urls }: Checked) => {
  const { advanceCmd, killCmd, level, pauseCmd, peakRate, probe, spawn } = options
  const offered = controlUrl === null ? false : "if the control URL offers it"
  const sight: Readonly<Record<Need, boolean | string>> = {
    effects: level >= 2,
    digest: level >= 2 && /^https?:/.test(probe ?? "") ? "if the probe gives a digest" : false,
    stop: level >= 3,
    kill: level >= 3 && (spawn !== null || killCmd !== null || offered),
    pause: spawn !== null || pauseCmd !== null || offered,
    advance: advanceCmd !== null || offered,
    endpoints: urls.length > 1,
    secret: secret !== null,
    rate: peakRate !== null
  }
  return sight
}

const linesOf = ({ history, title }: Case): ReadonlyArray<string> => [
  `  ${title}`,
  ...inWords(history.ops).map((words) => `    ${words}`)
]

const linesOfPlan = (plan: Plan, sight: ReturnType<typeof sightOf>, isSeeded: boolean): string => {
  const { further, given, missing, requirement, sampled, unsent } = plan
  const conditions = requirement.needs.map((need) => sight[need]).filter((condition) => typeof condition === "string")
  return [
    `${requirement.id}  ${requirement.statement}`,
    ...(missing === null ? [] : [`  nothing: it can't be observed; ${needs[missing].toGive}`]),
    ...(unsent === null ? [] : [`  nothing: none of it is sent to a receiver bound to ${unsent.join(" and ")}`]),
    ...conditions.map((condition) => `  ${condition}:`),
    ...given.flatMap(linesOf),
    ...(further.length === 0 ? [] : ["  and, as far as there is time:", ...further.flatMap(linesOf)]),
    ...(isSeeded
      ? sampled.flatMap(linesOf)
      : sampled.length === 0
        ? []
        : [`  and up to ${requirement.sampled.runs} histories drawn from a seed`])
  ].join("\n")
}

/** Prints it. Flags are checked as a run checks them, as far as that is possible with nothing started. */
export const dryRun = Effect.fnUntraced(function* (flags: RunFlags) {
  yield* checkFiles(flags)
  const checked = yield* checkTarget(flags)
  const { only, seed, skip } = flags
  const options = { ...checked.options, only, skip, seed: seed ?? 0 }
  if (select(options).selected.length === 0) {
    return yield* new CommandFailure({ message: whyNothing(options), exitCode: exitCodes.inconclusive })
  }
  const sight = sightOf(checked)
  const isNeed = (name: string): name is Need => Object.hasOwn(needs, name)
  const seen = new Set(
    Object.keys(needs)
      .filter(isNeed)
      .filter((need) => sight[need] !== false)
  )
  yield* Console.log(
    [
      `A run of level ${options.level} would send this to ${UrlPolicy.shownUrl(checked.urls[0])}; a case that several requirements share is sent once. Nothing was sent.`,
      ...plansOf(options, seen).map((plan) => linesOfPlan(plan, sight, seed !== null))
    ].join("\n\n")
  )
})
