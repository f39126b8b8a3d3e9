/**
 * The report for a comment on a pull request: the verdict first, what is wrong with it, the rest folded away.
 */
import { shownText } from "@doorhook/core"
import { claimWithGaps, headlineOf } from "./Claim.ts"
import { confirmedInWords, notableEffects, tally, cautions } from "./Console.ts"
import { longestCurl } from "./Curl.ts"
import { endingOf } from "./Ending.ts"
import { followingInWords } from "./Following.ts"
import { groupsOf, isOpen } from "./Grouping.ts"
import { safeText } from "./Redaction.ts"
import type { Report, ReportedRequirement } from "./Report.ts"

/** A text of the receiver's, without what Markdown or HTML would take for its own. */
const plain = (text: string): string =>
  shownText(safeText(text), 400)
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

const explain = (requirement: ReportedRequirement, all: ReadonlyArray<ReportedRequirement>): string => {
  const follows = followingInWords(requirement, all)
  const {
    because,
    confirmed,
    curl,
    effects,
    expected,
    history,
    id,
    known,
    observed,
    replay,
    source,
    statement,
    verdict
  } = requirement
  return [
    `#### ${verdict} ${id}${known ? " (known)" : ""}: ${plain(statement)}`,
    `**Expected** ${plain(expected)}  \n**Observed** ${plain(observed)}${follows === null ? "" : `  \n**Follows** ${follows}`}`,
    ...(history.length === 0
      ? []
      : [
          history
            .map(({ attempts, did, moreAttempts }, index) =>
              [
                `${index + 1}. ${plain(did)}`,
                ...attempts.map(({ got }) => `   - ${plain(got)}`),
                ...(moreAttempts === 0 ? [] : [`   - and ${moreAttempts} more attempts`])
              ].join("\n")
            )
            .join("\n")
        ]),
    ...(effects.length === 0
      ? []
      : [
          notableEffects(requirement)
            .map((one) => `- ${plain(one)}`)
            .join("\n")
        ]),
    ...(confirmed === null ? [] : [`Repeated: ${confirmedInWords(confirmed)}.`]),
    `_${plain(because)}_ (${plain(source)})`,
    ...(curl === null || curl.length > longestCurl ? [] : [fenced(safeText(curl))]),
    fenced(safeText(replay))
  ].join("\n\n")
}

const row = ({ id, level, profile, statement, strength, verdict }: ReportedRequirement): string =>
  `| ${verdict} | ${id} | ${level}${profile === null ? "" : ` ${profile}`} | ${strength} | ${plain(statement)} |`

export const toMarkdown = (report: Report): string => {
  const open = report.requirements.filter(isOpen)
  const broken = open.filter(({ verdict }) => verdict === "FAIL" || verdict === "WARN" || verdict === "ERROR")
  const other = open.filter((one) => !broken.includes(one))
  return `${[
    `### ${marks[report.verdict]} ${headlineOf(report)}`,
    `${claimWithGaps(report)}: ${tally(report)}. ${report.attempts} attempts on ${plain(report.target)}, seed ${report.seed}, ${report.suite}.`,
    ...(report.endedBecause === "" ? [] : [`> ${plain(`${endingOf(report)}${report.endedBecause}`)}`]),
    ...cautions(report).map((caution) => `> ${plain(caution)}`),
    ...broken.map((one) => explain(one, report.requirements)),
    ...(other.length === 0
      ? []
      : [
          `<details><summary>Not decided: ${other.length}</summary>`,
          ...other.map((one) => explain(one, report.requirements)),
          "</details>"
        ]),
    `<details><summary>All ${report.requirements.length} requirements</summary>`,
    [
      "| verdict | requirement | level | | |",
      "|---|---|---|---|---|",
      ...groupsOf(report).flatMap(({ requirements }) => requirements.map(row))
    ].join("\n"),
    "</details>"
  ].join("\n\n")}\n`
}
