/**
 * `conformance list` and `conformance explain`: the requirements, in words.
 */
import { CommandFailure } from "@doorhook/core"
import { Console, Effect } from "effect"
import { defaultTerms } from "../checks/Terms.ts"
import { inWords } from "../history/Words.ts"
import { requirements } from "../requirements/index.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { find, ids } from "../requirements/Selection.ts"

const row = ({ id, level, statement, strength }: Requirement): string =>
  `${id}  level ${level}  ${strength}  ${statement}`

/** One line for each requirement. */
export const listRequirements = Console.log(requirements.map(row).join("\n"))

const explanationOf = (requirement: Requirement): string => {
  const { because, directed, expected, id, level, sampled, source, statement, strength } = requirement
  return [
    `${id}  (level ${level}, ${strength})`,
    "",
    `  ${statement}`,
    "",
    `  Source     ${source}`,
    `  Because    ${because}`,
    `  Expected   ${expected(defaultTerms)}`,
    "  What is sent",
    ...directed.flatMap(({ history, title }) => [
      `    ${title}`,
      ...inWords(history.ops).map((words) => `      ${words}`)
    ]),
    `    and ${sampled.runs} histories drawn from the seed`
  ].join("\n")
}

/** All there is to know about a requirement. */
export const explainRequirement = Effect.fnUntraced(function* (id: string) {
  const requirement = find(id)
  if (requirement === undefined) {
    return yield* CommandFailure.usage(`explain ${id}: there is no such requirement; there are ${ids()}`)
  }
  yield* Console.log(explanationOf(requirement))
})
