/**
 * The report as text: for a terminal, and as Markdown for a comment on a pull request.
 */
import { columns } from "@doorhook/core"
import { program } from "../Program.ts"
import type { Block } from "./Blocks.ts"
import { explanationOf, neverBegan } from "./Explanation.ts"
import type { Explained } from "./Explanation.ts"
import { deadlineInWords } from "./Report.ts"
import type { Report } from "./Report.ts"

const labelled = (label: string, text: string): string => `  ${label.padEnd(11)}${text}`

const blockLines = ({ label, lines }: Block): ReadonlyArray<string> =>
  lines.length === 1 ? lines.map((line) => labelled(label, line)) : [`  ${label}`, ...lines.map((one) => `    ${one}`)]

/** Briefly describes a failure that is listed under its cause: what was observed, and how to repeat it. */
const followerLines = ({ blocks, followers, headline, ids, verdict }: Explained): ReadonlyArray<string> => [
  `    ${verdict}  ${ids.join(", ")}: ${headline}`,
  ...blocks
    .filter(({ isImportant, label }) => isImportant || label === "Again")
    .flatMap(blockLines)
    .map((one) => `    ${one}`),
  ...followers.flatMap(followerLines)
]

/** Returns the explanation of a requirement, line by line. */
export const linesOf = ({ blocks, followers, headline, ids, verdict }: Explained): ReadonlyArray<string> => [
  `${verdict}  ${ids.join(", ")}`,
  labelled("The rule", headline),
  ...blocks.flatMap(blockLines),
  ...(followers.length === 0 ? [] : ["  Probably caused by this", ...followers.flatMap(followerLines)])
]

/** Returns the lines that are printed when a run starts. */
export const opening = (
  report: Pick<Report, "ack" | "deadlineMs" | "guardMs" | "level" | "seed" | "suite" | "target">
): string =>
  [
    `${report.suite}, level ${report.level}, ${report.target}, seed ${report.seed}`,
    `An event is acknowledged by ${report.ack === "200" ? "status 200" : "a 2xx status"} within ${report.deadlineMs} ms (measured to ${report.guardMs} ms).`,
    ""
  ].join("\n")

/** Returns the report as text. If nothing could be sent, returns one line that says why. */
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
    // If the run did not pass, the command's error message says why.
    ...(report.verdict === "pass" ? [`${headline}: ${claim}.`] : []),
    `${counts}; ${report.attempts} attempts, deadline ${deadlineInWords(report)}.`
  ].join("\n")
}

/** Escapes Markdown and HTML in a text. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\\`*_[\]|<>~@&]/g, (one) => `\\${one}`)
    .replaceAll("\\<", "&lt;")
    .replaceAll("\\&", "&amp;")
    .replaceAll("\\@", "&#64;")

/** Puts lines into a code block, with fences longer than any in the lines. */
const fenced = (lines: ReadonlyArray<string>): string => {
  const text = lines.join("\n")
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
  const fence = "`".repeat(longest + 1)
  return `${fence}text\n${text}\n${fence}`
}

const marks: Readonly<Record<Report["verdict"], string>> = { pass: "✅", fail: "❌", inconclusive: "⚠️" }

const folded = (summary: string, content: ReadonlyArray<string>): ReadonlyArray<string> =>
  content.length === 0 ? [] : [`<details><summary>${summary}</summary>`, ...content, "</details>"]

const explain = ({ blocks, followers, headline, ids, verdict }: Explained): ReadonlyArray<string> => [
  `#### ${verdict} ${ids.join(", ")}: ${plain(headline)}`,
  fenced(blocks.flatMap(blockLines)),
  ...folded(`Probably caused by this: ${followers.flatMap((one) => one.ids).join(", ")}`, followers.flatMap(explain))
]

const isDecided = ({ verdict }: Explained): boolean => verdict === "FAIL" || verdict === "WARN" || verdict === "ERROR"

export const toMarkdown = (report: Report): string => {
  const { claim, counts, ending, explained, headline, notes, summary } = explanationOf(report)
  const rows = summary.flatMap(({ lines }) =>
    lines.map(({ id, scope, statement, verdict }) => `| ${verdict} | ${id} | ${scope} | ${plain(statement)} |`)
  )
  return `${[
    `### ${marks[report.verdict]} ${headline}`,
    `${claim}: ${counts}. ${report.attempts} attempts on ${plain(report.target)}, seed ${report.seed}, ${report.suite}.`,
    ...(ending === "" ? [] : [`> ${plain(ending)}`]),
    ...notes.map((note) => `> ${plain(note)}`),
    ...explained.filter(isDecided).flatMap(explain),
    ...folded("Not decided", explained.filter((one) => !isDecided(one)).flatMap(explain)),
    ...folded(`All ${rows.length} requirements`, [
      ["| verdict | requirement | scope | |", "|---|---|---|---|", ...rows].join("\n")
    ])
  ].join("\n\n")}\n`
}
