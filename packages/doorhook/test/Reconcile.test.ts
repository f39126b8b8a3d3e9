/**
 * A receiver that was down closes its gap by the feed of its integration, and can prove it: the example of the
 * documentation, as a real process that is killed.
 */
import { operatorKey, startService } from "@doorhook/testkit/Doorhook"
import { freePort } from "@doorhook/testkit/ListeningServer"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { fileURLToPath } from "node:url"
import { live as test } from "./harness/Embedded.ts"
import { eventually } from "./harness/Eventually.ts"
import { directory, tokensOf } from "./harness/KnownDirectory.ts"
import { callApi, createIntegration } from "./harness/ThirdParty.ts"

const example = fileURLToPath(new URL("../../../docs/examples/receivers/typescript/with-feed.ts", import.meta.url))

const Published = Schema.Struct({ events: Schema.Array(Schema.Struct({ id: Schema.String })) })
const Listed = Schema.Struct({
  deliveries: Schema.Array(Schema.Struct({ event_id: Schema.String, state: Schema.String }))
})

describe("a receiver that reconciles by its feed", () => {
  test("has each event exactly once after it was killed and events were given up", function* () {
    const folder = yield* temporaryFolder
    const port = yield* Effect.promise(freePort)
    // Without retries, an event that finds the receiver down is given up at once, as after days with retries.
    const args = ["--database", join(folder, "doorhook.db"), "--directory", directory, "--retry", "access_log="]
    const { url } = yield* startService([...args, "--allow-target", "127.0.0.0/8"])
    const token = (yield* Effect.promise(() => tokensOf(url))).access_token
    const { id, signing_secret } = yield* Effect.promise(() =>
      createIntegration(url, token, `http://127.0.0.1:${port}/hook`, ["access_log"])
    )
    const file = join(folder, "receiver.db")
    const receiver = Effect.fnUntraced(function* (until: RegExp) {
      const running = yield* startNode(["--conditions=source", "--no-warnings", example], {
        env: {
          FEED: `${url}/v4/buildings/1/integrations/${id}/deliveries`,
          TOKEN: token,
          PORT: String(port),
          DATABASE: file,
          WEBHOOK_SECRET: signing_secret
        }
      })
      yield* Effect.promise(() => running.printed(until))
      return running
    })
    const published: Array<string> = []
    const publish = Effect.fnUntraced(function* (count: number) {
      const events = Array.from({ length: count }, (_, nth) => ({
        resource_type: "access_log",
        action: "create",
        building_id: 1,
        data: { id: published.length + nth }
      }))
      const answer = yield* Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/events", events))
      const body = Schema.decodeUnknownSync(Published)(yield* Effect.promise(() => answer.json()))
      published.push(...body.events.map((event) => event.id))
    })
    const statesOf = (all: ReadonlyArray<string>) =>
      Effect.promise(async () => {
        const answer = await callApi(url, operatorKey, "GET", "/operator/deliveries?limit=1000")
        const { deliveries } = Schema.decodeUnknownSync(Listed)(await answer.json())
        return deliveries.flatMap(({ event_id, state }) => (all.includes(event_id) ? [state] : []))
      })
    const ended = (all: ReadonlyArray<string>) =>
      eventually(
        "all have ended",
        statesOf(all),
        (states) =>
          states.length === all.length && states.every((state) => state === "delivered" || state === "exhausted")
      )
    /** Runs the receiver until it prints a text, and kills it after everything that is then published has ended. */
    const live = Effect.fnUntraced(function* (count: number, until = /^reconciled$/m) {
      const { child, finished } = yield* receiver(until)
      const before = published.length
      yield* publish(count)
      const states = yield* ended(published.slice(before))
      child.kill("SIGKILL")
      yield* Effect.promise(() => finished)
      return states
    })

    assert.include(yield* live(20), "delivered")
    yield* publish(250)
    assert.notInclude(yield* ended(published.slice(20)), "delivered")
    // Killed while it reads the feed, then while webhooks come.
    yield* live(0, /50 events read/)
    yield* live(20)
    yield* live(0)

    const database = new DatabaseSync(file, { readOnly: true })
    const stored = database.prepare("SELECT webhook_id FROM events ORDER BY webhook_id").all()
    database.close()
    assert.deepStrictEqual(
      stored.map((row) => row["webhook_id"]),
      published.toSorted()
    )
  })
})
