/**
 * A client behind a firewall follows the events of its building by stream, through the end of every process.
 */
import { EventStream } from "@doorhook/testkit/EventStream"
import { operatorKey, startService } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { directory, tokensOf } from "./harness/KnownDirectory.ts"
import { callApi } from "./harness/ThirdParty.ts"

const start = (database: string) => startService(["--database", database, "--directory", directory])

const publish = (url: string, n: number) =>
  Effect.promise(async () => {
    const event = { resource_type: "call", action: "create", building_id: 1, data: { number: n } }
    const { status } = await callApi(url, operatorKey, "POST", "/operator/events", event)
    assert.strictEqual(status, 202)
  })

/** A client that keeps the last id, and has the numbers of all events that it got. */
class Follower {
  readonly got: Array<number> = []
  #id: string | null = null
  #stream: EventStream | null = null

  async connect(url: string, token: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, ...(this.#id !== null && { "last-event-id": this.#id }) }
    this.#stream = await EventStream.open(`${url}/v4/buildings/1/events`, headers)
    assert.strictEqual(this.#stream.response.status, 200)
    await this.#stream.next()
  }

  /** Reads until an event has come. */
  async until(n: number): Promise<void> {
    while (this.got.at(-1) !== n) {
      const event = await this.#stream?.nextEvent()
      assert.strictEqual(event?.event, "event")
      this.#id = event?.id ?? null
      this.got.push(Number(/"number":(\d+)/.exec(event?.data ?? "")?.[1]))
    }
  }

  close(): void {
    this.#stream?.close()
  }
}

describe("a client that follows by stream", () => {
  it.live("misses and repeats nothing when the service is killed and started again", () =>
    Effect.gen(function* () {
      const database = join(yield* temporaryFolder, "streams.db")
      const follower = new Follower()
      yield* Effect.addFinalizer(() => Effect.sync(() => follower.close()))
      let token = ""
      for (let life = 0; life < 3; life++) {
        const { child, finished, url } = yield* start(database)
        if (life === 0) token = (yield* Effect.promise(() => tokensOf(url))).access_token
        // Published while nobody follows.
        if (life > 0) yield* publish(url, 10 * life)
        yield* Effect.promise(() => follower.connect(url, token))
        for (let n = 1; n <= 3; n++) yield* publish(url, 10 * life + n)
        yield* Effect.promise(() => follower.until(10 * life + 3))
        // The last event of this life may have come to nobody.
        yield* publish(url, 10 * life + 4)
        child.kill("SIGKILL")
        yield* Effect.promise(() => finished)
      }
      const { url } = yield* start(database)
      yield* Effect.promise(() => follower.connect(url, token))
      yield* Effect.promise(() => follower.until(24))
      assert.deepStrictEqual(follower.got, [1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24])
    })
  )
})

await describeOnPostgres("a client that follows by stream", (server) => {
  it.live("gets what other processes publish, and continues at another process when its own is killed", () =>
    Effect.gen(function* () {
      const database = server.url(yield* newDatabase(server))
      const [first, second] = [yield* start(database), yield* start(database)]
      const token = (yield* Effect.promise(() => tokensOf(first.url))).access_token
      const follower = new Follower()
      yield* Effect.addFinalizer(() => Effect.sync(() => follower.close()))
      yield* Effect.promise(() => follower.connect(first.url, token))
      for (let n = 1; n <= 5; n++) yield* publish(n % 2 === 0 ? first.url : second.url, n)
      yield* Effect.promise(() => follower.until(5))
      yield* publish(second.url, 6)
      first.child.kill("SIGKILL")
      yield* publish(second.url, 7)
      yield* Effect.promise(() => follower.connect(second.url, token))
      yield* publish(second.url, 8)
      yield* Effect.promise(() => follower.until(8))
      assert.deepStrictEqual(follower.got, [1, 2, 3, 4, 5, 6, 7, 8])
    })
  )
})
