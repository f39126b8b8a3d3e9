/**
 * `doorhook doctor` and `doorhook migrate`: their findings and effects. `doctor` must not change anything.
 */
import { assert, describe } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import { Effect } from "effect"
import { chmodSync, existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { startDoorhook } from "@doorhook/testkit/Doorhook"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { directory as directoryFile } from "./harness/KnownDirectory.ts"
import { directory, live } from "./harness/Embedded.ts"
import { runHere, serveHere } from "./harness/InProcess.ts"
import { temporaryFolder } from "@doorhook/testkit/Process"

const linesOf = (text: string): Record<string, string> =>
  Object.fromEntries(text.split("\n").map((line) => [line.slice(5, 20).trim(), line.slice(0, 4).trim()]))

const sealingKey = "kept-in-another-place-0123456789abcdef"

/** Creates a database that contains a secret encrypted with the key. */
const sealSecrets = (database: string, encryptionKey: string) =>
  Effect.promise(async () => (await createDoorhook({ database, directory, encryptionKey })).close())

/** An integration whose bindings are damaged, and a delivery that failed for it. */
const insertIntegration = `INSERT INTO integrations (scope_type, scope_id, integrator, url, method, bindings, status,
    created_by_user, created_by_client, signing_secret, previous_secrets, overrides, failing_noticed, failing_attempts,
    version, created_at, updated_at)
  VALUES ('building', 1, 'webhook', 'https://receiver.example/', 'post', 'odd', 'enabled', 'u', 'c', 'whsec_bmV3', '[]',
    '{}', 0, 0, 1, 0, 0)`
const insertFailedDelivery = `INSERT INTO deliveries (id, event, integration, state, reason, lane, attempts, early, resend)
  VALUES (1, 1, 1, 5, 'row_unreadable', 2, 0, 0, 0)`

/** Checks that `doctor` refuses a database without its encryption key, with the explanation of a refused start. */
const isRefusedWithoutItsKey = Effect.fnUntraced(function* (database: string) {
  const others: ReadonlyArray<readonly [Readonly<Record<string, string>>, RegExp]> = [
    [{}, /^FAIL +encryption key +The secrets in this database are encrypted\. Set the encryption key/m],
    [
      { DOORHOOK_ENCRYPTION_KEY: "of-another-database-0123456789abcdef" },
      /^FAIL +encryption key +The secrets in this database were encrypted under another key/m
    ]
  ]
  for (const [env, said] of others) {
    const { code, stdout } = yield* runHere(["doctor", "--database", database], env)
    assert.match(stdout, said)
    assert.notInclude(stdout, "unencrypted")
    assert.strictEqual(code, 1)
  }
})

describe("doorhook doctor", () => {
  live("takes each flag of serve, and checks the public URL, the proxies and the disk", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const serving = ["--port", "0", "--metrics-for", "anyone", "--client-isolation"]
    const sources = ["--webhook-source", "192.0.2.1", "--browser-origin", "https://app.example", "--workers", "0"]
    const checked = Effect.fnUntraced(function* (...flags: ReadonlyArray<string>) {
      const given = ["doctor", "--database", database, "--directory", directoryFile, ...serving, ...sources]
      const { stdout } = yield* runHere([...given, ...flags])
      return stdout
    })
    assert.match(yield* checked(), /^ok +disk +[\d.]+ GiB are free[^]*^ok +public URL +not set/m)
    assert.match(yield* checked("--host", "0.0.0.0"), /^warn +public URL +not set: .* 0\.0\.0\.0\. .*--public-url/m)
    assert.match(yield* checked("--public-url", "http://doors.example"), /^warn +public URL .* is not https/m)
    const nowhere = yield* checked("--public-url", "https://127.0.0.1:1/doors")
    assert.match(nowhere, /^warn +public URL +https:\S+\/oauth-authorization-server\/doors can't be read from here/m)
    assert.match(nowhere, /^warn +trusted proxies +none, although the public URL is https: .*--trusted-proxy/m)

    const { url } = yield* serveHere(["--database", "memory", "--directory", directoryFile])
    const served = yield* checked("--public-url", url, "--trusted-proxy", "10.0.0.0/8")
    assert.match(served, /^ok +public URL .* names this issuer$[^]*^ok +trusted proxies +10\.0\.0\.0\/8$/m)
    const other = yield* checked("--public-url", url.replace("127.0.0.1", "localhost"))
    assert.match(
      other,
      /^FAIL +public URL .* names the issuer http:\/\/127\.0\.0\.1:\d+, not http:\/\/localhost:\d+: /m
    )
    assert.match(
      yield* checked("--public-url", `${url}/doors`),
      /^warn +public URL .* answers 404 without metadata: pass this path on/m
    )
  })

  live("accepts a new file, creates nothing, and warns of missing settings", function* () {
    const database = join(yield* temporaryFolder, "deep", "doorhook.db")
    const { code, stdout } = yield* runHere(["doctor", "--database", database, "--directory", directoryFile])
    assert.strictEqual(code, 0, stdout)
    assert.deepInclude(linesOf(stdout), { database: "ok", directory: "ok", "operator key": "warn", clock: "ok" })
    assert.isFalse(existsSync(database))
  })

  live("explains what prevents the service from running, and exits with 1", function* () {
    const folder = yield* temporaryFolder
    const database = join(folder, "other.db")
    writeFileSync(
      database,
      "this is no database, and has text in it that is long enough to be looked at as one ".repeat(9)
    )
    const wrong = join(folder, "directory.json")
    writeFileSync(wrong, '{"clients":[],"users":[{"login":"a","password":"b","building":[1]}]}')
    const { code, stderr, stdout } = yield* runHere(["doctor", "--database", database, "--directory", wrong])
    assert.strictEqual(code, 1)
    assert.deepInclude(linesOf(stdout), { database: "FAIL" })
    assert.match(
      stdout,
      /^warn +directory .*: \/users\/0\/building is unknown and was ignored; did you mean buildings\?$/m
    )
    assert.match(stderr, /^doorhook: \d of \d prevents? the service from running here.\n$/)
    const settings = yield* runHere(["doctor", "--ack-timeout", "soon", "--retention", "never"])
    assert.strictEqual(settings.code, 3)
    assert.match(settings.stderr, /"soon" is not a duration.*"never" is not a duration/)
    const file = join(folder, "settings.json")
    writeFileSync(
      file,
      '{"databse":"x.db","port":"4000","retry":{"call":"5s","access_log":["later",7]},"lease":"long"}'
    )
    const mixed = yield* runHere(["doctor", "--config", file, "--directory", join(folder, "none.json")])
    assert.deepStrictEqual([mixed.code, mixed.stdout], [3, ""])
    // The message must list all problems in the configuration file, and the missing directory file.
    for (const said of [
      "databse: no such setting; did you mean database?; ",
      "port: must be a number, not a text",
      'retry.call: must be a list like ["..."], not a text',
      "retry.access_log.1: must be a text, not a number",
      'retry.access_log (--retry): "later" is not a duration',
      'lease: "long" is not a duration',
      "none.json can't be read"
    ]) {
      assert.include(mixed.stderr, said)
    }
  })

  live("warns if others can read the file, and shows the version of its tables", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const made = yield* runHere(["migrate", "--database", database])
    assert.match(made.stdout, /there were none/)
    chmodSync(database, 0o644)
    const { stdout } = yield* runHere(["doctor", "--database", database])
    assert.match(stdout, /ok +tables +version \d+, the newest/)
    assert.match(stdout, /warn +permissions +other users of this machine can read/)
    const memory = yield* runHere(["migrate", "--database", "memory"])
    assert.deepStrictEqual([memory.code, memory.stdout], [3, ""])
  })

  live("lists integrations that can't be read, and counts the deliveries that failed for them", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    yield* runHere(["migrate", "--database", database])
    const tables = new DatabaseSync(database)
    tables.exec(`${insertIntegration}; ${insertFailedDelivery}`)
    tables.close()
    const { code, stdout } = yield* runHere(["doctor", "--database", database])
    assert.strictEqual(code, 0)
    assert.match(stdout, /^warn +rows +integration 1 of building 1 can't be read: .*bindings.* Repair the row/m)
    assert.match(stdout, /^warn +rows +1 delivery was cancelled because a row could not be read/m)
  })

  live("fails without the encryption key of the database, as the service would", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    yield* sealSecrets(database, sealingKey)
    yield* isRefusedWithoutItsKey(database)
    const right = yield* runHere(["doctor", "--database", database], { DOORHOOK_ENCRYPTION_KEY: sealingKey })
    assert.strictEqual(right.code, 0)
    assert.match(right.stdout, /^ok +encryption key +set$/m)
    assert.match(right.stdout, /^ok +directory +functions of an application: only its own processes deliver/m)
    const foreign = yield* runHere(["doctor", "--database", database, "--directory", directoryFile], {
      DOORHOOK_ENCRYPTION_KEY: sealingKey
    })
    assert.strictEqual(foreign.code, 1)
    assert.match(foreign.stdout, /^FAIL +directory +Its deliveries belong to an application that embeds doorhook/m)
  })

  live("warns of settings that differ from those of the processes that deliver", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const flags = ["--database", database, "--directory", directoryFile]
    yield* Effect.scoped(serveHere([...flags, "--ack-timeout", "6s"]))
    const { code, stdout } = yield* runHere(["doctor", ...flags])
    assert.strictEqual(code, 0, stdout)
    assert.match(stdout, /^warn +agreement +.* ackTimeout: the default instead of 6s$/m)
    const { stdout: same } = yield* runHere(["doctor", ...flags, "--ack-timeout", "6s"])
    assert.match(same, /^ok +agreement/m)
  })
})

describe("doorhook migrate", () => {
  live("creates no tables while a process delivers from the file", function* () {
    const database = join(yield* temporaryFolder, "doors.db")
    const service = yield* startDoorhook(["serve", "--port", "0", "--database", database])
    yield* Effect.promise(() => service.printed(/listening/))
    const tables = new DatabaseSync(database, { timeout: 10_000 })
    tables.exec("DELETE FROM doorhook_migrations")
    tables.close()
    const refused = yield* runHere(["migrate", "--database", database])
    assert.match(refused.stderr, new RegExp(`process ${service.child.pid}, since .*, delivers from it`))
    assert.deepStrictEqual([refused.code, refused.stdout], [1, ""])
  })

  live("refuses the file of an unreleased build, as doctor and backup do", function* () {
    const database = join(yield* temporaryFolder, "doors.db")
    yield* runHere(["migrate", "--database", database])
    const tables = new DatabaseSync(database)
    tables.exec("UPDATE doorhook_migrations SET name = 'initial'")
    tables.close()
    const reason = /an unreleased build of doorhook made its tables, which no release can read\. Move the file away/
    for (const command of [["migrate"], ["doctor"], ["backup", "--out", `${database}.copy`]]) {
      const { code, stderr, stdout } = yield* runHere([...command, "--database", database])
      assert.match(stdout + stderr, reason, command[0])
      assert.strictEqual(code, 1, command[0])
    }
  })
})

await describeOnPostgres("doorhook doctor", (server) => {
  live("inspects a database without changing it, and migrate creates the tables", function* () {
    const name = yield* newDatabase(server)
    const env = { DOORHOOK_DATABASE: server.url(name) }
    const before = yield* runHere(["doctor"], env)
    assert.match(before.stdout, /ok +database +PostgreSQL .*: new\nok +tables +none yet/)
    assert.match(before.stdout, /ok +clock +\S+, same as the database's/)
    const schemas = () =>
      Effect.promise(() => server.administer("SELECT 1 FROM pg_namespace WHERE nspname = 'doorhook'", name))
    assert.lengthOf(yield* schemas(), 0)
    assert.match((yield* runHere(["migrate"], env)).stdout, /^the tables now have version \d+; there were none/)
    assert.lengthOf(yield* schemas(), 1)
    assert.match((yield* runHere(["doctor"], env)).stdout, /the newest/)
  })

  live("fails without the encryption key of the database", function* () {
    const database = server.url(yield* newDatabase(server))
    yield* sealSecrets(database, sealingKey)
    yield* isRefusedWithoutItsKey(database)
  })
})
