/**
 * `conformance run --dry-run`: what a run would send, case by case, and nothing is sent or started.
 */
import { CommandFailure, UrlPolicy } from "@doorhook/core"
import { Console, Effect, Option } from "effect"
import { planOf } from "../executor/Plans.ts"
import { inWords } from "../history/Words.ts"
import { exitCodes } from "../report/ExitCode.ts"
import { howToGive, needs } from "../requirements/Profile.ts"
import type { Need } from "../requirements/Profile.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { select, whyNothing } from "../requirements/Selection.ts"
import { checkFiles, checkTarget } from "./RunCommand.ts"
import type { RunFlags } from "./RunCommand.ts"
import type { Checked } from "./RunFlags.ts"

/** What a run with these flags has to see and to act with; in words where that depends on the receiver, and is asked in a run. */
const sightOf = (flags: RunFlags, { controlUrl, level, otherUrls, peakRate, secret }: Checked) => {
  const offered = controlUrl === null ? false : "if the control URL offers it"
  const answersMore = level >= 2 && /^https?:/.test(Option.getOrElse(flags.probe, () => ""))
  const spawns = Option.isSome(flags.spawn)
  const sight: Readonly<Record<Need, boolean | string>> = {
    effects: level >= 2,
    digest: answersMore ? "if the probe gives a digest" : false,
    stop: level >= 3,
    kill: level >= 3 && (spawns || Option.isSome(flags.killCmd) || offered),
    pause: spawns || Option.isSome(flags.pauseCmd) || offered,
    advance: Option.isSome(flags.advanceCmd) || offered,
    endpoints: otherUrls.length > 0,
    secret: secret !== null,
    rate: peakRate !== null
  }
  return sight
}

const linesOfPlan = (requirement: Requirement, flags: RunFlags, checked: Checked): string => {
  const sight = sightOf(flags, checked)
  const seen = new Set(needs.filter((need) => sight[need] !== false))
  const seed = Option.getOrElse(flags.seed, () => 0)
  const { directed, missing, sampled } = planOf(requirement, seed, flags.dedupKey, checked.level, seen)
  const drawn =
    Option.isSome(flags.seed) || sampled.length === 0
      ? sampled.flatMap(linesOf)
      : [`  and up to ${requirement.sampled.runs} histories drawn from a seed`]
  const conditions = requirement.needs.map((need) => sight[need]).filter((condition) => typeof condition === "string")
  return [
    `${requirement.id}  ${requirement.statement}`,
    ...(missing === null ? [] : [`  nothing: it can't be observed; ${howToGive[missing]}`]),
    ...conditions.map((condition) => `  ${condition}:`),
    ...directed.flatMap(linesOf),
    ...drawn
  ].join("\n")
}

const linesOf = ({ history, title }: Requirement["directed"][number]): ReadonlyArray<string> => [
  `  ${title}`,
  ...inWords(history.ops).map((words) => `    ${words}`)
]

/** Prints it. Flags are checked as a run checks them, as far as that is possible with nothing started. */
export const dryRun = Effect.fnUntraced(function* (flags: RunFlags) {
  yield* checkFiles(flags)
  const checked = yield* checkTarget(flags)
  const { level, profiles, url } = checked
  const asked = { level, only: flags.only, skip: flags.skip, profiles }
  const { selected } = select(asked)
  if (selected.length === 0) {
    const message = whyNothing(asked)
    return yield* new CommandFailure({ message, exitCode: exitCodes.inconclusive })
  }
  yield* Console.log(
    [
      `A run of level ${level} would send this to ${UrlPolicy.shownUrl(url)}; a case that several requirements ask for is sent once. Nothing was sent.`,
      ...selected.map((requirement) => linesOfPlan(requirement, flags, checked))
    ].join("\n\n")
  )
})
