/**
 * `conformance mutants`: runs the suite against receivers with known faults.
 */
import { columns, CommandFailure } from "@doorhook/core"
import { Console, Effect } from "effect"
import { isBuiltin } from "node:module"
import { program } from "../Program.ts"
import { faults, killLine, killOf, tryFault, weaknesses } from "../mutants/Faults.ts"
import type { Fault, TrialOptions } from "../mutants/Faults.ts"
import { exitCodes } from "../report/Explanation.ts"
import { entriesOf, matches, requirements } from "../requirements/Catalogue.ts"
import { stopOnHangup, unusable } from "./Prepare.ts"
import { makeProgress } from "./RunCommand.ts"

export interface MutantsFlags extends TrialOptions {
  readonly only: ReadonlyArray<string>
  readonly jobs: number
}

const isMeant =
  ({ name, requirement }: Pick<Fault, "name" | "requirement">) =>
  (pattern: string): boolean =>
    matches(name, pattern) || matches(requirement, pattern)

/**
 * Runs the suite against faulty receivers. Fails if a receiver does not fail the requirement that it breaks, or if a
 * requirement detects no faulty receiver.
 */
export const runMutants = Effect.fnUntraced(function* ({ jobs, maxTime, narrow, only, seed }: MutantsFlags) {
  const patterns = entriesOf(only)
  const wrong = patterns.find((pattern) => !faults.some((fault) => isMeant(fault)(pattern)))
  if (wrong !== undefined) {
    return yield* CommandFailure.usage(
      `--only ${wrong}: no faulty receiver has such a name or requirement; \`${program.called} mutants --list\` shows them`
    )
  }
  const chosen = patterns.length === 0 ? faults : faults.filter((fault) => patterns.some(isMeant(fault)))
  if (!isBuiltin("node:sqlite")) {
    return yield* new CommandFailure({
      message: `The bundled receivers need node:sqlite, which Node.js has from 22.13 on; this is ${process.versions.node}`,
      exitCode: exitCodes.unusable
    })
  }
  if (jobs < 1) return yield* CommandFailure.usage("--jobs must be at least 1")
  const progress = yield* makeProgress
  const kills = yield* Effect.forEach(
    chosen,
    Effect.fnUntraced(function* (fault) {
      yield* progress.show(fault.name)
      const trial = Effect.andThen(stopOnHangup, tryFault(fault, { narrow, seed, maxTime }))
      const kill = killOf(fault, yield* Effect.scoped(trial))
      yield* progress.clear
      yield* Console.log(killLine(kill))
      return kill
    }),
    { concurrency: jobs }
  ).pipe(
    Effect.catchTags({
      HookFailed: (error) => Effect.fail(unusable(error)),
      PlatformError: (error) => Effect.fail(unusable(error))
    })
  )
  const weak = weaknesses(kills, only.length === 0 ? requirements.map(({ id }) => id) : [])
  yield* Console.log(
    `\n${kills.filter(({ isKilled }) => isKilled).length} of ${kills.length} faulty receivers detected.`
  )
  if (weak.length > 0) {
    yield* Console.log(weak.map((one) => `  ${one}`).join("\n"))
    return yield* new CommandFailure({
      message: `The suite is too weak in ${weak.length} ${weak.length === 1 ? "place" : "places"}, listed above.`,
      exitCode: exitCodes.failed
    })
  }
})

/** Prints one line for each faulty receiver. */
export const listMutants = Console.log(
  columns(faults.map(({ does, name, requirement }) => [name, requirement, does])).join("\n")
)
