/**
 * Writes what came of a run to a file, to be judged anew by `conformance check`.
 */
import { Signature } from "@doorhook/core"
import { Data, Effect } from "effect"
import { writeFile } from "node:fs/promises"
import type { Attempt, Trace } from "../observed/Trace.ts"
import type { Stored } from "../executor/Stored.ts"
import { fileTroubleOf } from "../FileTrouble.ts"
import type { Record } from "../record/Record.ts"
import type { Line } from "./Lines.ts"

/** A trace that can't be written keeps no verdict from being told. */
export class TraceUnwritable extends Data.TaggedError("TraceUnwritable")<{ readonly message: string }> {}

/** A signature is good for some minutes, and traces go to others. */
const withoutSignature = (headers: Attempt["request"]["headers"]): Attempt["request"]["headers"] =>
  Object.hasOwn(headers, Signature.headerNames.signature)
    ? { ...headers, [Signature.headerNames.signature]: "(left out)" }
    : headers

/** The number of each URL, in the order in which they were met: events go to the receiver's first one first. */
const makeNumbering = (): ((endpoint: string) => number) => {
  const known = new Map<string, number>()
  return (endpoint) => {
    const number = known.get(endpoint) ?? known.size
    known.set(endpoint, number)
    return number
  }
}

type Head = Pick<Trace, "began" | "blindToUrls" | "byDataId">

const headOf = ({ began, blindToUrls, byDataId }: Head): Head => ({
  ...(began === undefined ? {} : { began }),
  ...(byDataId === undefined ? {} : { byDataId }),
  ...(blindToUrls === undefined ? {} : { blindToUrls })
})

function* linesOfTrace(x: number, trace: Trace, numberOf: (endpoint: string) => number): Generator<Line> {
  for (const [place, event] of trace.events.entries()) {
    const effects = trace.effects[place] ?? null
    yield { line: "event", x, ...event, effects, effectsElsewhere: trace.effectsElsewhere[place] ?? null }
  }
  for (const { endpoint, request, ...attempt } of trace.attempts) {
    const sent = { ...request, headers: withoutSignature(request.headers) }
    yield { line: "attempt", x, ...attempt, endpoint: numberOf(endpoint), request: sent }
  }
  for (const intervention of trace.interventions) yield { line: "intervention", x, ...intervention }
  for (const shortfall of trace.shortfalls) yield { line: "shortfall", x, ...shortfall }
}

/** The lines of a run, in order. */
export function* linesOf(record: Record, { files, problem }: Stored): Generator<Line> {
  const { calibration, durationMs, echo, ended, facts, refinements, runs, startedAt, strangers, suite, terms } = record
  const numberOf = makeNumbering()
  let x = 0
  yield { line: "run", v: 1, suite, startedAt, facts, terms, echo }
  for (const [place, { alone, case: one, repeats, settled, trace, whole }] of runs.entries()) {
    yield { line: "case", case: place, ...one, alone, whole, settled }
    for (const [repeat, executed] of [trace, ...repeats].entries()) {
      yield { line: "trace", x, case: place, repeat, shortened: null, ...headOf(executed) }
      yield* linesOfTrace(x++, executed, numberOf)
    }
  }
  for (const { confirmed, requirement, shortened } of refinements) {
    yield { line: "confirmed", requirement, ...confirmed }
    if (shortened === null) continue
    const { history } = shortened.trace
    const head = { case: shortened.place, repeat: 0, shortened: { requirement, history } }
    yield { line: "trace", x, ...head, ...headOf(shortened.trace) }
    yield* linesOfTrace(x++, shortened.trace, numberOf)
  }
  yield { line: "end", durationMs, ended, calibration, strangers, stored: Object.fromEntries(files), problem }
}

function* texts(lines: Iterable<Line>): Generator<string> {
  for (const line of lines) yield `${JSON.stringify(line)}\n`
}

/** Writes the trace of a run to a file. */
export const writeTrace = (file: string, record: Record, stored: Stored): Effect.Effect<void, TraceUnwritable> =>
  Effect.tryPromise({
    try: () => writeFile(file, texts(linesOf(record, stored))),
    catch: (error) =>
      new TraceUnwritable({
        message: `The trace could not be written to ${file}: ${fileTroubleOf(error)}. Name a file that can be written by --trace.`
      })
  })
