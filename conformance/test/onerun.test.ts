import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { claim, socketOf } from "../src/run/Target.ts"

let port = 20_000 + (process.pid % 9_000)
/** A URL that no other test claims. */
const url = (): URL => new URL(`http://127.0.0.1:${port++}/hook`)

const quietly = (): Effect.Effect<void> => Effect.void

/** Starts another process that listens where a run on this URL would. */
const other = (target: URL) => {
  const script = `require("node:net").createServer((asking) => asking.end("process of a test"))
    .listen(${JSON.stringify(socketOf(target))}, () => console.log("there"))`
  return Effect.promise(async () => {
    const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] })
    await once(child.stdout, "data")
    return child
  })
}

describe("one run at a time against one receiver", () => {
  it.live("waits for another run, says so once, and begins when that has ended", () =>
    Effect.gen(function* () {
      const target = url()
      const first = yield* Scope.make()
      yield* Scope.provide(claim([target], 0, quietly), first)
      const said: Array<string> = []
      const second = yield* Effect.forkChild(
        Effect.scoped(claim([target], 10_000, (message) => Effect.sync(() => void said.push(message))))
      )
      yield* Effect.sync(() => said.length).pipe(Effect.repeat({ until: (count) => count > 0 }))
      yield* Scope.close(first, Exit.void)
      yield* Fiber.join(second)
      assert.strictEqual(said.length, 1)
      assert.include(said[0], `process ${process.pid}`)
    })
  )

  it.live("fails if the other run does not end, and leaves the receiver to it", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const target = url()
        yield* claim([target], 0, quietly)
        for (let tries = 0; tries < 2; tries++) {
          const failure = yield* Effect.flip(Effect.scoped(claim([target], 0, quietly)))
          assert.include(failure.message, "another run still tests")
        }
      })
    )
  )

  it.live("takes over from a process that was killed without releasing the receiver", () =>
    Effect.gen(function* () {
      const target = url()
      const child = yield* other(target)
      const failure = yield* Effect.flip(Effect.scoped(claim([target], 0, quietly)))
      assert.include(failure.message, "process of a test")
      yield* Effect.promise(async () => {
        child.kill("SIGKILL")
        await once(child, "exit")
      })
      yield* Effect.scoped(claim([target], 0, quietly))
    })
  )

  it.live("releases all its URLs if it does not get one of them", () =>
    Effect.gen(function* () {
      const [free, taken] = [url(), url()].toSorted((a, b) => socketOf(a).localeCompare(socketOf(b)))
      if (free === undefined || taken === undefined) return assert.fail("two URLs")
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* claim([taken], 0, quietly)
          yield* Effect.flip(Effect.scoped(claim([free, taken], 0, quietly)))
          yield* claim([free], 0, quietly)
        })
      )
    })
  )

  it("treats all names of this machine as one, and different paths as different receivers", () => {
    const at = (text: string): string => socketOf(new URL(text))
    assert.strictEqual(at("http://localhost:80/a"), at("http://127.0.0.1/a?secret=1"))
    assert.strictEqual(at("http://[::1]/a"), at("http://127.0.0.1/a"))
    assert.notStrictEqual(at("http://127.0.0.1/a"), at("http://127.0.0.1/b"))
  })
})
