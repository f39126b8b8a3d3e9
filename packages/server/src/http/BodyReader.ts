/**
 * Reads bodies with a size limit and a deadline. One timer per second checks the deadlines of all open bodies.
 */
import { Effect, Exit } from "effect"
import type { Clock } from "effect"
import type { BodyExit, BodySource } from "./Exchange.ts"
import { BodyTooLarge, BodyUnreadable } from "./Failures.ts"

/** How often deadlines are checked, in milliseconds. */
const sweepInterval = 1_000

/** A body that is still arriving. */
interface OpenBody {
  readonly since: number
  readonly giveUp: () => void
}

const empty = new Uint8Array()

/** Joins chunks into one array. */
const joined = (chunks: ReadonlyArray<Uint8Array>, size: number): Uint8Array => {
  const [first = empty] = chunks
  if (chunks.length <= 1) return first
  const all = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

export interface BodyReader {
  /** Reads a body of at most `limit` bytes. Calls `done` once. The returned function stops reading. */
  readonly read: (source: BodySource, limit: number, done: (body: BodyExit) => void) => () => void
}

/**
 * Makes a reader that waits at most `timeout` milliseconds for each body. `run` starts the fiber that checks the
 * deadlines while bodies are open.
 */
export const makeBodyReader = (
  timeout: number,
  clock: Clock.Clock,
  run: (sweep: Effect.Effect<void>) => void
): BodyReader => {
  /** Open bodies, oldest first. */
  const open = new Set<OpenBody>()
  let isSweeping = false

  // Uses the monotonic clock, because the wall clock may be changed while a body arrives.
  const monotonicMillis = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

  const giveUpOld = () => {
    const now = monotonicMillis()
    for (const body of open) {
      if (now - body.since < timeout) break
      body.giveUp()
    }
  }

  const sweep: Effect.Effect<void> = Effect.gen(function* () {
    while (open.size > 0) {
      yield* Effect.sleep(Math.min(sweepInterval, timeout))
      giveUpOld()
    }
    isSweeping = false
  })

  return {
    read: (source, limit, done) => {
      const { coding = "identity" } = source
      if (coding.trim().toLowerCase() !== "identity" && coding.trim() !== "" && source.declared !== 0) {
        done(Exit.fail(new BodyUnreadable({ why: "encoded" })))
        return () => undefined
      }
      // Refuse a body whose declared length is too long, without reading any of it.
      if (source.declared !== null && source.declared > limit) {
        done(Exit.fail(new BodyTooLarge({ limit })))
        return () => undefined
      }
      const chunks: Array<Uint8Array> = []
      let size = 0
      const finish = (body: BodyExit) => {
        if (open.delete(entry)) done(body)
      }
      const entry: OpenBody = {
        since: monotonicMillis(),
        giveUp: () => {
          stop()
          finish(Exit.fail(new BodyUnreadable({ why: "too_slow" })))
        }
      }
      open.add(entry)
      const stop = source.start(
        (bytes) => {
          size += bytes.length
          if (size > limit) {
            finish(Exit.fail(new BodyTooLarge({ limit })))
            return false
          }
          chunks.push(bytes)
          return true
        },
        (isWhole) =>
          finish(isWhole ? Exit.succeed(joined(chunks, size)) : Exit.fail(new BodyUnreadable({ why: "broken_off" })))
      )
      if (!isSweeping && open.size > 0) {
        isSweeping = true
        run(sweep)
      }
      return () => {
        open.delete(entry)
        stop()
      }
    }
  }
}
