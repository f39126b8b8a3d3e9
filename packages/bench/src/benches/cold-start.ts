/**
 * Measures the start-up time of `doorhook serve`.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import type { Benchmark, Options } from "../harness/Benchmark.ts"
import { builtCommand } from "../harness/ServerProcess.ts"
import { roundsOf } from "../harness/Benchmark.ts"
import { rounded } from "../harness/Statistics.ts"

const name = "cold-start"

const isReady = /doorhook listening on/

/** Measures the milliseconds from the start of a process until it prints that it is ready, or until it ends. */
const timeTo = (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<number, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const begun = performance.now()
      const child = spawn(process.execPath, [...args], {
        env: { ...process.env, ...env },
        stdio: ["ignore", "pipe", "inherit"]
      })
      const ready = async (): Promise<void> => {
        let printed = ""
        for await (const chunk of child.stdout) if (isReady.test((printed += String(chunk)))) return
      }
      await ready()
      return { child, took: performance.now() - begun }
    }),
    ({ child }) =>
      Effect.promise(async () => {
        if (child.exitCode !== null) return
        child.kill("SIGTERM")
        await once(child, "close")
      })
  ).pipe(Effect.map(({ took }) => took))

const serve = Effect.fnUntraced(function* (cache: string) {
  const database = join(yield* temporaryFolder, "doorhook.db")
  const args = [...(yield* builtCommand), "serve", "--port", "0", "--database", database]
  return yield* timeTo(args, { NODE_COMPILE_CACHE: cache, NODE_NO_WARNINGS: "1" })
}, Effect.scoped)

const run = Effect.fnUntraced(function* (options: Options) {
  const rounds = roundsOf(options, 7)
  const cache = yield* temporaryFolder
  const first = yield* serve(cache)
  const ours: Array<number> = []
  const bare: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    ours.push(yield* serve(cache))
    bare.push(yield* Effect.scoped(timeTo(["-e", "0"])))
  }
  return [{ line: name, ours, peer: bare, more: { first_start_ms: rounded(first) } }]
})

export const benchmark: Benchmark = {
  name,
  minutes: 1,
  summary: "milliseconds until `doorhook serve` is ready, against an empty Node.js program",
  compares:
    "The built command, on a new SQLite file, is timed from its start until it prints that it is listening, and `node -e 0` from start to end. The compile cache is warm, as it is on every start except the first one after an installation.",
  leavesOut: "The time of `npx` itself, and a disk with a cold cache.",
  lines: {
    [name]: {
      ours: "ms to ready",
      peer: "ms of node -e 0",
      unit: "ms",
      goal: { is: "at most", ratio: 15 }
    }
  },
  run
}
