/**
 * Logins at an embedding host: hashing passwords must leave some of Node's threads free for database syncs.
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

/** Directory of a host with users in a table. Checking a password takes a few hundredths of a second. */
const hostDirectory = Effect.promise(async () => {
  const database = new DatabaseSync(":memory:")
  database.exec("CREATE TABLE users (id bigint PRIMARY KEY, login text NOT NULL, password_hash text)")
  database.prepare("INSERT INTO users VALUES (1, 'ada', ?)").run(await hashPassword("right", { ln: 13, p: 1 }))
  const tables = { buildings: null, administrators: null, tenants: null, accessPoints: null }
  return { ...sqlDirectory({ database, tables }), client: directory.client }
})

/** Counts the hashes that libuv computes, and the maximum number computed at the same time. */
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

const url = "http://localhost"

/**
 * Starts a host with a database file and users in a table. `logIn(n)` tries to log in an unknown user from the nth
 * address.
 */
const startHost = Effect.gen(function* () {
  const database = join(yield* temporaryFolder, "doorhook.db")
  const doorhook = yield* start({ database, directory: yield* hostDirectory })
  const form = yield* Effect.promise(async () =>
    formOf(await doorhook.fetch(new Request(authorizeUrl(url, client))), url)
  )
  // Each attempt has its own address, so the limit per address does not apply.
  const logIn = (n: number) =>
    doorhook.fetch(form({ login: `nobody ${n}`, password: "guess" }), { remoteAddress: `192.0.2.${n}` })
  return { doorhook, logIn }
})

live(
  "forty logins of unknown users leave threads for publishing: at most two hashes are computed concurrently",
  function* () {
    const { doorhook, logIn } = yield* startHost
    const { counted } = yield* countHashes
    let ended = 0
    const logins = Array.from({ length: 40 }, async (_, n) => {
      const answer = await logIn(n)
      ended++
      return answer.status
    })
    // If publishing had to wait for a thread, it would finish after all logins.
    yield* Effect.promise(() => doorhook.publish(event))
    assert.isBelow(ended, 20)
    const statuses = new Set(yield* Effect.promise(() => Promise.all(logins)))
    assert.deepStrictEqual([...statuses], [403])
    assert.strictEqual(counted.all, 40)
    assert.isAtMost(counted.most, 2)
  }
)

live("logins beyond the waiting limit get 503 with Retry-After, and later ones are checked again", function* () {
  const { logIn } = yield* startHost
  const answers = yield* Effect.promise(() =>
    Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const { headers, status } = await logIn(n)
        return `${status} ${headers.get("retry-after")}`
      })
    )
  )
  const checked = answers.filter((answer) => answer === "403 null").length
  assert.isTrue(checked >= 41 && checked < 200, `${checked} were checked`)
  assert.lengthOf(
    answers.filter((answer) => answer === "503 1"),
    200 - checked
  )
  assert.strictEqual((yield* Effect.promise(() => logIn(200))).status, 403)
})
