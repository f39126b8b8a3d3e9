/**
 * Probes that count what they find, for all events at once: matches in a log file, requests at a sink.
 */
import { CommandFailure, eventIdPrefix, eventIdsIn, fileTroubleOf } from "@doorhook/core"
import { Effect, Result } from "effect"
import type { Scope } from "effect"
import { existsSync } from "node:fs"
import { open } from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { createServer } from "node:http"
import type { IncomingMessage, Server } from "node:http"
import { dirname } from "node:path"
import { unescape } from "node:querystring"
import { codeOf } from "../evidence/Exchange.ts"
import { ProbeUnusable } from "./Probe.ts"
import type { Probe, ProbeReading, Subject } from "./Probe.ts"

const unusable = (file: string, what: string): ProbeUnusable =>
  new ProbeUnusable({
    message: `The log ${file} can't be read: ${what}. Start the receiver with its log there, or correct --probe.`
  })

/** What stood in it may be gone before it was read: nothing can be said of what the receiver did. */
const replaced = (file: string): ProbeUnusable =>
  new ProbeUnusable({
    message: `The log ${file} was begun again during the run, so that what it held before may be lost. It must only grow: let the receiver append to it (>> instead of >), and rotate it at another time.`
  })

/** The most that is read at once, in bytes: a log may be old and long. */
const mostAtOnce = 1_048_576

/** A log is recognised by this many of the bytes that were read last. */
const mostKnown = 256

/** Counts matches by id, reading on from where it had come to. Whole lines only: one may still be written. */
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

  /** Opens the file; null while there is none in a folder that is there: a receiver may make it at its first effect. */
  async #open(): Promise<FileHandle | null> {
    try {
      return await open(this.#file, "r")
    } catch (error) {
      if (codeOf(error) === "ENOENT" && existsSync(dirname(this.#file))) return null
      throw error
    }
  }

  /** Whether what was read last still stands where it stood. */
  async #isSame(handle: FileHandle): Promise<boolean> {
    const known = this.#known
    const { buffer, bytesRead } = await handle.read({
      buffer: Buffer.alloc(known.length),
      position: this.#position - known.length
    })
    return bytesRead === known.length && buffer.equals(known)
  }

  /** Reads on; whether that could be, because the log only grew. */
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

  ids(): ReadonlyArray<string> {
    return [...this.#counts.keys()].flatMap(eventIdsIn)
  }

  countOf(...ids: ReadonlyArray<string>): number {
    return Math.max(...ids.map((id) => this.#counts.get(id) ?? 0))
  }
}

/** What a `log:` probe is made from. */
interface Log {
  readonly file: string
  readonly pattern: RegExp
}

/** Reads `FILE:REGEX`. Either may hold colons: the file is the one that is there, else it ends as early as it can. */
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
  const form = CommandFailure.usage("--probe log: write log:FILE:REGEX, the expression with a group for the id")
  return readings[0] ?? Result.fail(form)
}

/** The group may hold the webhook-id or `data.id`. */
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
      })),
    seen: Effect.map(readOn, () => tail.ids())
  }
}

const mostBytes = 1_048_576

/** Where the id may stand, which the receiver may write as wrongly as it likes: in the path, the query, a header or the body; as webhook-id, or as data.id of its own. */
const textOf = (request: IncomingMessage, body: string): string =>
  [
    unescape(request.url ?? "").replaceAll("+", " "),
    ...Object.entries(request.headers).flatMap(([, value]) => value ?? []),
    body
  ].join("\n")

/** What the receiver says that all requests for one effect share; null where it does not say. */
const keyOf = ({ headers }: IncomingMessage): string | null => {
  const key = headers["idempotency-key"]
  return key === undefined || key === "" ? null : String(key)
}

const isEventId = new RegExp(`^${eventIdPrefix}[0-9A-Za-z]{1,80}$`)
/** What `data.id` may be. */
const isNumber = /^\d{1,20}$/

/** How many requests mention which ids. Bodies are not kept: a receiver may send many, for long. */
class Mentions {
  readonly #requests = new Map<string, number>()
  readonly #keys = new Set<string>()

  /**
   * An id counts once in a request, and not as a part of a longer word. A number beside a webhook-id is none of its own:
   * events of two types may share one. A key that came before makes a request no further effect, whatever it mentions.
   */
  add(text: string, key: string | null): void {
    if (key !== null && this.#keys.has(key)) return
    if (key !== null) this.#keys.add(key)
    const words = [...new Set(text.match(/[A-Za-z0-9_-]+/g))]
    const ids = words.filter((word) => isEventId.test(word))
    for (const id of ids.length > 0 ? ids : words.filter((word) => isNumber.test(word))) {
      this.#requests.set(id, (this.#requests.get(id) ?? 0) + 1)
    }
  }

  /** How many requests are about an event, by its webhook-id or by `data.id` alone. */
  countOf(webhookId: string, dataId: string): number {
    return (this.#requests.get(webhookId) ?? 0) + (this.#requests.get(dataId) ?? 0)
  }

  ids(): ReadonlyArray<string> {
    return [...this.#requests.keys()].flatMap(eventIdsIn)
  }
}

const listen = (port: number, received: Mentions): Effect.Effect<Server, ProbeUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Server, ProbeUnusable>((resume) => {
      const server = createServer((request, response) => {
        let body = ""
        request.setEncoding("utf8")
        request.on("data", (chunk) => {
          if (body.length < mostBytes) body += chunk
        })
        request.on("end", () => {
          received.add(textOf(request, body), keyOf(request))
          response.end("{}")
        })
      })
      server.on("error", (error) =>
        resume(
          Effect.fail(
            new ProbeUnusable({
              message: `The sink can't listen at port ${port} (${error.message}). Choose another: --probe sink:PORT.`
            })
          )
        )
      )
      server.listen(port, () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

/** Listens for as long as the scope lives. */
export const sinkProbe = Effect.fnUntraced(function* (
  port: number
): Effect.fn.Return<Probe, ProbeUnusable, Scope.Scope> {
  const received = new Mentions()
  yield* listen(port, received)
  const read = ({ dataId, webhookId }: Subject) =>
    Effect.sync(() => ({ effects: received.countOf(webhookId, dataId), digest: null, data: null }))
  const seen = Effect.sync(() => received.ids())
  return { kind: "sink", name: `http://127.0.0.1:${port}/`, concurrency: 1, read, seen }
})
