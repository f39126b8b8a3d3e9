/**
 * Which requirement finds out which wrong receiver: the suite's proof of itself.
 */
import type { Report } from "../report/Report.ts"
import type { Fault } from "./Fault.ts"

/** What came of one wrong receiver. */
export interface Kill {
  readonly fault: Fault
  /** The requirements that it broke. */
  readonly brokenBy: ReadonlyArray<string>
  /** Whether its own requirement found it out, as strongly as it must. */
  readonly isKilled: boolean
  /** What its own requirement saw. */
  readonly observed: string
  /** Milliseconds. */
  readonly took: number
}

export const killOf = (fault: Fault, report: Report): Kill => {
  const own = report.requirements.find(({ id }) => id === fault.requirement)
  return {
    fault,
    brokenBy: report.requirements.filter(({ verdict }) => verdict === "FAIL" || verdict === "WARN").map(({ id }) => id),
    isKilled: own?.verdict === fault.found,
    observed: own === undefined ? report.endedBecause : `${own.verdict}: ${own.observed}`,
    took: report.durationMs
  }
}

/** What is wrong with the suite, going by the kills; empty when nothing is. */
export const weaknesses = (kills: ReadonlyArray<Kill>, requirements: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...kills.flatMap(({ brokenBy, fault, isKilled, observed }) => {
    if (isKilled) return []
    const { found, name, requirement } = fault
    const others = brokenBy.filter((id) => id !== requirement)
    if (others.length < brokenBy.length)
      return [`${name} was not found out by ${found} of ${requirement} (${observed})`]
    return others.length === 0
      ? [`${name} survived: ${requirement} did not fail (${observed})`]
      : [`${name} was found out by ${others.join(", ")} only, not by ${requirement} (${observed})`]
  }),
  ...requirements
    .filter((id) => !kills.some(({ fault, isKilled }) => isKilled && fault.requirement === id))
    .map((id) => `${id} finds out no wrong receiver that is named for it`)
]

const levelOf = ({ level, profile }: Fault): string => (profile === null ? String(level) : `${level} ${profile}`)

/** One line for a terminal. */
export const killLine = ({ fault, isKilled, took }: Kill): string =>
  `${isKilled ? "killed  " : "SURVIVED"}  ${fault.name.padEnd(27)}${fault.requirement.padEnd(11)}level ${levelOf(fault)}  ${(took / 1_000).toFixed(1)} s`

const cell = (text: string): string => text.replaceAll("|", "\\|")

/** The table as Markdown. */
export const toMarkdown = (
  kills: ReadonlyArray<Kill>,
  { narrow, suite }: { readonly narrow: boolean; readonly suite: string }
): string => {
  const killed = kills.filter(({ isKilled }) => isKilled)
  const rows = kills.map(({ brokenBy, fault, isKilled }) => {
    const others = brokenBy.filter((id) => id !== fault.requirement)
    const verdict = isKilled ? fault.found : "**none**"
    return `| ${fault.name} | ${cell(fault.does)} | ${levelOf(fault)} | ${fault.requirement} | ${verdict} |${narrow ? "" : ` ${others.join(", ")} |`}`
  })
  return `${[
    "# Kill table",
    "",
    "Each wrong receiver that the suite ships, what is wrong with it, and the verdict of the requirement that it is named",
    "for, at the level that it is meant for. A suite that lets one of them pass proves nothing.",
    "",
    `Written by \`doorhook conformance mutants${narrow ? " --narrow" : ""} --report docs/kill-table.md\` with ${suite}: ${killed.length} of ${kills.length} killed.`,
    "",
    `| receiver | what it does wrong | level | requirement | verdict |${narrow ? "" : " also broken |"}`,
    `|---|---|---|---|---|${narrow ? "" : "---|"}`,
    ...rows
  ].join("\n")}\n`
}
