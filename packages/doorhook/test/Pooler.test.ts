/**
 * The whole service through pgbouncer in transaction mode, with and without the server itself for wake signals.
 */
import { ClientId, DeliveryStore, UserId } from "@doorhook/core"
import { StoreFixtures } from "@doorhook/core/testing"
import { PostgresStore } from "@doorhook/sql/postgres"
import { operatorKey, runDoorhook, startDoorhook, startService } from "@doorhook/testkit/Doorhook"
import { describeOnPgbouncer } from "@doorhook/testkit/postgres/Pgbouncer"
import { hostPool, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Predicate, Redacted } from "effect"
import { writeFileSync } from "node:fs"
import { live } from "./harness/Embedded.ts"
import { eventually } from "./harness/Eventually.ts"
import { runHere } from "./harness/InProcess.ts"
import { directory } from "./harness/KnownDirectory.ts"
import { callApi } from "./harness/ThirdParty.ts"

const event = (id: number) => ({ resource_type: "access_log", action: "create", building_id: 1, data: { id } })

await describeOnPgbouncer("doorhook through pgbouncer", "transaction", (server) => {
  for (const isListening of [false, true]) {
    live(
      `migrates, publishes, delivers, resends and opens the portal, ${isListening ? "with listen=" : "by polling"}`,
      function* () {
        const name = yield* newDatabase(server)
        const listen = isListening ? `?listen=${encodeURIComponent(server.directUrl(name))}` : ""
        const database = `${server.url(name)}${listen}`
        const flags = ["--database", database, "--directory", directory]
        const sending = [...flags, "--allow-target", "127.0.0.0/8"]
        assert.match((yield* runHere(["migrate", "--database", database])).stdout, /^the tables now have version/)
        const { stdout } = yield* runHere(["doctor", ...flags])
        assert.match(stdout, /^ok +pooler +transaction mode; wake signals/m)
        assert.match(stdout, isListening ? /wake signals from postgres:/ : /by polling every 1 second/)

        const receiver = yield* startReceiver()
        const stored = yield* Layer.build(Layer.fresh(PostgresStore.layer({ url: Redacted.make(database) })))
        const { id } = yield* StoreFixtures.createIntegration({
          configuration: { url: receiver.url, method: "post" },
          created_by: { user_id: UserId.make("admin@example.com"), client_id: ClientId.make("c1") }
        }).pipe(Effect.provideContext(stored))
        const { url } = yield* startService(sending)
        const { printed } = yield* startDoorhook(["worker", ...sending])
        yield* Effect.promise(() => printed(/doorhook worker ready/))
        const operate = (method: string, path: string, body?: unknown) =>
          Effect.promise(() => callApi(url, operatorKey, method, path, body))
        const untilDelivered = (count: number) =>
          Effect.promise(() => receiver.until((received) => received.length >= count))

        const events = Array.from({ length: 20 }, (_, id) => event(id))
        assert.strictEqual((yield* operate("POST", "/operator/events", events)).status, 202)
        yield* untilDelivered(20)
        yield* eventually(
          "all are recorded",
          Effect.map(Context.get(stored, DeliveryStore).summary(0), ({ states }) => states.delivered),
          (delivered) => delivered === 20
        )
        assert.strictEqual((yield* operate("POST", "/operator/deliveries/dlv_1/resend")).status, 202)
        yield* untilDelivered(21)

        const link = yield* operate("POST", `/operator/integrations/${id}/portal_links`)
        const opened: unknown = yield* Effect.promise(() => link.json())
        assert(Predicate.hasProperty(opened, "url"), JSON.stringify(opened))
        const page = yield* Effect.promise(async () => {
          const answer = await fetch(String(opened.url), { redirect: "manual" })
          const cookie = answer.headers.getSetCookie().map((set) => set.split(";")[0])
          return await fetch(new URL(answer.headers.get("location") ?? "", url), {
            headers: { cookie: cookie.join("; ") }
          })
        })
        assert.strictEqual(page.status, 200)

        // A host publishes with its own client, inside its own transaction, through the same pooler.
        const pool = yield* hostPool(server.url(name))
        yield* Effect.promise(async () => {
          const client = await pool.connect()
          await client.query("BEGIN")
          await client.query("SELECT id FROM doorhook.publish($1)", [JSON.stringify(event(99))])
          await client.query("COMMIT")
          client.release()
        })
        yield* untilDelivered(22)
      }
    )
  }

  live("a backup reads from the server itself, which listen= names, and is refused without it", function* () {
    const name = yield* newDatabase(server)
    const database = server.url(name)
    yield* runHere(["migrate", "--database", database])
    const folder = yield* temporaryFolder
    // Stand-ins for the client programs: the dump fails with the port that it was given.
    const port = `process.argv.join().match(/port=(\\d+)/)[1]`
    for (const program of ["pg_dump", "pg_restore"]) {
      const text = `if (process.argv[2] === "--version") console.log("${program} (PostgreSQL) 99.1")
          else { console.error("port", ${port}); process.exit(1) }`
      writeFileSync(`${folder}/${program}`, `#!${process.execPath}\n${text}\n`, { mode: 0o755 })
    }
    const backUp = (from: string) =>
      runDoorhook(["backup", "--database", from, "--out", `${folder}/backup`], { PATH: folder })
    assert.match((yield* backUp(database)).stderr, /pooler in transaction mode.*listen=/)
    const direct = server.directUrl(name)
    const { stderr } = yield* backUp(`${database}?listen=${encodeURIComponent(direct)}`)
    assert.include(stderr, `can't be dumped: port ${new URL(direct).port}`)
  })
})
