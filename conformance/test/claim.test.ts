/**
 * Runs that meet at one receiver: those of this machine wait for each other, others are noticed by what they send.
 */
import { assert, describe, it } from "@effect/vitest"
import { listening } from "@doorhook/testkit/Listening"
import { startNode } from "@doorhook/testkit/Process"
import { Crypto, eventIdsIn } from "@doorhook/core"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { createServer } from "node:net"
import { Minting } from "../src/executor/Minting.ts"
import { strangersAmong } from "../src/executor/Strangers.ts"
import { accessLog } from "../src/history/Events.ts"
import { claim } from "../src/run/Claim.ts"
import { runSuite } from "../src/run/RunSuite.ts"
import { model } from "./support/model.ts"

/** URLs that are nobody else's: the port is held while they are used. */
const urls = (...hosts: ReadonlyArray<string>) =>
  Effect.map(listening(createServer()), ({ port }) => hosts.map((host) => new URL(`http://${host}:${port}/hook`)))

const patience = 3_000

describe("a receiver that is being tested", () => {
  it.effect("is waited for, under whatever name of this machine, and the wait is told once", () =>
    Effect.gen(function* () {
      const [mine, theirs] = yield* urls("127.0.0.1", "localhost")
      if (mine === undefined || theirs === undefined) return
      const told: Array<string> = []
      const tell = (message: string) => Effect.sync(() => void told.push(message))
      const first = yield* Scope.make()
      yield* claim([mine], patience, tell).pipe(Scope.provide(first))
      const second = yield* Effect.forkChild(Effect.scoped(claim([theirs], patience, tell)))
      yield* TestClock.adjust(patience / 2)
      assert.isUndefined(second.pollUnsafe())
      assert.lengthOf(told, 1)
      assert.match(told[0] ?? "", new RegExp(`^Another run tests ${theirs.href} \\(process ${process.pid}, since `))
      yield* Scope.close(first, Exit.void)
      yield* TestClock.adjust(1_000)
      yield* Fiber.join(second)
    }).pipe(Effect.scoped)
  )

  it.effect("is given up in the end, and another path of its server is another receiver", () =>
    Effect.gen(function* () {
      const [url] = yield* urls("127.0.0.1")
      if (url === undefined) return
      yield* claim([url], patience, () => Effect.void)
      yield* claim([new URL("/other", url)], patience, () => Effect.die("nobody is there"))
      const refused = yield* Effect.forkChild(Effect.flip(Effect.scoped(claim([url], patience, () => Effect.void))))
      yield* TestClock.adjust(patience + 1_000)
      const { message } = yield* Fiber.join(refused)
      assert.match(message, /^Another run still tests .* after 3 s\. .*: end that one, or run this one later\.$/)
    }).pipe(Effect.scoped)
  )

  it.live("is free again when its run was killed", () =>
    Effect.gen(function* () {
      const [url] = yield* urls("127.0.0.1")
      if (url === undefined) return
      const source = new URL("../src/run/Claim.ts", import.meta.url).href
      const script = `
        import { claim } from ${JSON.stringify(source)}
        import { Effect } from "effect"
        // What waits in Effect keeps no process alive.
        setInterval(() => {}, 2 ** 30)
        const held = claim([new URL(${JSON.stringify(url.href)})], 0, () => Effect.void)
        Effect.runFork(Effect.scoped(Effect.andThen(held, Effect.andThen(Effect.sync(() => console.log("held")), Effect.never))))`
      const { child, finished, printed } = yield* startNode(
        ["--conditions=source", "--no-warnings", "--input-type=module", "--eval", script],
        { cwd: new URL("..", import.meta.url).pathname }
      )
      yield* Effect.promise(() => printed(/held/))
      const { message } = yield* Effect.flip(claim([url], 0, () => Effect.void))
      assert.include(message, `process ${child.pid}`)
      child.kill("SIGKILL")
      assert.isNull((yield* Effect.promise(() => finished)).code, "it held on until it was killed")
      yield* claim([url], 0, () => Effect.void)
    }).pipe(Effect.scoped)
  )
})

describe("ids", () => {
  const minted = (count: number) =>
    Effect.gen(function* () {
      const minting = yield* Minting
      const events = yield* Effect.forEach(Array.from({ length: count }), () => minting.mint(accessLog))
      assert.strictEqual((yield* minting.handedOut).size, count)
      return events
    }).pipe(Effect.provide(Layer.fresh(Minting.layer)), Effect.provide(Crypto.layerWebCrypto))

  it.effect("of runs that begin in the same millisecond are different, and none is a stranger to its own run", () =>
    Effect.gen(function* () {
      // The test's clock stands still.
      const runs = yield* Effect.forEach([1, 2, 3], () => minted(500))
      const ids = runs.map((events) => events.map(({ webhook_id }) => webhook_id))
      assert.strictEqual(new Set(ids.flat()).size, 1_500)
      assert.strictEqual(new Set(runs.flat().map(({ data_id }) => data_id)).size, 1_500)
      const [own = [], others = []] = ids
      assert.deepStrictEqual(strangersAmong([...own, ...others], own), others)
      assert.deepStrictEqual(eventIdsIn(others.map((id) => `done ${id}, `).join("\n")), others)
    })
  )

  it.effect("that a receiver folds or cuts are not somebody else's", () =>
    Effect.gen(function* () {
      const own = (yield* minted(20)).map(({ webhook_id }) => webhook_id)
      const mangled = own.flatMap((id) => [id.toUpperCase(), id.slice(0, 24), `evt_${id.slice(-20)}`, `${id}0`])
      assert.deepStrictEqual(strangersAmong(mangled, own), [])
    })
  )
})

describe("events of somebody else", () => {
  const strange = "evt_0somebodyelses0event0000000"

  it.live("make what looks like a failure inconclusive, and leave what passes alone", () =>
    Effect.gen(function* () {
      const target = yield* model({ status: (_, known) => (known ? 409 : 200) })
      const together = yield* runSuite({
        url: target.url,
        probe: { ...target.probe, seen: Effect.sync(() => (target.deliveries() > 10 ? [strange] : [])) },
        level: 2,
        only: ["R-ACK-02", "R-DUP-01"],
        settle: 300,
        maxTime: 20_000,
        pace: 0.05,
        seed: 7
      })
      assert.deepStrictEqual(
        together.requirements.map(({ id, verdict }) => [id, verdict]),
        [
          ["R-ACK-02", "PASS"],
          ["R-DUP-01", "INCONCLUSIVE"]
        ]
      )
      assert.match(
        together.requirements[1]?.observed ?? "",
        /409 .*; but an event that this run did not send took effect/
      )
      assert.strictEqual(together.verdict, "inconclusive")
      assert.include(together.notes.join(), strange)
    }).pipe(Effect.scoped)
  )
})
