/** Runs `simulate validate` as a user does, on plans as recorded logs. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { temporaryFolder } from "@doorhook/testkit/Process"
import * as NodePlatform from "@doorhook/testkit/NodePlatform"
import { Effect, Layer, Option } from "effect"
import { Command } from "effect/cli"
import { TestConsole } from "effect/testing"
import { validateCommand } from "../../src/cli/ValidateCommand.ts"
import { lineChunks } from "../../src/plan/Plan.ts"
import { toIso } from "../../src/plan/PlannedEvent.ts"
import type { judgePlan } from "../../src/validate/Validate.ts"
import { preset } from "@doorhook/simulator"
import { startAt } from "../support.ts"

export const validate = (...args: ReadonlyArray<string>) => Command.runWith(validateCommand, { version: "0" })(args)
export const platform = Layer.mergeAll(NodePlatform.layer, TestConsole.layer)

export const hour = 3_600_000
export const day = 24 * hour

export const linesOf = (name: string, seed: number, days = 1, rateScale = 1): ReadonlyArray<string> => {
  const decoder = new TextDecoder()
  const scenario = Option.getOrThrow(preset(name))
  const options = { seed, start: startAt("2026-03-03T00:00"), duration: days * day, rateScale }
  return [...lineChunks(scenario, options)].flatMap(({ bytes }) => decoder.decode(bytes).trimEnd().split("\n"))
}

/** Gives events new times, in ascending order. */
export const moved = (
  lines: ReadonlyArray<string>,
  move: (time: number, index: number, all: ReadonlyArray<number>) => number
) => {
  const times = lines.map((line) => Date.parse(JSON.parse(line).at))
  const others = times.map(move).toSorted((a, b) => a - b)
  return lines.map((line, index) => {
    const at = toIso(others[index] ?? 0)
    const event = JSON.parse(line)
    return JSON.stringify({ ...event, at, data: { ...event.data, logged_at: at } })
  })
}

export const run = Effect.fnUntraced(function* (lines: ReadonlyArray<string>, ...args: ReadonlyArray<string>) {
  const file = join(yield* temporaryFolder, "events.ndjson")
  yield* Effect.promise(() => writeFile(file, `${lines.join("\n")}\n`))
  const failure = yield* Effect.option(Effect.flip(validate(file, ...args)))
  return { failure, text: (yield* TestConsole.logLines).join("\n") }
})

export const failedOf = (checks: Effect.Success<ReturnType<typeof judgePlan>>) =>
  checks.filter(({ verdict }) => verdict === "FAIL").map(({ name }) => name)
