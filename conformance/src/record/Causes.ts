/**
 * Which failure probably follows from which: for the order of reports. Changes no verdict.
 */
import { keyOf } from "../history/History.ts"
import { isPlain } from "../history/Operations.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { judged } from "./Verdict.ts"
import type { Outcome } from "./Verdict.ts"

const isBroken = ({ verdict }: Outcome): boolean => verdict === "FAIL" || verdict === "WARN"

/** The kinds of what is out of the ordinary in the history that decided. */
const specialsOf = ({ decisive }: Outcome): ReadonlyArray<string> =>
  decisive === null ? [] : decisive.trace.history.ops.filter((op) => !isPlain(op)).map(({ k }) => k)

const isBasic = (outcome: Outcome): boolean => outcome.decisive !== null && specialsOf(outcome).length === 0

/** Whether a requirement that examines all was broken by a history of the same kind as one with cases of its own. */
const isOfKind = (outcome: Outcome, cause: Outcome): boolean => {
  const { decisive, requirement } = outcome
  if (decisive === null || requirement.examines === "own" || cause.requirement.examines === "all") return false
  const specials = specialsOf(cause)
  return (
    specialsOf(outcome).some((kind) => specials.includes(kind)) &&
    judged(cause.requirement, decisive.trace, decisive.terms).verdict === "FAIL"
  )
}

/** Whether two requirements were broken by the same history, the other with less presupposed. */
const isSimpler = ({ decisive, requirement }: Outcome, cause: Outcome): boolean =>
  decisive !== null &&
  cause.decisive !== null &&
  requirement.examines === "own" &&
  cause.requirement.examines === "own" &&
  keyOf(decisive.trace.history) === keyOf(cause.decisive.trace.history) &&
  cause.requirement.presupposes.length < requirement.presupposes.length &&
  !cause.requirement.presupposes.includes(requirement.id)

/**
 * Ids of the broken requirements from which another probably follows: presupposed ones that fail on plain histories;
 * those with cases of their own where one that examines all was broken by such a case; those that the same history breaks
 * with fewer presuppositions.
 */
export const causesOf = (outcome: Outcome, all: ReadonlyArray<Outcome>): ReadonlyArray<Requirement["id"]> =>
  isBroken(outcome)
    ? all
        .filter(
          (one) =>
            one !== outcome &&
            isBroken(one) &&
            ((outcome.requirement.presupposes.includes(one.requirement.id) && isBasic(one)) ||
              isOfKind(outcome, one) ||
              isSimpler(outcome, one))
        )
        .map(({ requirement: { id } }) => id)
    : []
