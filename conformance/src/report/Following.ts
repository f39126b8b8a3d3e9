/**
 * Which failures probably follow from which: one fault may break much, and should be mended first. Told from what each
 * requirement presupposes, and from what is seen of those that are judged on more than their own; it changes no verdict.
 */
import type { Operation } from "../history/History.ts"
import { retry } from "../history/History.ts"
import type { Forgery } from "../history/Invalid.ts"
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

const holds = ({ history }: ReportedRequirement, kind: Operation["k"]): boolean =>
  history.some(({ op }) => op.k === kind)

/** What was done in the step that decided. */
const decisiveOf = ({ decidedBy, history }: ReportedRequirement): Operation | undefined =>
  decidedBy === null ? undefined : history[decidedBy.step]?.op

const forgeryIn = (op: Operation | undefined): Forgery | null =>
  op?.k === "forged" || op?.k === "forged_again" ? op.kind : null

/** Whether a requirement is about requests that are forged so. */
const isAbout = (id: string, forgery: Forgery): boolean =>
  find(id)?.directed.some(({ history }) => history.ops.some((op) => forgeryIn(op) === forgery)) ?? false

/** Whether something took effect more than once, and nothing more often than it was posted: no other request acted. */
const isOfPosts = ({ effects, history }: ReportedRequirement): boolean => {
  const posts = history.flatMap(({ attempts }) => attempts).filter(({ request }) => request.method === "POST")
  const most = effects.map((one) => ({ count: one.most ?? one.effects, webhookId: one.webhookId }))
  return (
    posts.every(({ status }) => status !== null && status >= 200 && status < 300) &&
    most.some(({ count }) => count > 1) &&
    most.every(({ count, webhookId }) => count <= posts.filter((one) => one.webhookId === webhookId).length)
  )
}

interface Sign {
  readonly of: string
  /** How the ids of causes begin. */
  readonly from: string
  readonly shows: (requirement: ReportedRequirement, cause: ReportedRequirement) => boolean
}

/** What follows not for being presupposed, but where it shows in the history that failed. */
const signs: ReadonlyArray<Sign> = [
  { of: "R-GET-01", from: "R-DUP-02", shows: (one, cause) => isBasic(cause) && isOfPosts(one) },
  {
    of: "R-LOS-03",
    from: "R-SIG-",
    shows: (one, cause) => {
      const forgery = forgeryIn(decisiveOf(one))
      return forgery !== null && forgeryIn(decisiveOf(cause)) !== null && isAbout(cause.id, forgery)
    }
  },
  {
    of: "R-DUP-02",
    from: "R-CRA-03",
    // Around a kill, an event may act twice without being forgotten.
    shows: (one, cause) => holds(one, "restart") && !holds(one, "kill_amid") && holds(cause, "restart")
  },
  {
    of: "R-LOS-01",
    from: "R-CRA-01",
    // What was sent again after the kill was lost otherwise.
    shows: (one, cause) => decisiveOf(one)?.k === "kill_amid" && decisiveOf(cause)?.k === "kill_amid"
  }
]

/** The ids of the broken requirements from which a broken one probably follows. */
export const causesOf = (
  requirement: ReportedRequirement,
  all: ReadonlyArray<ReportedRequirement>
): ReadonlyArray<string> => {
  if (!isBroken(requirement)) return []
  const presupposed = find(requirement.id)?.presupposes ?? []
  const shown = signs.filter(({ of }) => of === requirement.id)
  const isCause = (one: ReportedRequirement): boolean =>
    (presupposed.includes(one.id) && isBasic(one)) ||
    (isBroken(one) && shown.some(({ from, shows }) => one.id.startsWith(from) && shows(requirement, one)))
  return all.filter(isCause).map(({ id }) => id)
}

/** The same in words; null where it stands by itself. */
export const followingInWords = (
  requirement: ReportedRequirement,
  all: ReadonlyArray<ReportedRequirement>
): string | null => {
  const causes = causesOf(requirement, all)
  return causes.length === 0 ? null : `probably from ${causes.join(" and ")}: mend that first`
}
