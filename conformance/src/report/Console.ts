/**
 * The report as text for a terminal: what passed in a line each; of what did not, its explanation.
 */
import { columns } from "@doorhook/core"
import { program } from "../Program.ts"
import { neverBegan } from "./Ending.ts"
import { explanationOf } from "./Explanation.ts"
import type { Block, Explained, StepBlock } from "./Explanation.ts"
import type { Report } from "./Report.ts"
import { deadlineInWords } from "./Report.ts"

const labelled = (label: string, text: string): string => `  ${label.padEnd(11)}${text}`

const stepLines = ({ attempts, did, more, number }: StepBlock): ReadonlyArray<string> => [
  `    ${number}. ${attempts.length === 0 ? "then" : "sent"}  ${did}`,
  ...attempts.map(({ decides, got }) => `       got   ${got}${decides ? "   <- here" : ""}`),
  ...(more === "" ? [] : [`       ${more}`])
]

const blockLines = (block: Block): ReadonlyArray<string> => {
  switch (block.kind) {
    case "line":
    case "code":
      return [labelled(block.label, block.text)]
    case "steps":
      return [`  ${block.label}`, ...block.steps.flatMap(stepLines)]
    case "effects":
      return [`  ${block.label}`, ...block.lines.map((one) => `    ${one}`)]
    case "difference":
      return [
        `  ${block.label}`,
        ...block.members.flatMap(({ path, sent, stored }) => [
          `    ${path}`,
          `      sent    ${sent}`,
          `      stored  ${stored}`
        ])
      ]
  }
}

/** Of what probably follows from another: what was seen, and how to see it again. */
const followerLines = ({ blocks, followers, headline, ids, verdict }: Explained): ReadonlyArray<string> => [
  `    ${verdict}  ${ids.join(", ")}: ${headline}`,
  ...blocks.flatMap((block) =>
    (block.kind === "line" && block.important) || block.label === "Again"
      ? blockLines(block).map((one) => `    ${one}`)
      : []
  ),
  ...followers.flatMap(followerLines)
]

/** Everything reported about a requirement. */
export const linesOf = ({ blocks, followers, headline, ids, verdict }: Explained): ReadonlyArray<string> => [
  `${verdict}  ${ids.join(", ")}`,
  labelled("The rule", headline),
  ...blocks.flatMap(blockLines),
  ...(followers.length === 0 ? [] : ["  Probably from this", ...followers.flatMap(followerLines)])
]

/** What a run begins with. */
export const opening = (
  report: Pick<Report, "ack" | "deadlineMs" | "guardMs" | "level" | "seed" | "suite" | "target">
) =>
  [
    `${report.suite}, level ${report.level}, ${report.target}, seed ${report.seed}`,
    `An answer counts with ${report.ack === "200" ? "status 200" : "a 2xx status"} within ${report.deadlineMs} ms (measured to ${report.guardMs} ms).`,
    ""
  ].join("\n")

/** The report as text for a terminal. Where nothing could be sent, the one line that says why. */
export const render = (report: Report): string => {
  const { claim, counts, ending, explained, headline, notes, summary } = explanationOf(report)
  if (neverBegan(report)) return ending
  if (report.requirements.length === 0) {
    return `${report.endedBecause} \`${program.called} list\` shows what there is.`
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
    // Of what did not pass, the command's last line says why.
    ...(report.verdict === "pass" ? [`${headline}: ${claim}.`] : []),
    `${counts}; ${report.attempts} attempts, deadline ${deadlineInWords(report)}.`
  ].join("\n")
}
