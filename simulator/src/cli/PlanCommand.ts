/**
 * `simulate plan`: writes down what would happen, one event a line, and sends nothing.
 */
import { CommandFailure } from "@doorhook/core"
import type { PlatformError } from "effect"
import { Console, Effect, FileSystem, Predicate, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { toNdjson } from "../plan/Ndjson.ts"
import { plan } from "../plan/Plan.ts"
import { grouped } from "../run/RunText.ts"
import { planFlags, readPlan } from "./Flags.ts"

const standardOutput = "-"

/** Whether a reader like `head` has seen enough and closed the pipe. */
const isClosedPipe = (error: unknown): boolean =>
  Predicate.hasProperty(error, "code") && error.code === "EPIPE"
    ? true
    : Predicate.hasProperty(error, "cause") && isClosedPipe(error.cause)

const cannotWrite = (target: string, error: PlatformError.PlatformError) =>
  new CommandFailure({ message: `Cannot write ${target}: ${error.message}`, exitCode: 1 })

export const planCommand = Command.make(
  "plan",
  {
    ...planFlags,
    out: Flag.String("out").pipe(
      Flag.withDescription("A file for the events, or - for standard output"),
      Flag.withDefault(standardOutput)
    )
  },
  Effect.fnUntraced(function* ({ out, ...texts }) {
    const { scenario, options } = yield* readPlan(texts)
    let count = 0
    const lines = plan(scenario, options).pipe(
      Stream.mapArray((events) => {
        count += events.length
        return events
      }),
      toNdjson
    )
    if (out === standardOutput) {
      const stdio = yield* Stdio.Stdio
      return yield* Stream.run(lines, stdio.stdout()).pipe(
        Effect.catchTag("PlatformError", (error) =>
          isClosedPipe(error) ? Effect.void : Effect.fail(cannotWrite("standard output", error))
        )
      )
    }
    const files = yield* FileSystem.FileSystem
    yield* Stream.run(lines, files.sink(out)).pipe(Effect.mapError((error) => cannotWrite(out, error)))
    yield* Console.error(`${grouped(count)} events written to ${out}`)
  })
).pipe(
  Command.withDescription("Write the events of a scenario as NDJSON, in order of time, without sending them"),
  Command.withExamples([
    {
      command:
        "doorhook simulate plan --preset office-1000 --seed 7 --start 2026-03-02T00:00 --duration 24h --out events.ndjson",
      description: "A Monday of an office house"
    }
  ])
)
