/**
 * Which failures probably follow from which: one fault may break much, and should be mended first. Told from what each
 * requirement presupposes; it changes no verdict.
 */
import type { Operation } from "../history/History.ts"
import { retry } from "../history/History.ts"
import { find } from "../requirements/Selection.ts"
import type { ReportedRequirement } from "./Report.ts"

/** Whether an operation is nothing but ordinary events, or retries of them. */
const isPlain = (operation: Operation): boolean => {
  switch (operation.k) {
    case "new":
      return operation.event.note === "" && operation.how.length === 0
    case "again":
    case "again_all":
      return operation.how.every((one) => retry.includes(one))
    case "filler":
      return true
    default:
      return false
  }
}

const isBroken = ({ verdict }: ReportedRequirement): boolean => verdict === "FAIL" || verdict === "WARN"

/** One that only breaks in special circumstances may itself be a consequence: nothing follows from it. */
const isBasic = (requirement: ReportedRequirement): boolean =>
  isBroken(requirement) && requirement.history.length > 0 && requirement.history.every(({ op }) => isPlain(op))

/** The ids of the broken requirements from which a broken one probably follows. */
export const causesOf = (
  requirement: ReportedRequirement,
  all: ReadonlyArray<ReportedRequirement>
): ReadonlyArray<string> => {
  const presupposed = isBroken(requirement) ? (find(requirement.id)?.presupposes ?? []) : []
  return all.filter((one) => presupposed.includes(one.id) && isBasic(one)).map(({ id }) => id)
}

/** The same in words; null where it stands by itself. */
export const followingInWords = (
  requirement: ReportedRequirement,
  all: ReadonlyArray<ReportedRequirement>
): string | null => {
  const causes = causesOf(requirement, all)
  return causes.length === 0 ? null : `probably from ${causes.join(" and ")}: mend that first`
}
