/**
 * Which requirement finds out which faulty receiver: the suite's proof of itself.
 */
import type { Report } from "../report/Report.ts"
import type { Fault } from "./Fault.ts"

/** What came of one faulty receiver. */
export interface Kill {
  readonly fault: Fault
  /** The requirements that it broke. */
  readonly brokenBy: ReadonlyArray<string>
  /** Whether its own requirement is among them. */
  readonly isKilled: boolean
  /** What its own requirement saw. */
  readonly observed: string
  /** Milliseconds. */
  readonly took: number
}

export const killOf = (fault: Fault, report: Report): Kill => {
  const broken = report.requirements.filter(({ verdict }) => verdict === "FAIL" || verdict === "WARN")
  const own = report.requirements.find(({ id }) => id === fault.requirement)
  return {
    fault,
    brokenBy: broken.map(({ id }) => id),
    isKilled: broken.some(({ id }) => id === fault.requirement),
    observed: own === undefined ? report.endedBecause : `${own.verdict}: ${own.observed}`,
    took: report.durationMs
  }
}

/** What is wrong with the suite, going by the kills; empty when nothing is. */
export const weaknesses = (kills: ReadonlyArray<Kill>, requirements: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...kills.flatMap(({ brokenBy, fault, isKilled, observed }) => {
    if (isKilled) return []
    return brokenBy.length === 0
      ? [`${fault.name} survived: ${fault.requirement} did not fail (${observed})`]
      : [`${fault.name} was found out by ${brokenBy.join(", ")} only, not by ${fault.requirement} (${observed})`]
  }),
  ...requirements
    .filter((id) => !kills.some(({ fault, isKilled }) => isKilled && fault.requirement === id))
    .map((id) => `${id} finds out no faulty receiver that is named for it`)
]

/** One line for a terminal. */
export const killLine = ({ fault, isKilled, took }: Kill): string =>
  `${isKilled ? "killed  " : "SURVIVED"}  ${fault.name.padEnd(24)}${fault.requirement.padEnd(11)}level ${fault.level}${fault.profile === null ? "" : ` ${fault.profile}`}  ${(took / 1_000).toFixed(1)} s`

const cell = (text: string): string => text.replaceAll("|", "\\|")

/** The table as Markdown. */
export const toMarkdown = (
  kills: ReadonlyArray<Kill>,
  { narrow, suite }: { narrow: boolean; suite: string }
): string => {
  const killed = kills.filter(({ isKilled }) => isKilled)
  const rows = kills.map(({ brokenBy, fault, isKilled }) => {
    const others = brokenBy.filter((id) => id !== fault.requirement)
    const level = `${fault.level}${fault.profile === null ? "" : ` ${fault.profile}`}`
    return `| ${fault.name} | ${cell(fault.does)} | ${level} | ${fault.requirement} | ${isKilled ? "yes" : "**no**"} |${narrow ? "" : ` ${others.join(", ")} |`}`
  })
  return `${[
    "# Kill table",
    "",
    "Each faulty receiver that the suite ships, what is wrong with it, and whether the requirement it is named for found",
    "that out at the level it is meant for. A suite that lets one of them pass proves nothing.",
    "",
    `Written by \`doorhook conformance mutants${narrow ? " --narrow" : ""} --report docs/kill-table.md\` with ${suite}: ${killed.length} of ${kills.length} killed.`,
    "",
    `| receiver | what it does wrong | level | requirement | killed |${narrow ? "" : " also broken |"}`,
    `|---|---|---|---|---|${narrow ? "" : "---|"}`,
    ...rows
  ].join("\n")}\n`
}
