/**
 * Every store: a delivery is new only once, `record` runs in the same transaction, and work stays stored until it is
 * done.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { memoryStore, postgresStore, receiverSchema, sqliteStore } from "@doorhook/receiver"
import type { ClaimedWork, DamagedWork, Delivery, PostgresClient, ReceiverStore } from "@doorhook/receiver"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"

const delivery = (id: string, receivedAt = 1_000): Delivery => ({
  id,
  attempt: 3,
  expiresAt: 1_788_000_045_000,
  isReplay: true,
  receivedAt,
  body: '{"event":{"resource_type":"call","action":"create","data":{"name":"Zoë 🔑","id":9007199254740993}}}',
  event: { resource_type: "call", action: "create", data: { name: "Zoë 🔑", id: Number("9007199254740993") } }
})

const nothing = (): void => undefined

/** Returns the claimed work, which must be readable. */
const readable = (claimed: ReadonlyArray<ClaimedWork | DamagedWork>): ReadonlyArray<ClaimedWork> =>
  claimed.map((one) => ("damage" in one ? assert.fail(one.damage) : one))

/** Declares the tests for a store. `note` writes in the given transaction. */
const storeTests = <Tx>(
  open: () => ReceiverStore<Tx>,
  note: ((tx: Tx, id: string) => void | Promise<void>) | null,
  notes: () => Promise<ReadonlyArray<string>>
): void => {
  it("reports a delivery as new once, even with concurrent duplicates", async () => {
    const store = open()
    const kept = await Promise.all(
      Array.from({ length: 16 }, () => store.keep("race", delivery("race"), nothing, null))
    )
    assert.strictEqual(kept.filter((isNew) => isNew).length, 1)
    assert.isFalse(await store.keep("race", delivery("race"), nothing, null))
    assert.isTrue(await store.keep("another key", delivery("race"), nothing, null))
  })

  it("stores nothing if `record` fails", async () => {
    const store = open()
    const failing = store.keep(
      "broken",
      delivery("broken"),
      async (tx) => {
        await note?.(tx, "broken")
        throw new Error("no")
      },
      1_000
    )
    await failing.then(
      () => assert.fail("it was kept"),
      () => undefined
    )
    assert.notInclude(await notes(), "broken")
    assert.isNull(await store.nextDue())
    assert.isTrue(await store.keep("broken", delivery("broken"), nothing, null))
  })

  it("records in the same transaction", async () => {
    if (note === null) return
    const store = open()
    for (const _ of [1, 2]) await store.keep("noted", delivery("noted"), (tx) => note(tx, "noted"), null)
    assert.deepStrictEqual(
      (await notes()).filter((id) => id === "noted"),
      ["noted"]
    )
  })

  it("gives work to one worker at a time until it is done, and again later if it failed", async () => {
    const store = open()
    const claimed = async (now: number, limit = 10): Promise<ReadonlyArray<string>> =>
      readable(await store.claim(now, now + 100, limit)).map(({ failures, key }) => `${key} ${failures}`)
    assert.isNull(await store.nextDue())
    await store.keep("b", delivery("b", 2_000), nothing, 2_000)
    await store.keep("a", delivery("a", 1_000), nothing, 1_000)
    await store.keep("c", delivery("c", 1_500), nothing, null)
    assert.strictEqual(await store.nextDue(), 1_000)
    assert.deepStrictEqual(
      readable(await store.claim(1_500, 1_600, 10)).map((one) => one.delivery),
      [delivery("a", 1_000)]
    )
    assert.deepStrictEqual(await claimed(1_599), [], "claimed work is another's")
    assert.strictEqual(await store.nextDue(), 1_600)
    assert.deepStrictEqual(await claimed(9_000), ["a 0", "b 0"], "the oldest first")
    await store.settle("a", 9_150, null)
    assert.deepStrictEqual(await claimed(9_149), ["b 0"], "a claim can be renewed")
    await store.settle("b", null, null)
    assert.deepStrictEqual(await claimed(9_150, 1), ["a 0"])
    await store.settle("a", 9_500, "why")
    assert.deepStrictEqual(await claimed(9_500), ["a 1"])
    await store.settle("a", null, "why")
    await store.settle("a", 9_000, null)
    assert.isNull(await store.nextDue(), "what is finished can't be renewed")
  })

  it("shares work between workers that claim concurrently", async () => {
    const store = open()
    const keys = Array.from({ length: 12 }, (_, index) => `shared ${index}`)
    for (const key of keys) await store.keep(key, delivery(key), nothing, 1)
    // At each of these times, all work is due again.
    for (const now of Array.from({ length: 20 }, (_, round) => 1 + round * 1_000)) {
      const shares = await Promise.all(Array.from({ length: 6 }, () => store.claim(now, now + 1_000, 4)))
      const claimed = shares.flat().map(({ key }) => key)
      assert.strictEqual(new Set(claimed).size, claimed.length, "none twice")
    }
    for (const key of keys) await store.settle(key, null, null)
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
    // `void`, because `record` must be synchronous on SQLite.
    (_, id) => void write.run(id),
    async () =>
      database
        .prepare("SELECT id FROM notes")
        .all()
        .map(({ id }) => String(id))
  )

  it("refuses a `record` that returns a promise, because its transaction would stay open", async () => {
    const store = sqliteStore(database)
    const keeping = store.keep("late", delivery("late"), async () => undefined, null)
    assert.match(String(await keeping.catch((cause: unknown) => cause)), /do asynchronous work in `work`/)
    assert.isTrue(await store.keep("late", delivery("late"), nothing, null))
  })

  it("names a damaged row, and gives out the others", async () => {
    const damaged = new DatabaseSync(":memory:")
    const store = sqliteStore(damaged)
    for (const id of ["good", "bad"]) await store.keep(id, delivery(id), nothing, 1)
    damaged.exec("UPDATE doorhook_deliveries SET body = 'x' WHERE key = 'bad'")
    const claimed = await store.claim(1, 2, 10)
    assert.deepStrictEqual(
      claimed.map((one) => ("damage" in one ? [one.id, one.damage] : [one.key])),
      [["good"], ["bad", "row bad of doorhook_deliveries: the body is not JSON in UTF-8"]]
    )
    damaged.close()
  })

  it("remembers what an earlier process stored", async () => {
    const file = join(folder, "again.db")
    const first = new DatabaseSync(file)
    await sqliteStore(first).keep("kept", delivery("kept"), nothing, 1_000)
    first.close()
    const second = new DatabaseSync(file)
    const store = sqliteStore(second)
    assert.isFalse(await store.keep("kept", delivery("kept"), nothing, 1_000))
    assert.deepStrictEqual(
      readable(await store.claim(1_000, 2_000, 10)).map((one) => one.delivery),
      [delivery("kept")]
    )
    second.close()
  })
})

await describeOnPostgres("the store in PostgreSQL", ({ administer, url }) => {
  const pools: Array<pg.Pool> = []
  afterAll(async () => {
    for (const pool of pools) await pool.end()
  })
  const opened = administer("CREATE DATABASE kit").then(() => {
    const pool = new pg.Pool({ connectionString: url("kit"), max: 8 })
    // The server might stop while connections are open, which the pool reports as an error.
    pool.on("error", () => undefined)
    pools.push(pool)
    return pool.query(`${receiverSchema} CREATE TABLE notes (id text)`).then(() => pool)
  })
  const pool = { connect: () => opened.then((one) => one.connect()) }
  const note = async (client: PostgresClient, id: string): Promise<void> =>
    void (await client.query("INSERT INTO notes VALUES ($1)", [id]))
  storeTests(
    () => postgresStore(pool),
    note,
    async () => (await administer("SELECT id FROM notes", "kit")).map(({ id }) => String(id))
  )

  it("stores nothing if `record` catches the error of a statement, which ends the transaction", async () => {
    const store = postgresStore(pool)
    const keeping = store.keep(
      "caught",
      delivery("caught"),
      (client) => client.query("SELECT * FROM no_such_table").then(nothing, nothing),
      1_000
    )
    assert.match(String(await keeping.catch((cause: unknown) => cause)), /its error was caught/)
    assert.isTrue(await store.keep("caught", delivery("caught"), nothing, null))
  })

  it("stores nothing if the connection breaks while `record` waits, and the process continues", async () => {
    const store = postgresStore(pool)
    const keeping = store.keep(
      "cut",
      delivery("cut"),
      async (client) => {
        const { rows } = await client.query("SELECT pg_backend_pid() AS pid")
        const ended = new Promise<void>((resolve) => client.once("end", resolve))
        await administer(`SELECT pg_terminate_backend(${Number(rows[0]?.["pid"])})`, "kit")
        await ended
      },
      null
    )
    assert.instanceOf(await keeping.catch((cause: unknown) => cause), Error)
    assert.isTrue(await store.keep("cut", delivery("cut"), nothing, null))
  })
})
