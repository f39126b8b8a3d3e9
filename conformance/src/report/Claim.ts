/**
 * What a run claims of a receiver, and what it leaves out: a part of a level is not the level.
 */
import { memoryInWords } from "../record/Caveats.ts"
import { select } from "../requirements/Catalogue.ts"
import type { Report } from "./Report.ts"

const levels: Readonly<Record<Report["level"], string>> = { 1: "L1 acknowledges", 2: "L2 once", 3: "L3 durable" }

/** The level, the profiles on top of it, and what the receiver is bound to. */
const levelOf = ({ bindings, level, profiles }: Report): string =>
  `${[levels[level], ...profiles].join(" + ")}${bindings === undefined ? "" : ` for ${bindings.join(" and ")}`}`

/** What a pass leaves out: requirements of the level that were not tested, and those that are known to fail. Empty: nothing. */
export const gapsOf = ({ level, profiles, requirements }: Report): string => {
  const whole = new Set<string>(select({ level, profile: profiles, only: [], skip: [] }).selected.map(({ id }) => id))
  const tested = requirements.filter(({ id, verdict }) => whole.has(id) && verdict !== "SKIPPED").length
  const known = requirements.filter(({ known, verdict }) => known && verdict === "FAIL").length
  return [
    ...(tested < whole.size ? [`${tested} of ${whole.size} requirements`] : []),
    ...(known > 0 ? [`${known} known to fail`] : [])
  ].join(", ")
}

/** How far a memory of ids was seen to reach, where nothing showed that it reaches as far as a sender retries. */
const horizonOf = ({ level, memory, requirements, verdict }: Report): string =>
  verdict !== "pass" ||
  level === 1 ||
  memory === undefined ||
  requirements.some((one) => one.id === "R-DUP-06" && one.verdict === "PASS")
    ? ""
    : `, ${memoryInWords(memory)}`

/** The claim, with what it leaves out. */
export const claimOf = (report: Report): string => {
  const gaps = gapsOf(report)
  return `${levelOf(report)}${gaps === "" ? "" : ` (${gaps})`}`
}

/** The same, with how far the memory of ids was seen to reach. */
export const claimWithHorizon = (report: Report): string => `${claimOf(report)}${horizonOf(report)}`

/** The verdict as a headline. */
export const headlineOf = (report: Report): string => {
  const headlines: Readonly<Record<Report["verdict"], string>> = {
    pass: gapsOf(report) === "" ? "The receiver conforms" : "The receiver conforms in part",
    fail: "The receiver does not conform",
    inconclusive: "Inconclusive"
  }
  return headlines[report.verdict]
}
