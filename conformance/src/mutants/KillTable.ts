/**
 * Which requirement finds out which wrong receiver: the suite's proof of itself.
 */
import type { Report } from "../report/Report.ts"
import type { Fault } from "./Fault.ts"

/** What came of one wrong receiver. */
export interface Kill {
  readonly fault: Fault
  /** Whether its own requirement found it out, as strongly as it must. */
  readonly isKilled: boolean
  /** Other requirements that it broke. */
  readonly others: ReadonlyArray<string>
  /** What its own requirement saw. */
  readonly observed: string
  /** Milliseconds. */
  readonly took: number
}

export const killOf = (fault: Fault, { durationMs, endedBecause, requirements }: Report): Kill => {
  const own = requirements.find(({ id }) => id === fault.requirement)
  const broken = requirements.filter(({ verdict }) => verdict === "FAIL" || verdict === "WARN")
  return {
    fault,
    isKilled: own?.verdict === fault.found,
    others: broken.filter((one) => one !== own).map(({ id }) => id),
    observed: own === undefined ? endedBecause : `${own.verdict}: ${own.observed}`,
    took: durationMs
  }
}

/** What is wrong with the suite, going by the kills; empty when nothing is. */
export const weaknesses = (kills: ReadonlyArray<Kill>, requirements: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...kills.flatMap(({ fault: { found, name, requirement }, isKilled, observed, others }) => {
    const instead = others.length === 0 ? "" : `, but by ${others.join(", ")}`
    return isKilled ? [] : [`${name} was not found out by ${found} of ${requirement}${instead} (${observed})`]
  }),
  ...requirements
    .filter((id) => !kills.some(({ fault, isKilled }) => isKilled && fault.requirement === id))
    .map((id) => `${id} finds out no wrong receiver that is named for it`)
]

/** One line for a terminal. */
export const killLine = ({
  fault: { found, level, name, profile, requirement },
  isKilled,
  others,
  took
}: Kill): string => {
  const how = [`level ${level}`, ...(profile === null ? [] : [profile])].join(" ")
  const verdict = isKilled ? found.padEnd(8) : "SURVIVED"
  const also = others.length === 0 ? "" : `  also ${others.join(" ")}`
  return `${verdict}  ${name.padEnd(27)}${requirement.padEnd(11)}${how.padEnd(15)}${(took / 1_000).toFixed(1).padStart(6)} s${also}`
}
