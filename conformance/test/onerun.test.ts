import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { claim, fileOf } from "../src/run/OneRun.ts"

let port = 20_000 + (process.pid % 9_000)
/** A URL that no other test claims. */
const url = (): URL => new URL(`http://127.0.0.1:${port++}/hook`)

/** The number of a process that has ended. */
const endedPid = (): number => spawnSync(process.execPath, ["-e", ""]).pid

const left = (file: string, pid: number): void =>
  writeFileSync(file, JSON.stringify({ pid, since: "2026-03-02T08:00:00.000Z" }))

describe("one run at a time against one receiver", () => {
  it.live("waits for another run, says so once, and begins when that has ended", () =>
    Effect.gen(function* () {
      const target = url()
      const first = yield* Scope.make()
      yield* Scope.provide(
        claim([target], 0, () => Effect.void),
        first
      )
      const said: Array<string> = []
      const second = yield* Effect.forkChild(
        Effect.scoped(claim([target], 10_000, (message) => Effect.sync(() => void said.push(message))))
      )
      yield* Effect.sync(() => said.length).pipe(Effect.repeat({ until: (count) => count > 0 }))
      yield* Scope.close(first, Exit.void)
      yield* Fiber.join(second)
      assert.strictEqual(said.length, 1)
      assert.include(said[0], `process ${process.pid}`)
      assert.isFalse(existsSync(fileOf(target)))
    })
  )

  it.live("fails when the other does not end, and leaves it its file", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const target = url()
        yield* claim([target], 0, () => Effect.void)
        const failure = yield* Effect.flip(Effect.scoped(claim([target], 0, () => Effect.void)))
        assert.include(failure.message, "Another run still tests")
        assert.isTrue(existsSync(fileOf(target)))
      })
    )
  )

  it.live("takes over what a process left that has ended, or did not touch it for long", () =>
    Effect.gen(function* () {
      for (const abandoned of [false, true]) {
        const target = url()
        const file = fileOf(target)
        left(file, abandoned ? process.ppid : endedPid())
        if (abandoned) utimesSync(file, new Date(0), new Date(0))
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* claim([target], 0, () => Effect.void)
            assert.include(readFileSync(file, "utf8"), String(process.pid))
          })
        )
      }
    })
  )

  it.live("takes over what an earlier process of the same number left, as in a container", () =>
    Effect.gen(function* () {
      const target = url()
      left(fileOf(target), process.pid)
      yield* Effect.scoped(claim([target], 0, () => Effect.void))
    })
  )

  it("takes all names of this machine for one, and paths for several", () => {
    const at = (text: string): string => fileOf(new URL(text))
    assert.strictEqual(at("http://localhost:80/a"), at("http://127.0.0.1/a?secret=1"))
    assert.strictEqual(at("http://[::1]/a"), at("http://127.0.0.1/a"))
    assert.notStrictEqual(at("http://127.0.0.1/a"), at("http://127.0.0.1/b"))
  })
})
