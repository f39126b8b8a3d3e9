/**
 * The report as JUnit XML, in the shape that Jenkins' schema (junit-10.xsd), GitHub and GitLab read: one suite for each
 * family, one case for each requirement. What was not decided is skipped with its reason, so that no build takes it for
 * passed in silence. Readers count cases and nothing else: a run that did not pass, and whose cases would not show it,
 * has one more case, for itself, with an error.
 */
import { linesOf } from "./Console.ts"
import { exitCodeOf, exitCodes, shortcomingOf, undecided } from "./Ending.ts"
import { explainRequirement, explanationOf } from "./Explanation.ts"
import type { Summary } from "./Explanation.ts"
import { safeText } from "./Redaction.ts"
import type { Report, ReportedRequirement } from "./Report.ts"

/** XML 1.0 has no way to write most control characters, nor half a surrogate pair. */
const allowed = (text: string): string =>
  text.toWellFormed().replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
  "\n": "&#10;",
  "\r": "&#13;",
  "\t": "&#9;"
}

/** A text between tags. */
const xml = (text: string): string => allowed(safeText(text)).replaceAll(/[&<>]/g, (one) => entities[one] ?? one)

/** A text in an attribute, where readers would make spaces of newlines. */
const inAttribute = (text: string): string =>
  allowed(safeText(text)).replaceAll(/[&<>"'\n\r\t]/g, (one) => entities[one] ?? one)

const element = (name: string, attributes: Readonly<Record<string, string | number>>, content = ""): string => {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${inAttribute(String(value))}"`)
  return content === "" ? `<${name}${written.join("")}/>` : `<${name}${written.join("")}>${content}</${name}>`
}

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(3)

/** The time that a history took; what passed keeps none. */
const durationOf = ({ history }: ReportedRequirement): number =>
  Math.max(0, ...history.flatMap(({ attempts }) => attempts.map(({ elapsedMs, startedMs }) => startedMs + elapsedMs)))

const resultOf = (requirement: ReportedRequirement): string => {
  const { cutShort, known, observed, verdict } = requirement
  const explained = xml(linesOf(explainRequirement(requirement)).join("\n"))
  switch (verdict) {
    case "PASS":
      return cutShort.length === 0 ? "" : element("system-out", {}, explained)
    case "FAIL":
      return known
        ? element("skipped", { message: `known to fail: ${observed}` })
        : element("failure", { type: "FAIL", message: observed }, explained)
    case "ERROR":
      return element("error", { type: "ERROR", message: observed }, explained)
    case "WARN":
      // A SHOULD fails no build.
      return element("system-out", {}, explained)
    case "INCONCLUSIVE":
    case "NOT_OBSERVABLE":
    case "SKIPPED":
      return element("skipped", { message: `${verdict}: ${observed}` })
  }
}

const isFailure = ({ known, verdict }: ReportedRequirement): boolean => verdict === "FAIL" && !known
const isError = ({ verdict }: ReportedRequirement): boolean => verdict === "ERROR"

/** The case of the run as a whole: what keeps it from passing, where the requirements' own cases do not show that. */
const runCaseOf = (report: Report): string | null => {
  const message = shortcomingOf(report)
  const exitCode = exitCodeOf(report)
  const shows = report.requirements.some((one) => isFailure(one) || isError(one))
  if (message === null || (shows && exitCode !== exitCodes.unusable)) return null
  const type = exitCode === exitCodes.unusable ? "UNUSABLE" : exitCode === exitCodes.failed ? "FAIL" : "INCONCLUSIVE"
  // Why each is open stands at its own case.
  const open = undecided(report).map(({ id }) => id)
  const explained = [
    report.endedBecause === "" ? message : explanationOf(report).ending,
    `Exit code ${exitCode}.${open.length === 0 ? "" : ` Not decided: ${open.join(", ")}.`}`
  ].join("\n")
  return element(
    "testcase",
    { name: "The run comes to a verdict", classname: "doorhook.conformance.RUN", time: seconds(0) },
    element("error", { type, message }, xml(explained))
  )
}

const countOf = (requirements: ReadonlyArray<ReportedRequirement>) => ({
  tests: requirements.length,
  failures: requirements.filter(isFailure).length,
  errors: requirements.filter(isError).length
})

/** What every suite of a report says of itself. */
const suiteElement = (
  report: Report,
  about: Readonly<Record<string, string | number>>,
  cases: ReadonlyArray<string>
): string => {
  const properties = { suite: report.suite, seed: report.seed, level: report.level, target: report.target }
  const written = Object.entries(properties).map(([key, value]) => element("property", { name: key, value }))
  return element(
    "testsuite",
    { ...about, timestamp: report.startedAt.replace(/\.\d+Z$/, "") },
    [element("properties", {}, written.join("")), ...cases].join("\n")
  )
}

const suiteOf = (report: Report, { key, lines, name }: Summary, index: number): string => {
  const requirements = lines.map(({ requirement }) => requirement)
  const about = {
    name: `${key}: ${name}`,
    ...countOf(requirements),
    skipped: requirements.filter((one) => resultOf(one).startsWith("<skipped")).length,
    time: seconds(requirements.reduce((sum, one) => sum + durationOf(one), 0)),
    id: index
  }
  const caseOf = (requirement: ReportedRequirement): string =>
    element(
      "testcase",
      {
        name: `${requirement.id} ${requirement.statement}`,
        classname: `doorhook.conformance.${key}`,
        time: seconds(durationOf(requirement))
      },
      resultOf(requirement)
    )
  return suiteElement(report, about, requirements.map(caseOf))
}

export const toJUnit = (report: Report): string => {
  const { summary } = explanationOf(report)
  const counts = countOf(report.requirements)
  const own = runCaseOf(report)
  const ofRun = {
    name: "RUN: The run as a whole",
    tests: 1,
    failures: 0,
    errors: 1,
    skipped: 0,
    time: seconds(0),
    id: summary.length
  }
  const total = own === null ? counts : { ...counts, tests: counts.tests + 1, errors: counts.errors + 1 }
  const suites = [
    ...summary.map((family, index) => suiteOf(report, family, index)),
    ...(own === null ? [] : [suiteElement(report, ofRun, [own])])
  ]
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element(
    "testsuites",
    { name: report.suite, ...total, time: seconds(report.durationMs) },
    `\n${suites.join("\n")}\n`
  )}\n`
}
