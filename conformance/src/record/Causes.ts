/**
 * Which failure probably follows from which: for the order of reports. Changes no verdict.
 */
import { keyOf } from "../history/History.ts"
import { endsReceiver, isPlain } from "../history/Operations.ts"
import type { Symptom } from "../judgement/Finding.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { judged } from "./Verdict.ts"
import type { Outcome } from "./Verdict.ts"

type Decisive = NonNullable<Outcome["decisive"]>

const isBroken = ({ verdict }: Outcome): boolean => verdict === "FAIL" || verdict === "WARN"

/** The requirement that asks for no more than that a symptom does not show: of ordinary events, or of copies at once. */
const asksForJust: Readonly<Record<Symptom, Requirement["id"]>> = {
  unacknowledged: "R-ACK-01",
  duplicate_refused: "R-DUP-01",
  lost: "R-LOS-01",
  doubled: "R-DUP-02",
  doubled_at_once: "R-DUP-04"
}

/** What came of the attempt that decided: a status, or how it failed. */
const answerOf = ({ attempt, trace }: Decisive): number | string | undefined => {
  const exchange = trace.attempts[attempt ?? -1]?.exchange
  return exchange?._tag === "Answered" ? exchange.status : exchange?.outcome
}

/** Whether what was found comes down to what the cause asks for by itself. */
const isSymptomOf = ({ decisive: found }: Outcome, { decisive, requirement: { id } }: Outcome): boolean => {
  if (found === null || found.symptom === null || decisive === null) return false
  const { symptom } = found
  switch (symptom) {
    case "unacknowledged":
    case "duplicate_refused":
      return decisive.isOrdinary && asksForJust[symptom] === id && answerOf(found) === answerOf(decisive)
    case "lost":
    case "doubled":
      return decisive.isOrdinary && asksForJust[symptom] === id
    case "doubled_at_once":
      return decisive.isOrdinary
        ? asksForJust.doubled === id
        : asksForJust[symptom] === id && decisive.symptom === symptom
  }
}

/** The kinds of what is out of the ordinary in the history that decided; all that end the receiver are of one. */
const specialsOf = ({ decisive }: Outcome): ReadonlyArray<string> =>
  decisive === null
    ? []
    : decisive.trace.history.ops.filter((op) => !isPlain(op)).map((op) => (endsReceiver(op) ? "end" : op.k))

/** Whether a requirement that examines all was broken by a history of the same kind as one with cases of its own. */
const isOfKind = (outcome: Outcome, cause: Outcome): boolean => {
  const { decisive, requirement } = outcome
  if (
    decisive === null ||
    decisive.isOrdinary ||
    requirement.examines === "own" ||
    cause.requirement.examines === "all"
  ) {
    return false
  }
  const specials = specialsOf(cause)
  return (
    specialsOf(outcome).some((kind) => specials.includes(kind)) &&
    judged(cause.requirement, decisive.trace, decisive.terms).verdict === "FAIL"
  )
}

/** Whether a presupposed requirement was broken by ordinary events, by the same history, or with the same symptom. */
const isPresupposed = ({ decisive, requirement }: Outcome, cause: Outcome): boolean =>
  requirement.presupposes.includes(cause.requirement.id) &&
  decisive !== null &&
  cause.decisive !== null &&
  (cause.decisive.isOrdinary ||
    keyOf(decisive.trace.history) === keyOf(cause.decisive.trace.history) ||
    (decisive.symptom !== null && decisive.symptom === cause.decisive.symptom))

/**
 * Ids of the broken requirements from which another probably follows: the one that asks for just what was found missing,
 * where ordinary events break that; else presupposed ones, and those whose own cases broke one that examines all.
 */
export const causesOf = (outcome: Outcome, all: ReadonlyArray<Outcome>): ReadonlyArray<Requirement["id"]> => {
  if (!isBroken(outcome)) return []
  const others = all.filter((one) => one !== outcome && isBroken(one))
  const basic = others.filter((one) => isSymptomOf(outcome, one))
  const causes =
    basic.length > 0 ? basic.slice(0, 1) : others.filter((one) => isPresupposed(outcome, one) || isOfKind(outcome, one))
  return causes.map(({ requirement: { id } }) => id)
}
