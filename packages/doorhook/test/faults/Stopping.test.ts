/**
 * A process that is stopped while its receivers hang still exits with 0, and keeps no leases.
 */
import { ClientId, DeliveryStore, UserId } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { SqliteStore } from "@doorhook/sql"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { configured } from "../harness/Delivering.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startService } from "@doorhook/testkit/Doorhook"

const { createIntegration, enqueue, records } = StoreFixtures

const count = 100

/** Fills a database file with deliveries to a receiver that never answers. */
const fill = Effect.fnUntraced(function* (file: string, receiver: string) {
  const created_by = { user_id: UserId.make("admin@example.com"), client_id: ClientId.make("c1") }
  yield* Effect.gen(function* () {
    const integration = yield* createIntegration({ configuration: { url: receiver, method: "post" }, created_by })
    yield* enqueue(...records(1, count, integration))
  }).pipe(Effect.provide(Layer.fresh(SqliteStore.layer({ filename: file }))))
})

const statesIn = (file: string) =>
  Layer.build(Layer.fresh(SqliteStore.layer({ filename: file }))).pipe(
    Effect.flatMap((services) => Context.get(services, DeliveryStore).summary(0)),
    Effect.map(({ states }) => states),
    Effect.scoped
  )

describe("doorhook told to stop while receivers hang", { concurrent: true }, () => {
  const stops = (...signals: ReadonlyArray<NodeJS.Signals>) =>
    it.live(`by ${signals.join(", then ")}`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const file = join(yield* temporaryFolder, "doors.db")
          const receiver = yield* startReceiver(() => new Promise(() => undefined))
          yield* fill(file, receiver.url)
          // The schedule allows no second attempt during the test.
          const flags = yield* configured(file, { retry: { access_log: ["1h"] } })
          const { child, finished } = yield* startService(flags)
          yield* Effect.promise(() => receiver.until(({ length }) => length >= 5))
          for (const signal of signals) child.kill(signal)
          assert.strictEqual((yield* Effect.promise(() => finished)).code, 0)
          const attempted = receiver.received.length
          assert.isBelow(attempted, count)
          const { delivering, pending, retrying } = yield* statesIn(file)
          assert.deepStrictEqual(
            { delivering, pending, retrying },
            { delivering: 0, pending: count - attempted, retrying: attempted }
          )
        })
      )
    )

  stops("SIGTERM")
  stops("SIGTERM", "SIGTERM")
  stops("SIGINT")
  // Without a directory file to reload, SIGHUP means that the terminal was closed.
  it.live("by SIGHUP, without a directory", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { child, finished } = yield* startService(["--database", "memory"])
        child.kill("SIGHUP")
        const { code, stdout } = yield* Effect.promise(() => finished)
        assert.strictEqual(code, 0)
        assert.include(stdout, "doorhook stopped")
      })
    )
  )

  it.live("not by SIGHUP with a directory, which is reloaded", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const file = join(yield* temporaryFolder, "directory.json")
        const write = (directory: unknown) => Effect.sync(() => writeFileSync(file, JSON.stringify(directory)))
        yield* write({ clients: [], users: [], buildings: [], tenants: [] })
        const { child, complained, finished, printed } = yield* startService([
          "--database",
          "memory",
          "--directory",
          file
        ])
        child.kill("SIGHUP")
        yield* Effect.promise(() => printed(/^directory \S+directory\.json reloaded$/m))
        yield* write({ clients: "none" })
        child.kill("SIGHUP")
        yield* Effect.promise(() => complained(/^directory: .*clients.*; the earlier directory stays in use$/m))
        child.kill("SIGTERM")
        assert.strictEqual((yield* Effect.promise(() => finished)).code, 0)
      })
    )
  )
})
