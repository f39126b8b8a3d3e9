/**
 * `doorhook integrations import`: creates the integrations of existing partners from a file, over the operator API.
 */
import { CommandFailure, counted, fileTrouble } from "@doorhook/core"
import { Console, Effect, FileSystem } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { IntegrationImport } from "../embed/OperatorClient.ts"
import { ask, connection, printJson, printLine } from "./operatorApi.ts"

/** A line of the file with an integration. */
interface Line {
  /** Counted from 1. */
  readonly number: number
  readonly value: unknown
}

type Problem = IntegrationImport["problems"][number]

/** Lines per call. A call may look up the names in that many URLs, so it must not take too long. */
const linesPerCall = 100

const parseLine = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The API refuses whatever is not an object, and the problem names the line.
    return text
  }
}

const readLines = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const text = yield* files
    .readFileString(file)
    .pipe(Effect.mapError((error) => CommandFailure.usage(`${file}: ${fileTrouble(error)}`)))
  const lines = text
    .split("\n")
    .flatMap((line, at): ReadonlyArray<Line> =>
      line.trim() === "" ? [] : [{ number: at + 1, value: parseLine(line) }]
    )
  if (lines.length === 0) return yield* CommandFailure.usage(`${file}: has no lines to import`)
  return lines
})

const problemText = (lines: ReadonlyArray<Line>, { at, detail, pointer }: Problem): string => {
  const member = pointer === "" ? "" : ` ${pointer.slice(1)}`
  return `line ${lines[at]?.number ?? "?"}:${member} ${detail}`
}

export const importCommand = Command.make(
  "import",
  {
    ...connection,
    file: Argument.String("file").pipe(Argument.withDescription("File with one JSON object per line")),
    check: Flag.Boolean("check").pipe(
      Flag.withDescription("Only check the file, and create nothing"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* (given) {
    const { check, file, json } = given
    const lines = yield* readLines(file)
    const parts = Array.from({ length: Math.ceil(lines.length / linesPerCall) }, (_, part) =>
      lines.slice(part * linesPerCall, (part + 1) * linesPerCall)
    )
    /** Imports or checks a part, and prints its problems. Returns their number and the integrations. */
    const send = Effect.fnUntraced(function* (part: ReadonlyArray<Line>, checkOnly: boolean) {
      const values = part.map(({ value }) => value)
      const { integrations, problems } = yield* ask(given, (api) => api.integrations.import(values, { checkOnly }))
      for (const problem of problems) yield* Console.error(problemText(part, problem))
      return { problems: problems.length, integrations }
    })
    const checked = yield* Effect.forEach(parts, (part) => send(part, true))
    const wrong = checked.reduce((sum, { problems }) => sum + problems, 0)
    if (wrong > 0) return yield* CommandFailure.usage(`${counted(wrong, "problem")}; nothing was created`)
    if (check) return yield* printLine(`${counted(lines.length, "line")} checked, nothing was created`)
    let [created, failed] = [0, 0]
    for (const part of parts) {
      const { integrations, problems } = yield* send(part, false)
      failed += problems
      for (const { at, created: isNew, id, signing_secret } of integrations) {
        const line = part[at]?.number ?? 0
        if (isNew) created++
        if (json) yield* printJson({ line, id, created: isNew, signing_secret })
        else if (isNew) yield* printLine(`line ${line}: integration ${id} created, signing secret ${signing_secret}`)
        else yield* printLine(`line ${line}: integration ${id} exists already and stays as it is`)
      }
      if (problems > 0) break
    }
    const total = `${counted(created, "integration")} created`
    if (failed > 0) {
      const message = `${total}, then ${counted(failed, "problem")}. Repeat the import to create the others.`
      return yield* new CommandFailure({ message, exitCode: 1 })
    }
    if (!json) yield* printLine(`${total}, ${lines.length - created} existed already`)
  })
).pipe(
  Command.withDescription(
    "Create integrations from a file, one JSON object per line, like createDoorhook's integrations.create takes. Either all lines are right or nothing is created. An integration with the same building or tenant, client and URL exists already, so an import can be repeated"
  ),
  Command.withExamples([
    { command: "doorhook integrations import partners.ndjson --check", description: "Find all problems first" }
  ])
)
