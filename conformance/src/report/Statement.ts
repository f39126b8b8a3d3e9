/**
 * The conformance statement: what may be claimed of a receiver after a run, what it rests on, and what was not seen.
 */
import { createHash } from "node:crypto"
import { claimOf, claimWithGaps } from "./Claim.ts"
import { countsOf } from "./Grouping.ts"
import { toJson } from "./Report.ts"
import type { Report } from "./Report.ts"

const idsWith = ({ requirements }: Report, ...verdicts: ReadonlyArray<string>): ReadonlyArray<string> =>
  requirements.filter(({ verdict }) => verdicts.includes(verdict)).map(({ id }) => id)

const claims: Readonly<Record<Report["verdict"], (report: Report) => string>> = {
  pass: (report) => `passes ${claimWithGaps(report)}`,
  fail: (report) => `does not pass ${claimOf(report)}`,
  inconclusive: (report) => `was tested for ${claimOf(report)} without a result`
}

const statementOf = (report: Report) => ({
  schemaVersion: 1,
  statement: `The receiver at ${report.target} ${claims[report.verdict](report)}.`,
  target: report.target,
  verdict: report.verdict,
  level: report.level,
  profiles: report.profiles,
  /** 2xx is a looser rule than the interface's own. */
  acknowledgedBy: report.ack,
  deadlineMs: report.deadlineMs,
  date: report.startedAt,
  suite: report.suite,
  seed: report.seed,
  counts: Object.fromEntries(countsOf(report)),
  passed: idsWith(report, "PASS"),
  failed: idsWith(report, "FAIL"),
  warned: idsWith(report, "WARN"),
  notObservable: idsWith(report, "NOT_OBSERVABLE"),
  notDecided: idsWith(report, "INCONCLUSIVE", "ERROR", "SKIPPED"),
  /** How effects were counted, in whose word the rest is believed. */
  probe: report.calibration.probe === null ? null : report.calibration.probe.kind,
  probeUpperRangeVerified: report.calibration.probe?.upperRangeVerified ?? null,
  reportSha256: createHash("sha256").update(toJson(report)).digest("hex")
})

export const toStatement = (report: Report): string => `${JSON.stringify(statementOf(report), null, 2)}\n`
