/**
 * The report as JUnit XML for Jenkins (junit-10.xsd), GitHub and GitLab: a suite for each family, a case for each
 * requirement. An undecided requirement is reported as skipped with its reason, so that it does not count as passed. CI
 * systems look only at cases: if a run did not pass and no case shows it, an extra case reports an error.
 */
import { Html } from "@doorhook/core"
import { oneLine } from "./Blocks.ts"
import {
  exitCodeOf,
  exitCodes,
  explainRequirement,
  explanationOf,
  isFailure,
  isUndecided,
  shortcomingOf
} from "./Explanation.ts"
import { safeText } from "./Report.ts"
import type { Report, ReportedRequirement } from "./Report.ts"
import { linesOf } from "./Text.ts"

/**
 * Builds XML with secrets removed. Replaces what XML 1.0 does not allow: most control characters, and lone surrogates.
 */
const xml = Html.templateWith((text) =>
  safeText(text)
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
)

/** `time` attributes are in seconds. */
const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(3)

type Result = "failure" | "error" | "skipped" | "system-out" | null

/**
 * Returns the element of a verdict. CI pages show only failures, errors and skipped cases, each with its message, so a
 * WARN is a skipped case: it must not fail a build. A failure that is folded under another one is skipped, too.
 */
const resultOf = ({ cutShort, fails, under, verdict }: ReportedRequirement): Result => {
  if (verdict === "PASS") return cutShort.length === 0 ? null : "system-out"
  if (verdict === "ERROR") return "error"
  return fails && under === null ? "failure" : "skipped"
}

const skippedBecause = ({ known, observed, under, verdict }: ReportedRequirement): string =>
  `${known && verdict === "FAIL" ? "known to fail" : verdict}${under === null ? "" : `, probably caused by ${under}`}: ${oneLine(observed)}`

const resultElement = (requirement: ReportedRequirement): Html.Html | null => {
  const { verdict } = requirement
  const observed = oneLine(requirement.observed)
  const explained = linesOf(explainRequirement(requirement)).join("\n")
  switch (resultOf(requirement)) {
    case null:
      return null
    case "failure":
      return xml`<failure type="${verdict}" message="${observed}">${explained}</failure>`
    case "error":
      return xml`<error type="ERROR" message="${observed}">${explained}</error>`
    case "system-out":
      return xml`<system-out>${explained}</system-out>`
    case "skipped":
      return xml`<skipped message="${skippedBecause(requirement)}"/>${verdict === "WARN" ? xml`<system-out>${explained}</system-out>` : null}`
  }
}

interface Suite {
  readonly name: string
  readonly tests: number
  readonly failures: number
  readonly errors: number
  readonly skipped: number
  readonly time: number
  readonly cases: ReadonlyArray<Html.Html>
}

const caseOf = (family: string, name: string, time: number, result: Html.Html | null): Html.Html =>
  xml`<testcase name="${name}" classname="doorhook.conformance.${family}" time="${seconds(time)}">${result}</testcase>\n`

const suiteOf = (key: string, name: string, requirements: ReadonlyArray<ReportedRequirement>): Suite => {
  const count = (result: Result): number => requirements.filter((one) => resultOf(one) === result).length
  return {
    name: `${key}: ${name}`,
    tests: requirements.length,
    failures: count("failure"),
    errors: count("error"),
    skipped: count("skipped"),
    time: requirements.reduce((sum, one) => sum + one.durationMs, 0),
    cases: requirements.map((one) => caseOf(key, `${one.id} ${one.statement}`, one.durationMs, resultElement(one)))
  }
}

/** Returns an extra case that says why the run did not pass, if no other case shows it. */
const suiteOfRun = (report: Report): ReadonlyArray<Suite> => {
  const message = shortcomingOf(report)
  const exitCode = exitCodeOf(report)
  const isShown = report.requirements.some((one) => isFailure(one) || one.verdict === "ERROR")
  if (message === null || (isShown && exitCode !== exitCodes.unusable)) return []
  const type = exitCode === exitCodes.unusable ? "UNUSABLE" : exitCode === exitCodes.failed ? "FAIL" : "INCONCLUSIVE"
  const open = report.requirements.filter(isUndecided).map(({ id }) => id)
  const reason = report.endedBecause === "" ? message : explanationOf(report).ending
  const undecided = open.length === 0 ? "" : ` Not decided: ${open.join(", ")}.`
  const error = xml`<error type="${type}" message="${oneLine(message)}">${reason}
Exit code ${exitCode}.${undecided}</error>`
  return [
    {
      name: "RUN: The run as a whole",
      tests: 1,
      failures: 0,
      errors: 1,
      skipped: 0,
      time: 0,
      cases: [caseOf("RUN", "The run reaches a verdict", 0, error)]
    }
  ]
}

export const toJUnit = (report: Report): string => {
  const { level, seed, startedAt, suite, target } = report
  const suites = [
    ...explanationOf(report).summary.map(({ key, lines, name }) =>
      suiteOf(
        key,
        name,
        lines.map(({ requirement }) => requirement)
      )
    ),
    ...suiteOfRun(report)
  ]
  const sum = (key: "tests" | "failures" | "errors"): number => suites.reduce((total, one) => total + one[key], 0)
  const properties = Object.entries({ suite, seed, level, target }).map(
    ([name, value]) => xml`<property name="${name}" value="${value}"/>`
  )
  const element = ({ cases, errors, failures, name, skipped, tests, time }: Suite, id: number): Html.Html =>
    xml`<testsuite name="${name}" tests="${tests}" failures="${failures}" errors="${errors}" skipped="${skipped}" time="${seconds(time)}" id="${id}" timestamp="${startedAt.replace(/\.\d+Z$/, "")}">
<properties>${properties}</properties>
${cases}</testsuite>\n`
  return xml`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="${suite}" tests="${sum("tests")}" failures="${sum("failures")}" errors="${sum("errors")}" time="${seconds(report.durationMs)}">
${suites.map(element)}</testsuites>\n`.toString()
}
