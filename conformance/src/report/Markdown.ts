/**
 * The report for a comment on a pull request: the verdict first, what is wrong with it, the rest folded away.
 */
import { explanationOf } from "./Explanation.ts"
import type { Block, Explained, StepBlock } from "./Explanation.ts"
import type { Report } from "./Report.ts"

/** A text without what Markdown or HTML would take for its own. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\\`*_[\]|<>~@&]/g, (one) => `\\${one}`)
    .replaceAll("\\<", "&lt;")
    .replaceAll("\\&", "&amp;")
    .replaceAll("\\@", "&#64;")

/** A text that holds no fence as long as the one around it. */
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
  switch (block.kind) {
    case "line":
      return `**${block.label}** ${plain(block.text)}`
    case "steps":
      return `**${block.label}**\n\n${block.steps.map(step).join("\n")}`
    case "code":
      return `**${block.label}**\n\n${fenced(block.text)}`
    case "effects":
      return `**${block.label}**\n\n${block.lines.map((one) => `- ${plain(one)}`).join("\n")}`
    case "difference":
      return [
        `**${block.label}**\n`,
        "| | sent | stored |",
        "|---|---|---|",
        ...block.members.map(({ path, sent, stored }) => `| ${plain(path)} | ${plain(sent)} | ${plain(stored)} |`)
      ].join("\n")
  }
}

const folded = (summary: string, content: ReadonlyArray<string>): ReadonlyArray<string> =>
  content.length === 0 ? [] : [`<details><summary>${summary}</summary>`, ...content, "</details>"]

const explain = ({ blocks, followers, headline, ids, verdict }: Explained): ReadonlyArray<string> => [
  `#### ${verdict} ${ids.join(", ")}: ${plain(headline)}`,
  ...blocks.map(blockText),
  ...folded(`Probably from this: ${followers.flatMap((one) => one.ids).join(", ")}`, followers.flatMap(explain))
]

export const toMarkdown = (report: Report): string => {
  const { claim, counts, ending, explained, headline, notes, summary } = explanationOf(report)
  const isDecided = ({ verdict }: Explained): boolean => verdict === "FAIL" || verdict === "WARN" || verdict === "ERROR"
  return `${[
    `### ${marks[report.verdict]} ${headline}`,
    `${claim}: ${counts}. ${report.attempts} attempts on ${plain(report.target)}, seed ${report.seed}, ${report.suite}.`,
    ...(ending === "" ? [] : [`> ${plain(ending)}`]),
    ...notes.map((note) => `> ${plain(note)}`),
    ...explained.filter(isDecided).flatMap(explain),
    ...folded("Not decided", explained.filter((one) => !isDecided(one)).flatMap(explain)),
    ...folded(`All ${report.requirements.length} requirements`, [
      [
        "| verdict | requirement | scope | |",
        "|---|---|---|---|",
        ...summary.flatMap(({ lines }) =>
          lines.map(({ id, scope, statement, verdict }) => `| ${verdict} | ${id} | ${scope} | ${plain(statement)} |`)
        )
      ].join("\n")
    ])
  ].join("\n\n")}\n`
}
