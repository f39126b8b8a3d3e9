/**
 * Logins at a host that embeds doorhook: their hashes share Node's threads with the syncs of the database.
 */
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert } from "@effect/vitest"
import { hashPassword, sqlDirectory } from "doorhook"
import { Effect } from "effect"
import { createHook } from "node:async_hooks"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { authorizeUrl } from "../harness/CodeGrant.ts"
import { client, directory, event, live, start } from "../harness/Embedded.ts"
import { formOf } from "../harness/LoginForm.ts"

/** A host whose users are in a table. Checking a password takes some hundredths of a second. */
const hostDirectory = Effect.promise(async () => {
  const database = new DatabaseSync(":memory:")
  database.exec("CREATE TABLE users (id bigint PRIMARY KEY, login text NOT NULL, password_hash text)")
  database.prepare("INSERT INTO users VALUES (1, 'ada', ?)").run(await hashPassword("right", { ln: 13, p: 1 }))
  const tables = { buildings: null, administrators: null, tenants: null, accessPoints: null }
  return { ...sqlDirectory({ database, tables }), client: directory.client }
})

/** How many hashes libuv has been given and has not ended, at most. */
const countHashes = Effect.acquireRelease(
  Effect.sync(() => {
    const open = new Set<number>()
    const counted = { most: 0, all: 0 }
    const hook = createHook({
      init: (id, type) => {
        if (type !== "SCRYPTREQUEST") return
        open.add(id)
        counted.all++
        counted.most = Math.max(counted.most, open.size)
      },
      before: (id) => open.delete(id)
    })
    hook.enable()
    return { counted, hook }
  }),
  ({ hook }) => Effect.sync(() => hook.disable())
)

live(
  "a hundred logins of made-up users leave the threads that publishing needs: two hashes at most are computed at once",
  Effect.gen(function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const doorhook = yield* start({ database, directory: yield* hostDirectory })
    const url = "http://localhost"
    const form = yield* Effect.promise(async () =>
      formOf(await doorhook.fetch(new Request(authorizeUrl(url, client))), url)
    )
    const { counted } = yield* countHashes
    let ended = 0
    const logins = Array.from({ length: 100 }, async (_, n) => {
      // From as many addresses: what one address may try at once does not count.
      const from = { remoteAddress: `192.0.2.${n}` }
      const answer = await doorhook.fetch(form({ login: `nobody ${n}`, password: "guess" }), from)
      ended++
      return answer.status
    })
    // Behind all of them, if it waited for its turn on a thread.
    yield* Effect.promise(() => doorhook.publish(event))
    assert.isBelow(ended, 50)
    const statuses = new Set(yield* Effect.promise(() => Promise.all(logins)))
    assert.deepStrictEqual([...statuses], [403])
    assert.strictEqual(counted.all, 100)
    assert.isAtMost(counted.most, 2)
  })
)
