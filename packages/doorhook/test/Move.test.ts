/**
 * `doorhook move`, while a service runs, as clients and receivers see it.
 */
import { assert } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import type { Doorhook } from "doorhook"
import { runDoorhook, startDoorhook } from "@doorhook/testkit/Doorhook"
import { describeOnPgbouncer } from "@doorhook/testkit/postgres/Pgbouncer"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { Effect, Fiber, Schema, Scope } from "effect"
import { join } from "node:path"
import { Webhook } from "standardwebhooks"
import { client, codeOf, directory, event, live, mount, tokensFrom } from "./harness/Embedded.ts"
import { eventually } from "./harness/Eventually.ts"
import { requestTokens } from "./harness/CodeGrant.ts"
import { callApi, createIntegration } from "./harness/ThirdParty.ts"

const encryptionKey = "kept-in-another-place-0123456789abcdef"

const optionsFor = (database: string) => ({
  database,
  directory,
  encryptionKey,
  allowTargets: ["127.0.0.0/8"],
  retry: { access_log: ["100ms", "200ms", "400ms", "1s"] }
})

const open = (database: string) =>
  Effect.acquireRelease(
    Effect.promise(() => createDoorhook(optionsFor(database))),
    (doorhook) => Effect.promise(() => doorhook.close())
  )

const Feed = Schema.fromJsonString(
  Schema.Struct({
    data: Schema.Array(Schema.Struct({ attributes: Schema.Struct({ event_id: Schema.String }) })),
    meta: Schema.Struct({ cursor: Schema.String })
  })
)

/** Reads an integration's feed to its end. Returns the ids of its events, and the last cursor. */
const readFeed = Effect.fnUntraced(function* (url: string, token: string, integration: string, cursor: string | null) {
  const ids: Array<string> = []
  for (let after = cursor; ;) {
    const path = `/v4/buildings/1/integrations/${integration}/deliveries?${after === null ? "" : `after=${after}`}`
    const answer = yield* Effect.promise(() => callApi(url, token, "GET", path))
    const text = yield* Effect.promise(() => answer.text())
    assert.strictEqual(answer.status, 200, text)
    const { data, meta } = yield* Schema.decodeUnknownEffect(Feed)(text)
    ids.push(...data.map(({ attributes }) => attributes.event_id))
    after = meta.cursor
    if (data.length === 0) return { ids, cursor: after }
  }
})

/**
 * Moves everything from a PostgreSQL database while a process publishes there, and then its building to a third one.
 * Nothing that was accepted is lost.
 */
const moveLive = Effect.fnUntraced(function* (server: TestServer, parameters: string) {
  const [first, second, third] = yield* Effect.all(
    [1, 2, 3].map(() => Effect.map(newDatabase(server), (name) => `${server.url(name)}${parameters}`))
  )
  assert.isDefined(third)
  const receiver = yield* startReceiver((_, nth) => (nth % 4 === 0 ? 503 : 200))
  const accepted: Array<string> = []
  /** Publishes until the database refuses it. */
  const publishTo = (doorhook: Doorhook) =>
    Effect.forkChild(
      Effect.exit(
        Effect.forever(
          Effect.tryPromise(async () => {
            accepted.push((await doorhook.publish(event)).id)
            await receiver.until(({ length }) => length >= accepted.length)
          })
        )
      )
    )
  const atLeast = (count: number) => Effect.promise(() => receiver.until(({ length }) => length >= count))
  const started = yield* open(first ?? "")
  const { url } = yield* mount(started)
  const { access_token } = yield* tokensFrom(url)
  const { id } = yield* Effect.promise(() => createIntegration(url, access_token, receiver.url))
  const publishing = yield* publishTo(started)
  yield* atLeast(20)
  const whole = yield* runDoorhook(["move", "--from", first ?? "", "--to", second ?? ""])
  assert.strictEqual(whole.code, 0, whole.stderr)
  yield* Fiber.await(publishing)

  const before = accepted.length
  const continued = yield* open(second ?? "")
  const again = yield* publishTo(continued)
  yield* eventually(
    "more is accepted",
    Effect.sync(() => accepted.length),
    (count) => count >= before + 20
  )
  const numbered = yield* runDoorhook(["migrate", "--first-id", "1000000000000", "--database", third])
  assert.strictEqual(numbered.code, 0, numbered.stderr)
  const parting = yield* runDoorhook(["move", "--buildings", "1", "--from", second ?? "", "--to", third])
  assert.strictEqual(parting.code, 0, parting.stderr)
  yield* Fiber.await(again)
  // The process notices the end of the move within a second.
  const refused = yield* eventually(
    "the process notices the end",
    Effect.suspend(() => codeOf(continued.publish(event))),
    ({ code }) => code !== "being_moved"
  )
  assert.strictEqual(refused.code, "misdirected")
  assert.match(refused.message, /building 1 was moved to .*, which serves it now/)

  const last = yield* open(third)
  yield* Effect.promise(async () => accepted.push((await last.publish(event)).id))
  const { url: lastUrl } = yield* mount(last)
  assert.deepStrictEqual((yield* readFeed(lastUrl, access_token, id, null)).ids, accepted)
  yield* Effect.promise(() => last.idle({ retries: true }))
  const arrived = new Set(receiver.received.map(({ headers }) => String(headers["webhook-id"])))
  assert.deepStrictEqual([...arrived].toSorted(), accepted.toSorted())
})

await describeOnPgbouncer("doorhook move through pgbouncer", "transaction", (server) => {
  live(
    "loses nothing from a database in use, nor when its building moves on",
    function* () {
      yield* moveLive(server, "")
    },
    300_000
  )
})

await describeOnPostgres("doorhook move", (server) => {
  for (const parameters of ["", "?notify=off&locks=rows&claim=update"])
    live(
      `loses nothing from a PostgreSQL database in use${parameters}, nor when its building moves on`,
      function* () {
        yield* moveLive(server, parameters)
      },
      300_000
    )

  live(
    "loses no event that was accepted while it copies, and keeps tokens, cursors, secrets and webhook-ids",
    function* () {
      const file = join(yield* temporaryFolder, "doors.db")
      const database = server.url(yield* newDatabase(server))
      const receiver = yield* startReceiver((_, nth) => (nth % 4 === 0 ? 503 : 200))
      const accepted: Array<string> = []
      const whole = yield* Effect.scope
      const before = yield* Effect.gen(function* () {
        const doorhook = yield* open(file)
        const { url } = yield* mount(doorhook)
        const tokens = yield* tokensFrom(url)
        const { id, signing_secret } = yield* Effect.promise(() =>
          createIntegration(url, tokens.access_token, receiver.url)
        )
        // Each event waits for the attempts of those before it.
        const publish = Effect.tryPromise(async () => {
          accepted.push((await doorhook.publish(event)).id)
          await receiver.until(({ length }) => length >= accepted.length)
        })
        yield* Effect.repeat(publish, { times: 20 })
        const { cursor } = yield* readFeed(url, tokens.access_token, id, null)
        const first = accepted.length
        const publishing = yield* Effect.forkChild(Effect.exit(Effect.forever(publish)))
        const moving = yield* Scope.provide(startDoorhook(["move", "--from", file, "--to", database]), whole)
        yield* Effect.promise(() => moving.complained(/Now stop the service: process \d+/))
        yield* Effect.promise(() => doorhook.close())
        yield* Fiber.await(publishing)
        return { tokens, id, signing_secret, cursor, first, moving, key: doorhook.operatorKey }
      }).pipe(Effect.scoped)
      const { code, stderr, stdout } = yield* Effect.promise(() => before.moving.finished)
      assert.strictEqual(code, 0, stderr)
      assert.match(stdout, new RegExp(`^events +${accepted.length} rows +sha256 [0-9a-f]{16}, equal$`, "m"))

      const doorhook = yield* open(database)
      const { url } = yield* mount(doorhook)
      const { access_token, refresh_token } = before.tokens
      const later = yield* readFeed(url, access_token, before.id, before.cursor)
      assert.deepStrictEqual(later.ids, accepted.slice(before.first))
      yield* Effect.promise(async () => accepted.push((await doorhook.publish(event)).id))
      assert.deepStrictEqual((yield* readFeed(url, access_token, before.id, later.cursor)).ids, accepted.slice(-1))
      const refreshed = yield* Effect.promise(() =>
        requestTokens(url, { ...client, grant_type: "refresh_token", refresh_token })
      )
      assert.strictEqual(refreshed.status, 200)
      assert.strictEqual(doorhook.operatorKey, before.key)
      yield* Effect.promise(() => doorhook.idle({ retries: true }))
      const arrived = new Set(receiver.received.map(({ headers }) => String(headers["webhook-id"])))
      assert.deepStrictEqual([...arrived].toSorted(), accepted.toSorted())
      const last = receiver.received.at(-1)
      const headers = Object.fromEntries(
        Object.entries(last?.headers ?? {}).map(([name, value]) => [name, String(value)])
      )
      new Webhook(before.signing_secret).verify(last?.body ?? "", headers)
      const refused = yield* codeOf(createDoorhook(optionsFor(file)))
      assert.match(refused.message, /doors\.db: it was moved to another database/)
    }
  )
})
