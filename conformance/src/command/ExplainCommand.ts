/**
 * `conformance list` and `conformance explain`: the requirements, in words.
 */
import { columns, CommandFailure } from "@doorhook/core"
import { Console, Effect } from "effect"
import { inWords } from "../history/Operations.ts"
import { defaultTerms } from "../judgement/Terms.ts"
import { find, ids, requirements } from "../requirements/Catalogue.ts"
import { everyCaseOf, needs } from "../requirements/Requirement.ts"
import type { Requirement } from "../requirements/Requirement.ts"

const scopeOf = ({ level, profile }: Requirement): string =>
  `level ${level}${profile === null ? "" : `, profile ${profile}`}`

/** One line for each requirement. */
export const listRequirements = Console.log(
  columns(requirements.map((one) => [one.id, scopeOf(one), one.strength, one.statement])).join("\n")
)

const explanationOf = (requirement: Requirement): string => {
  const { because, expected, id, needs: needed, provenBy, sampled, source, statement, strength } = requirement
  return [
    `${id}  (${scopeOf(requirement)}, ${strength})`,
    "",
    `  ${statement}`,
    "",
    `  Source     ${source}`,
    `  Because    ${because}`,
    `  Expected   ${expected(defaultTerms)}`,
    ...needed.map((need) => `  Needs      ${needs[need].toGive}`),
    ...provenBy.map(
      (need) => `  To pass    ${needs[need].toGive}${requirement.level === 1 ? ", from level 2 on" : ""}`
    ),
    "  What is sent",
    ...everyCaseOf(requirement).flatMap(({ history, strength: own, title }) => [
      `    ${title}${own === "SHOULD" && strength === "MUST" ? " (SHOULD)" : ""}`,
      ...inWords(history.ops).map((words) => `      ${words}`)
    ]),
    ...(sampled.runs === 0 ? [] : [`    and up to ${sampled.runs} histories drawn from the seed`])
  ].join("\n")
}

/** Everything the suite knows about a requirement. */
export const explainRequirement = Effect.fnUntraced(function* (id: string) {
  const requirement = find(id)
  if (requirement === undefined) {
    return yield* CommandFailure.usage(`explain ${id}: there is no such requirement; there are ${ids()}`)
  }
  yield* Console.log(explanationOf(requirement))
})
