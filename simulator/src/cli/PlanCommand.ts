/** `simulate plan`: writes the events of a scenario, one per line, and sends nothing. */
import { checkDifferent, CommandFailure, fileTrouble } from "@doorhook/core"
import { randomBytes } from "node:crypto"
import type { PlatformError } from "effect"
import { Console, Effect, FileSystem, Option, Predicate, Stdio, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import type { LineChunk } from "../plan/Plan.ts"
import { lineChunks } from "../plan/Plan.ts"
import { grouped } from "../results/Format.ts"
import { lineOfArrival } from "../run/Load.ts"
import { readEvents } from "../run/RecordedLoad.ts"
import type { Places } from "../scenario/Directory.ts"
import { buildingsAndTenants, directoryOf } from "../scenario/Directory.ts"
import type { Premises } from "../run/Integrations.ts"
import type { LogTexts, PlanTexts } from "./Flags.ts"
import { callEnd, checkSource, logFlags, planFlags, readLogFlags, readPlan, readTypes, scenarioFile } from "./Flags.ts"

const standardOutput = "-"

/** Whether the error means that a reader like `head` has closed the pipe. */
const isClosedPipe = (error: unknown): boolean =>
  Predicate.hasProperty(error, "code") && error.code === "EPIPE"
    ? true
    : Predicate.hasProperty(error, "cause") && isClosedPipe(error.cause)

const cannotWrite = (target: string, error: PlatformError.PlatformError) =>
  new CommandFailure({ message: `Cannot write ${target}: ${fileTrouble(error)}`, exitCode: 1 })

/** Returns a function that writes the labels of a chunk, one per line; null without a file. */
const labelWriter = Effect.fnUntraced(function* (path: Option.Option<string>) {
  if (Option.isNone(path)) return null
  const files = yield* FileSystem.FileSystem
  const file = yield* Effect.mapError(files.open(path.value, { flag: "w" }), (error) => cannotWrite(path.value, error))
  const encoder = new TextEncoder()
  return (lines: ReadonlyArray<string>) =>
    lines.length === 0
      ? Effect.void
      : Effect.mapError(file.writeAll(encoder.encode(lines.join(""))), (error) => cannotWrite(path.value, error))
})

/** Where the lines come from. */
interface Source {
  /** Remarks about the source, one per line. */
  readonly notes: ReadonlyArray<string>
  readonly places: () => Places
  /** Returns the lines, and calls `label` with the label of each anomaly as a line. */
  readonly chunks: (label: (line: string) => void) => Stream.Stream<LineChunk, CommandFailure>
}

const sourceOfPlan = Effect.fnUntraced(function* (
  texts: PlanTexts
): Effect.fn.Return<Source, CommandFailure, FileSystem.FileSystem> {
  const { scenario, options } = yield* readPlan(texts)
  return {
    notes: [],
    places: () => buildingsAndTenants(scenario),
    chunks: (label) =>
      Stream.fromIteratorSucceed(
        lineChunks(scenario, options, ({ occurrence }) => {
          if (occurrence.label !== null) label(`{"id":${occurrence.id},"label":"${occurrence.label}"}\n`)
        }),
        1
      )
  }
})

/** Returns the buildings and tenants that occur in a recorded log. */
const premisesInDirectory = (premises: ReadonlyArray<Premises>): Places => {
  const named = premises.map((own) => ({ ...own, ...own.details() }))
  return {
    buildings: named.map(({ id, name, zone }) => ({ id, name, time_zone: zone, access_points: [] })),
    tenants: named.flatMap(({ id, tenants }) =>
      tenants.map((tenant) => ({ id: tenant, building_id: id, unit: { id: tenant, label: `${tenant}` } }))
    )
  }
}

/** Writes the events of a recorded log in the form of a plan. */
const sourceOfLog = Effect.fnUntraced(function* (
  path: string,
  texts: LogTexts & Pick<PlanTexts, "callEnd">
): Effect.fn.Return<Source, CommandFailure, FileSystem.FileSystem | Stdio.Stdio> {
  const types = yield* readTypes(texts.callEnd === true, path)
  const { arrivals, counts, premises } = yield* readEvents(path, yield* readLogFlags(texts), types, Infinity)
  const encoder = new TextEncoder()
  return {
    notes: counts.lines(),
    places: () => premisesInDirectory(premises),
    chunks: () =>
      Stream.mapArray(arrivals, (chunk) => [
        { bytes: encoder.encode(chunk.map(lineOfArrival).join("")), events: chunk.length }
      ])
  }
})

/** Writes a directory with new random secrets. */
const writeDirectory = Effect.fnUntraced(function* (path: string, places: Places) {
  const files = yield* FileSystem.FileSystem
  const secret = () => randomBytes(16).toString("base64url")
  const text = `${JSON.stringify(directoryOf(places, { client: secret(), user: secret() }), null, 2)}\n`
  yield* Effect.mapError(files.writeFileString(path, text, { mode: 0o600 }), (error) => cannotWrite(path, error))
})

export const planCommand = Command.make(
  "plan",
  {
    ...planFlags,
    callEnd,
    ...logFlags,
    out: Flag.String("out").pipe(
      Flag.withDescription("File to write the events to, or - for standard output"),
      Flag.withDefault(standardOutput)
    ),
    labels: Flag.String("labels").pipe(
      Flag.withDescription(
        "File to write the labels of anomalies to, one line each: the id of the event and its label"
      ),
      Flag.optional
    ),
    directory: Flag.String("directory").pipe(
      Flag.withDescription(
        "File to write the plan's directory to, for doorhook serve --directory: buildings, tenants, a client and a user"
      ),
      Flag.optional
    )
  },
  Effect.fnUntraced(
    function* ({ directory, labels, out, ...texts }) {
      const ofPlans = ["preset", "scenario", "buildings", "seed", "start", "duration", "rateScale", "labels"] as const
      yield* checkSource({ ...texts, labels }, Option.getOrNull(texts.events), ofPlans)
      const source = yield* Option.isSome(texts.events) ? sourceOfLog(texts.events.value, texts) : sourceOfPlan(texts)
      yield* checkDifferent([
        ...scenarioFile(texts),
        ...Option.toArray(Option.map(texts.events, (file) => ({ said: `--events ${file}`, file }))),
        ...(out === standardOutput ? [] : [{ said: `--out ${out}`, file: out }]),
        ...Option.toArray(Option.map(labels, (file) => ({ said: `--labels ${file}`, file }))),
        ...Option.toArray(Option.map(directory, (file) => ({ said: `--directory ${file}`, file })))
      ])
      for (const note of source.notes) yield* Console.error(note)
      if (Option.isSome(directory)) {
        yield* writeDirectory(directory.value, source.places())
        yield* Console.error(`directory written to ${directory.value}`)
      }
      const writeLabels = yield* labelWriter(labels)
      let count = 0
      let labelled: Array<string> = []
      const chunks = source.chunks((label) => labelled.push(label))
      const lines = chunks.pipe(
        Stream.mapEffect(
          Effect.fnUntraced(function* ({ bytes, events }) {
            count += events
            if (writeLabels !== null) yield* writeLabels(labelled)
            labelled = []
            return bytes
          })
        )
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
      yield* Stream.run(lines, files.sink(out)).pipe(
        Effect.catchTag("PlatformError", (error) => Effect.fail(cannotWrite(out, error)))
      )
      yield* Console.error(`${grouped(count)} events written to ${out}`)
    },
    (effect) => Effect.scoped(effect)
  )
).pipe(
  Command.withDescription("Write the events of a scenario as NDJSON, in order of time, without sending them"),
  Command.withExamples([
    {
      command:
        "doorhook simulate plan --preset office-1000 --seed 7 --start 2026-03-02T00:00 --duration 24h --out events.ndjson",
      description: "A Monday in an office building"
    },
    {
      command:
        "doorhook simulate plan --events log.csv --columns 'time=Zeit,kind=Ereignis' --values 'Türruf=call' --out events.ndjson",
      description: "A recorded log in the form of a plan"
    }
  ])
)
