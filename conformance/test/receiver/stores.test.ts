/**
 * Every store of the kit: one delivery is new once, what is recorded goes with it, and work waits until it is done.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { memoryStore, postgresSchema, postgresStore, sqliteStore } from "@doorhook/conformance/receiver"
import type { Delivery, PostgresClient, ReceiverStore } from "@doorhook/conformance/receiver"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"

const delivery = (id: string, receivedAt = 1_000): Delivery => ({
  id,
  attempt: 3,
  receivedAt,
  body: '{"event":{"resource_type":"call","action":"create","data":{"name":"Zoë 🔑","id":9007199254740993}}}',
  event: { resource_type: "call", action: "create", data: { name: "Zoë 🔑", id: Number("9007199254740993") } }
})

const nothing = (): void => undefined

/** What every store must do. `note` writes in the transaction that it is given. */
const storeTests = <Tx>(
  open: () => ReceiverStore<Tx>,
  note: ((tx: Tx, id: string) => void | Promise<void>) | null,
  notes: () => Promise<ReadonlyArray<string>>
): void => {
  it("is new once, whatever comes at the same time", async () => {
    const store = open()
    const kept = await Promise.all(Array.from({ length: 16 }, () => store.keep(delivery("race"), nothing, true)))
    assert.strictEqual(kept.filter((isNew) => isNew).length, 1)
    assert.isFalse(await store.keep(delivery("race"), nothing, true))
    await store.done("race")
  })

  it("keeps nothing when what goes with it fails", async () => {
    const store = open()
    const failing = store.keep(
      delivery("broken"),
      async (tx) => {
        await note?.(tx, "broken")
        throw new Error("no")
      },
      true
    )
    await failing.then(
      () => assert.fail("it was kept"),
      () => undefined
    )
    assert.notInclude(await notes(), "broken")
    assert.isTrue(await store.keep(delivery("broken"), nothing, false))
  })

  it("records in the same transaction", async () => {
    if (note === null) return
    const store = open()
    await store.keep(delivery("noted"), (tx) => note(tx, "noted"), false)
    await store.keep(delivery("noted"), (tx) => note(tx, "noted"), false)
    assert.deepStrictEqual(
      (await notes()).filter((id) => id === "noted"),
      ["noted"]
    )
  })

  it("hands work out until it is done, and later when it failed", async () => {
    const store = open()
    assert.isNull(await store.nextDue())
    await store.keep(delivery("b", 2_000), nothing, true)
    await store.keep(delivery("a", 1_000), nothing, true)
    await store.keep(delivery("c", 1_500), nothing, false)
    assert.strictEqual(await store.nextDue(), 1_000)
    assert.deepStrictEqual(
      (await store.due(1_500, 10)).map((one) => one.delivery),
      [delivery("a", 1_000)]
    )
    assert.deepStrictEqual(
      (await store.due(9_000, 10)).map((one) => one.delivery.id),
      ["a", "b"]
    )
    assert.strictEqual((await store.due(9_000, 1)).length, 1)
    await store.failed("a", "why", 5_000)
    await store.done("b")
    assert.deepStrictEqual(await store.due(4_999, 10), [])
    assert.deepStrictEqual(
      (await store.due(5_000, 10)).map(({ failures }) => failures),
      [1]
    )
    await store.failed("a", "why", null)
    assert.isNull(await store.nextDue())
  })
}

describe("the store in memory", () => {
  storeTests(memoryStore, null, async () => [])
})

const folder = mkdtempSync(join(tmpdir(), "doorhook-kit-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("the store in SQLite", () => {
  const database = new DatabaseSync(join(folder, "kit.db"))
  database.exec("CREATE TABLE notes (id TEXT)")
  afterAll(() => database.close())
  const write = database.prepare("INSERT INTO notes VALUES (?)")
  storeTests(
    () => sqliteStore(database),
    // It must be done when it returns.
    (_, id) => void write.run(id),
    async () =>
      database
        .prepare("SELECT id FROM notes")
        .all()
        .map(({ id }) => String(id))
  )

  it("remembers what an earlier process kept", async () => {
    const file = join(folder, "again.db")
    const first = new DatabaseSync(file)
    await sqliteStore(first).keep(delivery("kept"), nothing, true)
    first.close()
    const second = new DatabaseSync(file)
    const store = sqliteStore(second)
    assert.isFalse(await store.keep(delivery("kept"), nothing, true))
    assert.deepStrictEqual(
      (await store.due(1_000, 10)).map((one) => one.delivery),
      [delivery("kept")]
    )
    second.close()
  })
})

await describeOnPostgres("the kit's store in PostgreSQL", ({ administer, url }) => {
  const pools: Array<pg.Pool> = []
  afterAll(async () => {
    for (const pool of pools) await pool.end()
  })
  const opened = administer("CREATE DATABASE kit").then(() => {
    const pool = new pg.Pool({ connectionString: url("kit"), max: 8 })
    // The server may be stopped before its connections are closed.
    pool.on("error", () => undefined)
    pools.push(pool)
    return pool.query(`${postgresSchema} CREATE TABLE notes (id text)`).then(() => pool)
  })
  const pool = { connect: () => opened.then((one) => one.connect()) }
  const note = async (client: PostgresClient, id: string): Promise<void> =>
    void (await client.query("INSERT INTO notes VALUES ($1)", [id]))
  storeTests(
    () => postgresStore(pool),
    note,
    async () => (await administer("SELECT id FROM notes", "kit")).map(({ id }) => String(id))
  )
})
