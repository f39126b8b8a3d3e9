/**
 * `conformance list` and `conformance explain`: the requirements, in words.
 */
import { columns, CommandFailure } from "@doorhook/core"
import { Console, Effect } from "effect"
import { defaultTerms } from "../checks/Terms.ts"
import { inWords } from "../history/Words.ts"
import { requirements } from "../requirements/index.ts"
import { howToGive } from "../requirements/Profile.ts"
import { everyDirectedCase } from "../requirements/Requirement.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { find, ids } from "../requirements/Selection.ts"

const scopeOf = ({ level, profile }: Requirement): string =>
  `level ${level}${profile === null ? "" : `, profile ${profile}`}`

const row = (requirement: Requirement): ReadonlyArray<string> => [
  requirement.id,
  scopeOf(requirement),
  requirement.strength,
  requirement.statement
]

/** One line for each requirement. */
export const listRequirements = Console.log(columns(requirements.map(row)).join("\n"))

const explanationOf = (requirement: Requirement): string => {
  const { because, expected, id, needs, provenBy, sampled, source, statement, strength } = requirement
  const cases = everyDirectedCase(requirement)
  return [
    `${id}  (${scopeOf(requirement)}, ${strength})`,
    "",
    `  ${statement}`,
    "",
    `  Source     ${source}`,
    `  Because    ${because}`,
    `  Expected   ${expected(defaultTerms)}`,
    ...needs.map((need) => `  Needs      ${howToGive[need]}`),
    ...provenBy.map((need) => `  To pass    ${howToGive[need]}${requirement.level === 1 ? ", from level 2 on" : ""}`),
    "  What is sent",
    ...cases.flatMap(({ history, title }) => [
      `    ${title}`,
      ...inWords(history.ops).map((words) => `      ${words}`)
    ]),
    ...(sampled.runs === 0 ? [] : [`    and up to ${sampled.runs} histories drawn from the seed`])
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
