/**
 * The report for a comment on a pull request: the verdict first, then what is wrong; the rest is folded.
 */
import type { Block, StepBlock } from "./Blocks.ts"
import { explanationOf } from "./Explanation.ts"
import type { Explained } from "./Explanation.ts"
import type { Report } from "./Report.ts"

/** A text without Markdown or HTML of its own. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\\`*_[\]|<>~@&]/g, (one) => `\\${one}`)
    .replaceAll("\\<", "&lt;")
    .replaceAll("\\&", "&amp;")
    .replaceAll("\\@", "&#64;")

/** A text between fences longer than any in it. */
const fenced = (text: string): string => {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
  const fence = "`".repeat(longest + 1)
  return `${fence}sh\n${text}\n${fence}`
}

const marks: Readonly<Record<Report["verdict"], string>> = { pass: "✅", fail: "❌", inconclusive: "⚠️" }

const step = ({ attempts, did, more, number }: StepBlock): string =>
  [
    `${number}. ${plain(did)}`,
    ...attempts.map(({ decides, got }) => `   - ${decides ? `**${plain(got)}** ← here` : plain(got)}`),
    ...(more === "" ? [] : [`   - ${more}`])
  ].join("\n")

const blockText = (block: Block): string => {
  const under = (text: string): string => `**${block.label}**\n\n${text}`
  switch (block.kind) {
    case "line":
      return `**${block.label}** ${plain(block.text)}`
    case "code":
      return under(fenced(block.text))
    case "list":
      return under(block.lines.map((one) => `- ${plain(one)}`).join("\n"))
    case "steps":
      return under(block.steps.map(step).join("\n"))
  }
}

const folded = (summary: string, content: ReadonlyArray<string>): ReadonlyArray<string> =>
  content.length === 0 ? [] : [`<details><summary>${summary}</summary>`, ...content, "</details>"]

const explain = ({ blocks, followers, headline, ids, verdict }: Explained): ReadonlyArray<string> => [
  `#### ${verdict} ${ids.join(", ")}: ${plain(headline)}`,
  ...blocks.map(blockText),
  ...folded(`Probably from this: ${followers.flatMap((one) => one.ids).join(", ")}`, followers.flatMap(explain))
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
