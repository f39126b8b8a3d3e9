/**
 * A broken rule in words: which, where, what led to it, and how to see it again.
 */
import type { Failure } from "./checks/All.ts"
import type { Entry } from "./History.ts"
import type { Outcome } from "./Simulation.ts"

/** The most characters of one entry that are shown. */
const maxWidth = 400

const line = ({ at, index, wall, ...fact }: Entry): string =>
  `  #${index} ${at} ms (wall ${wall}) ${JSON.stringify(fact)}`.slice(0, maxWidth)

/** The command that runs a seed again. */
export const replayOf = (seed: number): string => `npm run simulate:seeds -- --seed ${seed}`

/** The first place where each rule was broken, with the entries that show it. */
export const describeFailures = (
  seed: number,
  { entries }: Outcome,
  failures: ReadonlyArray<Failure>,
  options = ""
): string =>
  failures
    .flatMap(({ check, violations }) => {
      const shown = violations.reduce((best, next) => (next.entries.length < best.entries.length ? next : best))
      return [
        `seed ${seed} breaks ${check.name} (${violations.length} times): ${check.rule}`,
        `  ${shown.what}`,
        ...[...new Set(shown.entries)]
          .toSorted((a, b) => a - b)
          .flatMap((index) => {
            const entry = entries[index]
            return entry === undefined ? [] : [line(entry)]
          })
      ]
    })
    .concat(`again: ${replayOf(seed)}${options}`)
    .join("\n")
