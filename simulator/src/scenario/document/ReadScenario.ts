/**
 * Reads a scenario file, or says all that is wrong with it: line, column, JSON path, and what is accepted.
 */
import { DurationText, schemaProblems } from "@doorhook/core"
import { Result, Schema } from "effect"
import type { Scenario } from "../Scenario.ts"
import { mostBuildings } from "../Scenario.ts"
import { jsonPlaces, lineAndColumn, NotJson } from "./JsonPlaces.ts"
import { placesOf, resolve } from "./Resolve.ts"
import { ScenarioDocument } from "./ScenarioDocument.ts"
import { cellMillis, isDrawable } from "../../traffic/DayShape.ts"
import { DayShapeValue, millisOf, shapeOf } from "./Values.ts"

/** One thing that is wrong with a scenario file. */
const ScenarioProblem = Schema.Struct({
  line: Schema.Int,
  column: Schema.Int,
  /** JSONPath (RFC 9535), like `$.buildings[0].name`. */
  path: Schema.String,
  detail: Schema.String
})
type ScenarioProblem = typeof ScenarioProblem.Type

/** The scenario can't be used: these are the reasons. */
export class InvalidScenario extends Schema.TaggedError<InvalidScenario>()("InvalidScenario", {
  problems: Schema.Array(ScenarioProblem)
}) {
  override get message(): string {
    return this.problems
      .map(({ line, column, path, detail }) => `line ${line}, column ${column}: ${path} ${detail}`)
      .join("; ")
  }
}

const decode = Schema.decodeUnknownResult(ScenarioDocument, { errors: "all", onExcessProperty: "error" })

const isName = /^[A-Za-z_$][\w$]*$/

/** A JSON Pointer as a JSONPath. */
const jsonPath = (pointer: string): string =>
  pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, token) => {
      if (/^\d+$/.test(token)) return `${path}[${token}]`
      return isName.test(token) ? `${path}.${token}` : `${path}[${JSON.stringify(token)}]`
    }, "$")

interface Problem {
  readonly pointer: string
  readonly detail: string
}

const isDayShape = Schema.is(DayShapeValue)

/** Whether anybody can come by a shape at all. */
const shapeProblems = (shape: typeof DayShapeValue.Type, pointer: string): ReadonlyArray<Problem> => {
  const { even, from, peaks, to } = shape
  if (from >= to) return [{ pointer, detail: "must have `from` before `to`" }]
  if (peaks.reduce((sum, { weight }) => sum + weight, even) <= 0)
    return [{ pointer, detail: "must have `even` or the weight of a peak above 0" }]
  const narrow = peaks.flatMap(({ spread, weight }, index) =>
    weight > 0 && millisOf(spread) < cellMillis
      ? [{ pointer: `${pointer}/peaks/${index}/spread`, detail: `must be at least ${DurationText.format(cellMillis)}` }]
      : []
  )
  if (narrow.length > 0 || isDrawable(shapeOf(shape))) return narrow
  const detail = `must have arrivals between \`from\` and \`to\`: a window of at least ${DurationText.format(cellMillis)}, \`even\` above 0 or a peak within it`
  return [{ pointer, detail }]
}

/** What a schema can't say. */
const furtherProblems = (document: ScenarioDocument): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const places = placesOf(document)
  const owners = new Map<number, number>()
  for (const { id, index } of places) {
    if (owners.has(id))
      problems.push({ pointer: `/buildings/${index}`, detail: `has the id ${id} of another building` })
    owners.set(id, index)
  }
  if (places.length > mostBuildings) {
    problems.push({ pointer: "/buildings", detail: `must be at most ${mostBuildings} buildings, copies included` })
  }
  for (const [index, { flows = {}, homes, offices }] of document.buildings.entries()) {
    const pointer = `/buildings/${index}`
    if (homes === undefined && offices === undefined) {
      problems.push({ pointer, detail: "must have `homes`, `offices` or both" })
    }
    for (const [use, methods] of [
      ["homes", homes?.entry_methods],
      ["offices", offices?.entry_methods]
    ] as const) {
      if (methods !== undefined && Object.values(methods).every((share) => share === 0))
        problems.push({ pointer: `${pointer}/${use}/entry_methods`, detail: "must have a share above 0" })
    }
    for (const [name, flow] of Object.entries(flows)) {
      const needs = ["residents", "visitors", "parcels", "food"].includes(name)
        ? "homes"
        : name === "trades"
          ? null
          : "offices"
      if ((needs === "homes" && homes === undefined) || (needs === "offices" && offices === undefined)) {
        problems.push({ pointer: `${pointer}/flows/${name}`, detail: `is of a building with \`${needs}\`` })
      }
      for (const shape of ["on_weekdays", "on_weekends", "errand_times", "room_times"] as const) {
        const given: unknown = Reflect.get(flow, shape)
        if (isDayShape(given)) problems.push(...shapeProblems(given, `${pointer}/flows/${name}/${shape}`))
      }
    }
  }
  return problems
}

/** Reads the text of a scenario file. */
export const readScenario = (text: string): Result.Result<Scenario, InvalidScenario> => {
  let places: ReadonlyMap<string, number>
  const source = text.replace(/^\ufeff/, "")
  try {
    places = jsonPlaces(source)
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    const detail = `is not JSON: ${error.message}`
    return Result.fail(
      new InvalidScenario({ problems: [{ ...lineAndColumn(source, error.at), path: "the file", detail }] })
    )
  }
  const located = (problems: ReadonlyArray<Problem>) =>
    new InvalidScenario({
      problems: problems.map(({ pointer, detail }) => {
        // Something missing is shown where it should be.
        let known = pointer
        while (!places.has(known)) known = known.slice(0, known.lastIndexOf("/"))
        return { ...lineAndColumn(source, places.get(known) ?? 0), path: jsonPath(pointer), detail }
      })
    })
  const decoded = decode(JSON.parse(source))
  if (Result.isFailure(decoded)) return Result.fail(located(schemaProblems(decoded.failure)))
  const problems = furtherProblems(decoded.success)
  return problems.length === 0 ? Result.succeed(resolve(decoded.success)) : Result.fail(located(problems))
}
