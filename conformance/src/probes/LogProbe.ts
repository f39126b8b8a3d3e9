/**
 * The probe of a log file, which counts the effects of all events.
 */
import { codeOf, CommandFailure, fileTroubleOf } from "@doorhook/core"
import { Effect, Result } from "effect"
import { existsSync } from "node:fs"
import { open } from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { dirname } from "node:path"
import { ProbeUnusable } from "./Probe.ts"
import type { Probe, ProbeReading, Subject } from "./Probe.ts"

const unusable = (file: string, what: string): ProbeUnusable =>
  new ProbeUnusable({
    message: `The log ${file} can't be read: ${what}. Start the receiver so that it logs to this file, or correct --probe.`
  })

/** Makes the error for a log that was overwritten: its earlier lines may be lost. */
const replaced = (file: string): ProbeUnusable =>
  new ProbeUnusable({
    message: `The log ${file} was overwritten during the run, so earlier lines may be lost. It must only grow: let the receiver append to it (>> instead of >), and don't rotate it during a run.`
  })

/** Maximum number of bytes to read at a time. */
const mostAtOnce = 1_048_576

/**
 * Maximum number of bytes to remember from the end of the part that was read. If these bytes of the log change, the log
 * was overwritten.
 */
const mostKnown = 256

/** Counts matches by id as the log grows. Reads only whole lines, because the last line may be incomplete. */
class Tail {
  readonly #file: string
  readonly #pattern: RegExp
  readonly #counts = new Map<string, number>()
  #position = 0
  #known = Buffer.alloc(0)
  #rest = ""

  constructor(file: string, pattern: RegExp) {
    this.#file = file
    this.#pattern = pattern
  }

  /**
   * Opens the file. Returns null if only the folder exists, because a receiver may create the log at its first effect.
   */
  async #open(): Promise<FileHandle | null> {
    try {
      return await open(this.#file, "r")
    } catch (error) {
      if (codeOf(error) === "ENOENT" && existsSync(dirname(this.#file))) return null
      throw error
    }
  }

  /** Whether the bytes that were read last are unchanged. */
  async #isSame(handle: FileHandle): Promise<boolean> {
    const known = this.#known
    const { buffer, bytesRead } = await handle.read({
      buffer: Buffer.alloc(known.length),
      position: this.#position - known.length
    })
    return bytesRead === known.length && buffer.equals(known)
  }

  /** Reads new lines. Returns whether the log has only grown. */
  async catchUp(): Promise<boolean> {
    const handle = await this.#open()
    if (handle === null) return this.#position === 0
    try {
      if (!(await this.#isSame(handle))) return false
      const { size } = await handle.stat()
      const chunk = Buffer.alloc(Math.max(0, Math.min(size - this.#position, mostAtOnce)))
      while (this.#position < size) {
        const { bytesRead } = await handle.read(chunk, 0, Math.min(chunk.length, size - this.#position), this.#position)
        if (bytesRead === 0) return false
        const bytes = chunk.subarray(0, bytesRead)
        this.#position += bytesRead
        this.#known = Buffer.concat([this.#known, bytes.subarray(-mostKnown)]).subarray(-mostKnown)
        const lines = (this.#rest + bytes.toString("latin1")).split("\n")
        this.#rest = lines.pop() ?? ""
        for (const line of lines) this.#count(line)
      }
      return true
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

  countOf(...ids: ReadonlyArray<string>): number {
    return Math.max(...ids.map((id) => this.#counts.get(id) ?? 0))
  }
}

/** The parts of a `log:` probe. */
interface Log {
  readonly file: string
  readonly pattern: RegExp
}

/**
 * Parses `FILE:REGEX`. Both parts may contain colons. Prefers a split that names an existing file, otherwise the
 * shortest file name.
 */
export const parseLog = (text: string): Result.Result<Log, CommandFailure> => {
  const colons = Array.from(text.matchAll(/:/g), ({ index }) => index).filter(
    (at) => at > 0 && at < text.length - 1 && !(at === 1 && /^[A-Za-z]:[\\/]/.test(text))
  )
  const readings = colons.map((at) =>
    Result.try({
      try: (): Log => ({ file: text.slice(0, at), pattern: new RegExp(text.slice(at + 1), "gu") }),
      catch: (error) => CommandFailure.usage(`--probe log: ${error instanceof Error ? error.message : String(error)}`)
    })
  )
  const readable = readings.flatMap((one) => (Result.isSuccess(one) ? [one.success] : []))
  const log = readable.find(({ file }) => existsSync(file)) ?? readable[0]
  if (log !== undefined) return Result.succeed(log)
  const form = CommandFailure.usage("--probe log: write log:FILE:REGEX, where a group of REGEX matches the id")
  return readings[0] ?? Result.fail(form)
}

/**
 * Makes the probe of a log file. Each match is one effect of the event whose webhook-id or `data.id` the group matches.
 */
export const logProbe = (file: string, pattern: RegExp): Probe => {
  const tail = new Tail(file, pattern)
  let reading: Promise<boolean> = Promise.resolve(true)
  const readOn = Effect.tryPromise({
    try: () => {
      reading = reading.then(
        () => tail.catchUp(),
        () => tail.catchUp()
      )
      return reading
    },
    catch: (error) => unusable(file, fileTroubleOf(error))
  }).pipe(Effect.flatMap((grew) => (grew ? Effect.void : Effect.fail(replaced(file)))))
  return {
    kind: "log",
    name: file,
    concurrency: 1,
    read: (subject: Subject): Effect.Effect<ProbeReading, ProbeUnusable> =>
      Effect.map(readOn, () => ({
        effects: tail.countOf(subject.webhookId, subject.dataId),
        digest: null,
        data: null
      }))
  }
}
