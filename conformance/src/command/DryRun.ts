/**
 * `conformance run --dry-run`: what a run would send, case by case, and nothing is sent or started.
 */
import { CommandFailure } from "@doorhook/core"
import { Console, Effect, Option } from "effect"
import { draw } from "../history/Samples.ts"
import { inWords } from "../history/Words.ts"
import { exitCodes } from "../report/ExitCode.ts"
import { shownUrl } from "../record/Shown.ts"
import { directedCases } from "../requirements/Requirement.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { misnamed, select, whyNothing } from "../requirements/Selection.ts"
import type { RunFlags } from "./RunCommand.ts"
import { checkFlags } from "./RunFlags.ts"

const planOf = (requirement: Requirement, { dedupKey, probe, seed }: RunFlags): string => {
  const directed = directedCases(requirement, dedupKey, Option.isSome(probe))
  const told = Option.match(seed, {
    onNone: () =>
      requirement.sampled.runs === 0 ? [] : [`  and up to ${requirement.sampled.runs} histories drawn from a seed`],
    onSome: (value) => draw(requirement.sampled, value).flatMap(linesOf)
  })
  return [`${requirement.id}  ${requirement.statement}`, ...directed.flatMap(linesOf), ...told].join("\n")
}

const linesOf = ({ history, title }: Requirement["directed"][number]): ReadonlyArray<string> => [
  `  ${title}`,
  ...inWords(history.ops).map((words) => `    ${words}`)
]

/** Prints it. Flags are checked as a run checks them. */
export const dryRun = Effect.fnUntraced(function* (flags: RunFlags) {
  const wrong = misnamed(flags)
  if (wrong !== null) return yield* CommandFailure.usage(wrong)
  const { level, profiles, url } = yield* checkFlags(flags)
  const asked = { level, only: flags.only, skip: flags.skip, profiles }
  const { selected } = select(asked)
  if (selected.length === 0) {
    const message = whyNothing(asked)
    return yield* new CommandFailure({ message, exitCode: exitCodes.inconclusive })
  }
  yield* Console.log(
    [
      `A run of level ${level} would send this to ${shownUrl(url)}; a case that several requirements ask for is sent once. Nothing was sent.`,
      ...selected.map((requirement) => planOf(requirement, flags))
    ].join("\n\n")
  )
})
