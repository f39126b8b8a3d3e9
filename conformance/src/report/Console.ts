/**
 * The report for a terminal: one line for each requirement, then an explanation of each that did not pass.
 */
import { columns } from "@doorhook/core"
import { program } from "../Program.ts"
import type { Block, StepBlock } from "./Blocks.ts"
import { neverBegan } from "./Conclusion.ts"
import { explanationOf } from "./Explanation.ts"
import type { Explained } from "./Explanation.ts"
import type { Report } from "./Report.ts"
import { deadlineInWords } from "./Report.ts"

const labelled = (label: string, text: string): string => `  ${label.padEnd(11)}${text}`

const stepLines = ({ attempts, did, more, number }: StepBlock): ReadonlyArray<string> => [
  `    ${number}. ${attempts.length === 0 ? "then" : "sent"}  ${did}`,
  ...attempts.map(({ decides, got }) => `       got   ${got}${decides ? "   <- here" : ""}`),
  ...(more === "" ? [] : [`       ${more}`])
]

const under = (label: string, lines: ReadonlyArray<string>): ReadonlyArray<string> => [
  `  ${label}`,
  ...lines.map((one) => `    ${one}`)
]

const blockLines = (block: Block): ReadonlyArray<string> => {
  switch (block.kind) {
    case "line":
      return [labelled(block.label, block.text)]
    case "code":
      return block.text.includes("\n")
        ? under(block.label, block.text.split("\n"))
        : [labelled(block.label, block.text)]
    case "list":
      return under(block.label, block.lines)
    case "steps":
      return [`  ${block.label}`, ...block.steps.flatMap(stepLines)]
  }
}

/** A follower in short: what was observed, and how to repeat it. */
const followerLines = ({ blocks, followers, headline, ids, verdict }: Explained): ReadonlyArray<string> => [
  `    ${verdict}  ${ids.join(", ")}: ${headline}`,
  ...blocks
    .filter((block) => (block.kind === "line" && block.important) || block.label === "Again")
    .flatMap(blockLines)
    .map((one) => `    ${one}`),
  ...followers.flatMap(followerLines)
]

/** The explanation of a requirement. */
export const linesOf = ({ blocks, followers, headline, ids, verdict }: Explained): ReadonlyArray<string> => [
  `${verdict}  ${ids.join(", ")}`,
  labelled("The rule", headline),
  ...blocks.flatMap(blockLines),
  ...(followers.length === 0 ? [] : ["  Probably from this", ...followers.flatMap(followerLines)])
]

/** The first lines of a run. */
export const opening = (
  report: Pick<Report, "ack" | "deadlineMs" | "guardMs" | "level" | "seed" | "suite" | "target">
): string =>
  [
    `${report.suite}, level ${report.level}, ${report.target}, seed ${report.seed}`,
    `An answer counts with ${report.ack === "200" ? "status 200" : "a 2xx status"} within ${report.deadlineMs} ms (measured to ${report.guardMs} ms).`,
    ""
  ].join("\n")

/** The report as text. If nothing could be sent, one line says why. */
export const render = (report: Report): string => {
  const { claim, counts, ending, explained, headline, notes, summary } = explanationOf(report)
  if (neverBegan(report)) return ending
  if (report.requirements.length === 0) {
    return `${report.endedBecause} \`${program.called} list\` shows the requirements.`
  }
  const rows = summary.flatMap(({ lines }) =>
    lines.map(({ id, observed, statement, verdict }) => [
      verdict,
      id,
      observed === "" ? statement : `${statement} (${observed})`
    ])
  )
  return [
    ...columns(rows),
    ...explained.flatMap((one) => ["", ...linesOf(one)]),
    "",
    ...notes.map((note) => `Note: ${note}`),
    ...(notes.length === 0 ? [] : [""]),
    ...(ending === "" ? [] : [ending]),
    // The command's last line says why a run did not pass.
    ...(report.verdict === "pass" ? [`${headline}: ${claim}.`] : []),
    `${counts}; ${report.attempts} attempts, deadline ${deadlineInWords(report)}.`
  ].join("\n")
}
