/**
 * The report on a sender.
 */
import { columns } from "@doorhook/core"
import { Schema } from "effect"
import { verdicts } from "../judgement/Finding.ts"
import { suite } from "../Suite.ts"
import type { Observation } from "./Host.ts"
import { eventInWords, senderRequirements, signedRequirement } from "./SenderRequirements.ts"
import type { SenderFinding, SenderRequirement, SenderTerms } from "./SenderRequirements.ts"

const ReportedSenderRequirement = Schema.Struct({
  id: Schema.String,
  strength: Schema.Literals(["MUST", "SHOULD"]),
  verdict: Schema.Literals(verdicts),
  statement: Schema.String,
  because: Schema.String,
  observed: Schema.String,
  /** What the deciding event was answered, attempt by attempt. */
  history: Schema.Array(Schema.String)
})

export const SenderReport = Schema.Struct({
  schemaVersion: Schema.Literal(1),
  suite: Schema.String,
  verdict: Schema.Literals(["pass", "fail", "inconclusive"]),
  deadlineMs: Schema.Finite,
  events: Schema.Int,
  attempts: Schema.Int,
  requirements: Schema.Array(ReportedSenderRequirement)
})
export type SenderReport = typeof SenderReport.Type

type Reported = SenderReport["requirements"][number]

const reported = (
  { because, id, statement, strength }: Omit<SenderRequirement, "check">,
  { event, observed, verdict }: SenderFinding,
  { deadline }: SenderTerms
): Reported => ({
  id,
  strength,
  statement,
  because,
  observed,
  verdict: verdict === "FAIL" && strength === "SHOULD" ? "WARN" : verdict,
  history: event === null ? [] : eventInWords(event, deadline)
})

const verdictOf = (requirements: ReadonlyArray<Reported>): SenderReport["verdict"] => {
  if (requirements.some(({ verdict }) => verdict === "FAIL")) return "fail"
  const open = requirements.some(({ strength, verdict }) => strength === "MUST" && verdict === "INCONCLUSIVE")
  return open || requirements.every(({ verdict }) => verdict !== "PASS") ? "inconclusive" : "pass"
}

/** Judges what was seen. */
export const make = (observation: Observation, signatures: SenderFinding, terms: SenderTerms): SenderReport => {
  const requirements = [
    ...senderRequirements.map((requirement) => reported(requirement, requirement.check(observation, terms), terms)),
    reported(signedRequirement, signatures, terms)
  ]
  return {
    schemaVersion: 1,
    suite,
    verdict: verdictOf(requirements),
    deadlineMs: terms.deadline,
    events: observation.events.length,
    attempts: observation.events.reduce((sum, { attempts }) => sum + attempts.length, 0),
    requirements
  }
}

/** The report as text for a terminal. */
export const render = ({ attempts, events, requirements }: SenderReport): string => {
  const open = requirements.filter(({ verdict }) => verdict !== "PASS")
  return [
    ...columns(
      requirements.map(({ id, observed, statement, verdict }) => [
        verdict,
        id,
        `${statement}${verdict === "PASS" ? ` (${observed})` : ""}`
      ])
    ),
    ...open.flatMap(({ because, history, id, observed, statement, verdict }) => [
      "",
      `${verdict}  ${id}`,
      `  The rule   ${statement}`,
      `  Observed   ${observed}`,
      ...history.map((line) => `    ${line}`),
      `  Because    ${because}`
    ]),
    "",
    `${events} events, ${attempts} attempts.`
  ].join("\n")
}

export const toJson = (report: SenderReport): string =>
  `${JSON.stringify(Schema.encodeSync(SenderReport)(report), null, 2)}\n`
