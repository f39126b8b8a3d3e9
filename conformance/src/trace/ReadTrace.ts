/**
 * Reads a stored trace back: what came of a run, as it was when it ended.
 */
import { CommandFailure } from "@doorhook/core"
import { Effect, Schema } from "effect"
import { createReadStream } from "node:fs"
import type { CaseRun, Refinement } from "../executor/Judgement.ts"
import type { Attempt, Effects, Trace } from "../observed/Trace.ts"
import type { History } from "../history/History.ts"
import type { Stored } from "../executor/Stored.ts"
import { fileTroubleOf } from "../FileTrouble.ts"
import type { Facts } from "../record/Facts.ts"
import type { Record } from "../record/Record.ts"
import { Line } from "./Lines.ts"

/** A run as it was stored. */
export interface StoredRun {
  readonly record: Record
  readonly stored: Stored
}

type Of<K extends Line["line"]> = Extract<Line, { readonly line: K }>

const isOf =
  <K extends Line["line"]>(kind: K) =>
  (one: Line): one is Of<K> =>
    one.line === kind

/** One trace in reading. */
interface Reading {
  readonly head: Of<"trace">
  readonly events: Array<Of<"event">>
  readonly attempts: Array<Of<"attempt">>
  readonly interventions: Array<Of<"intervention">>
  readonly shortfalls: Array<Of<"shortfall">>
}

/** What was never read is empty, as it was. */
const orEmpty = (effects: ReadonlyArray<Effects | null>): ReadonlyArray<Effects | null> =>
  effects.every((one) => one === null) ? [] : effects

/** URLs that differ in their queries alone were two, and must stay so. */
const attemptOf = ({ otherUrls, url }: Facts, { endpoint, ...attempt }: Of<"attempt">): Attempt => ({
  ...attempt,
  endpoint: endpoint === 0 ? url : `${otherUrls[endpoint - 1] ?? url}#${endpoint}`
})

const traceOf = (facts: Facts, history: History, reading: Reading): Trace => ({
  history,
  events: reading.events,
  attempts: reading.attempts.map((one) => attemptOf(facts, one)),
  interventions: reading.interventions,
  shortfalls: reading.shortfalls,
  effects: orEmpty(reading.events.map(({ effects }) => effects)),
  effectsElsewhere: orEmpty(reading.events.map(({ effectsElsewhere }) => effectsElsewhere)),
  ...(reading.head.began === undefined ? {} : { began: reading.head.began }),
  ...(reading.head.byDataId === undefined ? {} : { byDataId: reading.head.byDataId }),
  ...(reading.head.blindToUrls === undefined ? {} : { blindToUrls: reading.head.blindToUrls })
})

/** Puts the lines of a run together; null where one that can't be missing is. */
export const fromLines = (lines: Iterable<Line>): StoredRun | null => {
  const readings = new Map<number, Reading>()
  const others: Array<Line> = []
  for (const line of lines) {
    switch (line.line) {
      case "trace":
        readings.set(line.x, { head: line, events: [], attempts: [], interventions: [], shortfalls: [] })
        break
      case "event":
        readings.get(line.x)?.events.push(line)
        break
      case "attempt":
        readings.get(line.x)?.attempts.push(line)
        break
      case "intervention":
        readings.get(line.x)?.interventions.push(line)
        break
      case "shortfall":
        readings.get(line.x)?.shortfalls.push(line)
        break
      default:
        others.push(line)
    }
  }
  const run = others.find(isOf("run"))
  const end = others.find(isOf("end"))
  if (run === undefined || end === undefined) return null
  const all = Array.from(readings.values())
  const runs = others.filter(isOf("case")).flatMap((one): ReadonlyArray<CaseRun> => {
    const { alone, case: place, history, lane, settled, title, whole } = one
    const [trace, ...repeats] = all
      .filter(({ head }) => head.case === place && head.shortened === null)
      .toSorted((a, b) => a.head.repeat - b.head.repeat)
      .map((reading) => traceOf(run.facts, history, reading))
    return trace === undefined ? [] : [{ case: { title, lane, history }, alone, whole, settled, trace, repeats }]
  })
  const refinements = others.filter(isOf("confirmed")).map(({ failed, requirement, tried }): Refinement => {
    const shortened = all.flatMap((reading) => {
      const { case: place, shortened: short } = reading.head
      return short?.requirement === requirement ? [{ place, trace: traceOf(run.facts, short.history, reading) }] : []
    })
    return { requirement, confirmed: { tried, failed }, shortened: shortened[0] ?? null }
  })
  const { echo, facts, startedAt, suite, terms } = run
  const { calibration, durationMs, ended, problem, stored, strangers } = end
  return {
    record: { suite, facts, terms, echo, startedAt, durationMs, calibration, ended, runs, refinements, strangers },
    stored: { files: new Map(Object.entries(stored)), problem }
  }
}

const decode = Schema.decodeEffect(Schema.fromJsonString(Line))

const advice = "`conformance run --trace FILE` writes one."

/** Text may hold U+2028 and U+2029: Node's own readers of lines take them for ends of one. */
const readLines = (file: string): Effect.Effect<ReadonlyArray<string>, CommandFailure> =>
  Effect.tryPromise({
    try: async () => {
      const lines: Array<string> = []
      let rest = ""
      for await (const chunk of createReadStream(file, "utf8")) {
        const texts = `${rest}${String(chunk)}`.split("\n")
        rest = texts.pop() ?? ""
        for (const text of texts) lines.push(text)
      }
      return rest === "" ? lines : [...lines, rest]
    },
    catch: (error) => CommandFailure.usage(`${file} can't be read: ${fileTroubleOf(error)}. ${advice}`)
  })

/** Reads a stored trace. */
export const readTrace = Effect.fnUntraced(function* (file: string): Effect.fn.Return<StoredRun, CommandFailure> {
  const texts = yield* readLines(file)
  const lines = yield* Effect.forEach(texts, (text, index) =>
    Effect.mapError(decode(text), () =>
      CommandFailure.usage(`${file} is no trace of this suite: line ${index + 1} can't be understood. ${advice}`)
    )
  )
  const stored = fromLines(lines)
  if (stored === null) {
    return yield* CommandFailure.usage(`${file} is not a whole trace: it lacks its first or its last line. ${advice}`)
  }
  return stored
})
