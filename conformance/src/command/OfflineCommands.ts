/**
 * The commands that send nothing: `conformance list` and `explain` describe requirements, and `check` judges the evidence
 * that a run wrote.
 */
import { columns, CommandFailure, fileTrouble } from "@doorhook/core"
import { Console, Effect, FileSystem, Schema } from "effect"
import { program } from "../Program.ts"
import { inWords, strengthOf } from "../history/Operations.ts"
import { defaultCriteria } from "../judgement/Criteria.ts"
import { EvidenceLine } from "../record/Evidence.ts"
import { outcomesOf } from "../record/Outcome.ts"
import { makeReport } from "../report/MakeReport.ts"
import * as Reports from "../report/Reports.ts"
import { opening, render } from "../report/Text.ts"
import { find, ids, requirements } from "../requirements/Catalogue.ts"
import { loadRules } from "../requirements/OwnRules.ts"
import { everyCaseOf, needs } from "../requirements/Requirement.ts"
import type { Requirement } from "../requirements/Requirement.ts"
import { failUnlessPassed } from "./RunCommand.ts"

const scopeOf = ({ level, profile }: Requirement): string =>
  `level ${level}${profile === null ? "" : `, profile ${profile}`}`

/** Prints one line for each requirement. */
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
    `  Expected   ${expected(defaultCriteria)}`,
    ...needed.map((need) => `  Needs      ${needs[need].toGive}`),
    ...provenBy.map(
      (need) => `  To pass    ${needs[need].toGive}${requirement.level === 1 ? " (at levels 2 and 3)" : ""}`
    ),
    "  What is sent",
    ...everyCaseOf(requirement).flatMap(({ history, strength: own, title }) => [
      `    ${title}${(own ?? strengthOf(history.ops)) === "SHOULD" && strength === "MUST" ? " (SHOULD)" : ""}`,
      ...inWords(history.ops).map((words) => `      ${words}`)
    ]),
    ...(sampled.runs === 0 ? [] : [`    and up to ${sampled.runs} histories drawn from the seed`])
  ].join("\n")
}

/** Prints everything about a requirement. */
export const explainRequirement = Effect.fnUntraced(function* (id: string) {
  const requirement = find(id)
  if (requirement === undefined) {
    return yield* CommandFailure.usage(`explain ${id}: no such requirement; the ids are ${ids()}`)
  }
  yield* Console.log(explanationOf(requirement))
})

/** Reads the evidence of an earlier run. */
const readEvidence = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs
    .readFileString(file)
    .pipe(Effect.mapError((error) => CommandFailure.usage(`check ${file}: it can't be read: ${fileTrouble(error)}`)))
  return yield* Schema.decodeEffect(EvidenceLine)(text).pipe(
    Effect.mapError(() =>
      CommandFailure.usage(
        `check ${file}: it is no evidence of this version; write it with \`${program.called} run --trace ${file}\``
      )
    )
  )
})

/** Judges the evidence of an earlier run and prints the verdicts. Fails with the same exit codes as a run. */
export const runCheck = Effect.fnUntraced(function* (flags: {
  readonly file: string
  readonly report: ReadonlyArray<string>
}) {
  const { file } = flags
  const requests = yield* Effect.fromResult(Reports.parse(flags.report))
  yield* Reports.check(requests, [], [{ said: `EVIDENCE ${file}`, file }])
  const evidence = yield* readEvidence(file)
  yield* loadRules(evidence.options.rules)
  const report = makeReport(evidence, outcomesOf(evidence), { files: new Map(), problem: null })
  yield* Console.log(opening(report))
  yield* Console.log(render(report))
  yield* Reports.write(requests, report)
  yield* failUnlessPassed(report)
})
