/**
 * The probe that is a log file: each match of a regular expression is one effect, of the event whose id its group holds.
 */
import { CommandFailure } from "@doorhook/core"
import { Effect, Result } from "effect"
import { open } from "node:fs/promises"
import { eventIdsIn } from "../executor/Strangers.ts"
import type { Probe, ProbeReading, Subject } from "./Probe.ts"
import { ProbeUnusable } from "./Probe.ts"

const unusable = (file: string, what: string): ProbeUnusable =>
  new ProbeUnusable({
    message: `The log ${file} can't be read: ${what}. Start the receiver with its log there, or correct --probe.`
  })

/** Counts matches by id, reading on from where it had come to. Whole lines only: one may still be written. */
class Tail {
  readonly #file: string
  readonly #pattern: RegExp
  readonly #counts = new Map<string, number>()
  #position = 0
  #rest = ""

  constructor(file: string, pattern: RegExp) {
    this.#file = file
    this.#pattern = pattern
  }

  async catchUp(): Promise<void> {
    const handle = await open(this.#file, "r")
    try {
      const { size } = await handle.stat()
      // A log that has become shorter was begun anew; what was counted before still happened.
      if (size < this.#position) {
        this.#position = 0
        this.#rest = ""
      }
      const chunk = Buffer.alloc(size - this.#position)
      const { bytesRead } = await handle.read(chunk, 0, chunk.length, this.#position)
      this.#position += bytesRead
      const lines = (this.#rest + chunk.subarray(0, bytesRead).toString("latin1")).split("\n")
      this.#rest = lines.pop() ?? ""
      for (const line of lines) this.#count(line)
    } finally {
      await handle.close()
    }
  }

  #count(line: string): void {
    for (const match of Buffer.from(line, "latin1").toString("utf8").matchAll(this.#pattern)) {
      const id = match.groups?.["id"] ?? match[1] ?? match[0]
      this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1)
    }
  }

  ids(): ReadonlyArray<string> {
    return [...this.#counts.keys()].flatMap(eventIdsIn)
  }

  countOf(...ids: ReadonlyArray<string>): number {
    return Math.max(...ids.map((id) => this.#counts.get(id) ?? 0))
  }
}

/** Reads `FILE:REGEX`; the file ends at the first colon that is followed by a readable expression with a group. */
export const parseLog = (
  text: string
): Result.Result<{ readonly file: string; readonly pattern: RegExp }, CommandFailure> => {
  const split = text.indexOf(":", /^[A-Za-z]:[\\/]/.test(text) ? 2 : 0)
  const file = split === -1 ? "" : text.slice(0, split)
  const source = split === -1 ? "" : text.slice(split + 1)
  if (file === "" || source === "") {
    return Result.fail(
      CommandFailure.usage("--probe log: write log:FILE:REGEX, the expression with a group for the id")
    )
  }
  return Result.try({
    try: () => ({ file, pattern: new RegExp(source, "gu") }),
    catch: (error) => CommandFailure.usage(`--probe log: ${error instanceof Error ? error.message : String(error)}`)
  })
}

/** The group may hold the webhook-id or `data.id`. */
export const logProbe = (file: string, pattern: RegExp): Probe => {
  const tail = new Tail(file, pattern)
  let reading: Promise<void> = Promise.resolve()
  const readOn = Effect.tryPromise({
    try: () => {
      reading = reading.then(
        () => tail.catchUp(),
        () => tail.catchUp()
      )
      return reading
    },
    catch: (error) => unusable(file, error instanceof Error ? error.message : String(error))
  })
  return {
    kind: "log",
    name: file,
    concurrency: 1,
    read: (subject: Subject): Effect.Effect<ProbeReading, ProbeUnusable> =>
      Effect.map(readOn, () => ({ effects: tail.countOf(subject.webhookId, subject.dataId), digest: null })),
    seen: Effect.map(readOn, () => tail.ids())
  }
}
