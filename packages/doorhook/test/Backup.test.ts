/**
 * Makes and restores backups as in `docs/maintenance.md`. Deliveries accepted before a backup continue from the restored
 * database. A failed `doorhook backup` leaves nothing behind.
 */
import { assert, describe, it } from "@effect/vitest"
import { SecretBox } from "@doorhook/sql"
import { createDoorhook } from "doorhook"
import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { linkSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import { Webhook } from "standardwebhooks"
import { installedTools } from "@doorhook/testkit/postgres/ServerProcess"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { describeOnPostgres, newDatabase, startOwn } from "@doorhook/testkit/postgres/TestServer"
import { directory, event, live, mount, tokenFrom, untilInState } from "./harness/Embedded.ts"
import { interruptWhen, writeProgram } from "./harness/Backups.ts"
import { runHere } from "./harness/InProcess.ts"
import { shared } from "./harness/Shared.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { doorhookProgram, startDoorhook } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { canMount, smallDisk } from "@doorhook/testkit/SmallDisk"
import { callApi, createIntegration } from "./harness/ThirdParty.ts"

const encryptionKey = "kept-in-another-place-0123456789abcdef"

const execute = promisify(execFile)

const decodeWritten = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ bytes: Schema.Int, events: Schema.Int }))
)

const open = (database: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      createDoorhook({
        database,
        directory,
        encryptionKey,
        allowTargets: ["127.0.0.0/8"],
        retry: { access_log: ["1h"] }
      })
    ),
    (doorhook) => Effect.promise(() => doorhook.close())
  )

/** Accepts an event that its receiver refuses, takes a backup, restores it, and delivers from the restored database. */
const rehearse = Effect.fnUntraced(function* (
  from: string,
  to: string,
  steps: { readonly running?: () => Promise<void>; readonly stopped: () => Promise<unknown> }
) {
  const receiver = yield* startReceiver((_, nth) => (nth === 1 ? 500 : 200))
  const left = yield* Effect.gen(function* () {
    const doorhook = yield* open(from)
    const { url } = yield* mount(doorhook)
    const token = yield* tokenFrom(url)
    const { signing_secret } = yield* Effect.promise(() => createIntegration(url, token, receiver.url))
    const { id } = yield* Effect.promise(() => doorhook.publish(event))
    const delivery = yield* untilInState(doorhook, "retrying")
    yield* Effect.promise(async () => steps.running?.())
    return { token, signing_secret, id, key: doorhook.operatorKey, delivery }
  }).pipe(Effect.scoped)
  yield* Effect.promise(() => steps.stopped())

  const doorhook = yield* open(to)
  assert.strictEqual(doorhook.operatorKey, left.key)
  const { url } = yield* mount(doorhook)
  assert.strictEqual((yield* Effect.promise(() => callApi(url, left.token, "GET", "/v4/buildings"))).status, 200)
  yield* Effect.promise(() => doorhook.deliveries.resend(left.delivery))
  yield* Effect.promise(() => receiver.until(({ length }) => length === 2))
  const { id } = yield* Effect.promise(() => doorhook.publish(event))
  yield* Effect.promise(() => receiver.until(({ length }) => length === 3))
  assert.deepStrictEqual(
    receiver.received.map(({ headers }) => headers["webhook-id"]),
    [left.id, left.id, id]
  )
  assert.notStrictEqual(id, left.id)
  for (const { body, headers } of receiver.received) {
    const given = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    new Webhook(left.signing_secret).verify(body, given)
  }
})

/**
 * Replaces each key of `words` by its value in the code block of `docs/maintenance.md` that contains `mentions`, and runs
 * the result under a permissive umask.
 */
const runGuide = async (
  mentions: string,
  { folder, tools, words = {} }: { folder: string; tools: string; words?: Record<string, string> }
): Promise<string> => {
  const guide = readFileSync(new URL("../../../docs/maintenance.md", import.meta.url), "utf8")
  const block = [...guide.matchAll(/```sh\n([^]*?)```/g)].find(([, text = ""]) => text.includes(mentions))?.[1] ?? ""
  assert.include(block, mentions)
  const script = Object.entries(words).reduce((text, [word, other]) => text.replaceAll(word, other), block)
  const PATH = `${tools}:${process.env["PATH"]}`
  const { stdout } = await execute("sh", ["-ec", `umask 022\n${script}`], {
    cwd: folder,
    env: { ...process.env, DOORHOOK_ENCRYPTION_KEY: encryptionKey, PATH }
  })
  return stdout
}

/** Returns the permission bits of a file. */
const modeOf = (file: string): number => statSync(file).mode & 0o777

/** Makes a folder with an `npx` that runs this checkout's doorhook. */
const withNpx = Effect.map(temporaryFolder, (folder) => {
  writeProgram(join(folder, "npx"), `#!/bin/sh\nshift\nexec "${process.execPath}" "${doorhookProgram}" "$@"\n`)
  return folder
})

const withKey = /^keep +DOORHOOK_ENCRYPTION_KEY, kept somewhere else/

const someReadable = /^keep +some of its secrets are not encrypted: let nobody else read the file$/

const isWhole = /^ok +tables +version \d+, the newest$/m

/** New tables in a file. Each test gets a copy, because creating them takes longer than most tests. */
const made = shared(
  Effect.gen(function* () {
    const file = join(yield* temporaryFolder, "doorhook.db")
    yield* runHere(["migrate", "--database", file])
    return readFileSync(file)
  })
)

describe("a backup on SQLite", () => {
  live("is taken while the service runs, is readable only by its owner, and continues from its state", function* () {
    const [folder, other, tools] = [yield* temporaryFolder, yield* temporaryFolder, yield* withNpx]
    const backup = join(folder, "backup.db")
    const to = join(other, "doorhook.db")
    // Leftover files of the lost database.
    for (const end of ["", "-wal", "-shm"]) writeFileSync(to + end, "of the old database")
    yield* rehearse(join(folder, "doorhook.db"), to, {
      running: async () => {
        const said = await runGuide("backup --database doorhook.db", { folder, tools })
        assert.match(said, /^holds +1 event, 1 delivery$/m)
        assert.match(said, /^keep +DOORHOOK_ENCRYPTION_KEY/m)
        assert.strictEqual(modeOf(backup), 0o600)
      },
      stopped: async () => {
        await runGuide("cp backup.db", { folder: other, tools, words: { "backup.db": backup } })
        assert.match(await runGuide("doctor --database doorhook.db", { folder: other, tools }), isWhole)
      }
    })
  })

  live("is consistent while the service accepts events", function* () {
    const folder = yield* temporaryFolder
    const [from, to] = [join(folder, "doorhook.db"), join(folder, "backup.db")]
    const doorhook = yield* open(from)
    const publish = () => doorhook.publish(Array.from({ length: 50 }, () => event))
    const accepted = yield* Effect.promise(publish)
    const backup = yield* startDoorhook(["backup", "--database", from, "--out", to, "--json"])
    const during = yield* Effect.promise(async () => {
      const ended = backup.finished.then(() => "ended")
      for (let batches = 0; ; batches++) if ((await Promise.race([ended, publish()])) === "ended") return batches
    })
    const { code, stderr, stdout } = yield* Effect.promise(() => backup.finished)
    assert.strictEqual(code, 0, stderr)
    assert.isAtLeast(during, 1)
    const copy = new DatabaseSync(to, { readOnly: true })
    const ids = copy.prepare("SELECT id FROM events").all()
    copy.close()
    const { bytes, events } = decodeWritten(stdout)
    assert.deepStrictEqual([events, bytes], [ids.length, statSync(to).size])
    const held = new Set(ids.map(({ id }) => id))
    for (const { id } of accepted) assert.isTrue(held.has(id))
  })

  const twoIntegrations = `INSERT INTO integrations (scope_type, scope_id, integrator, url, method, bindings, status,
      created_by_user, created_by_client, signing_secret, previous_secrets, overrides, failing_noticed, failing_attempts,
      version, created_at, updated_at)
    SELECT 'building', value, 'webhook', 'https://receiver.example/', 'post', '[]', 'enabled', 'u', 'c',
      '${SecretBox.sealedPrefix}encrypted', '[]', '{}', 0, 0, 1, 0, 0 FROM json_each('[1, 2]')`

  /** Prepared secrets of a file, and what the backup reports about them. */
  const secrets: ReadonlyArray<
    readonly [what: string, statements: string, encrypted: boolean, kept: ReadonlyArray<RegExp>]
  > = [
    ["all are encrypted", "", true, [withKey]],
    [
      "a signing secret is from before the key was set",
      "UPDATE integrations SET signing_secret = 'whsec_readable' WHERE id = 1",
      false,
      [withKey, someReadable]
    ],
    [
      "the operator key was generated",
      "INSERT INTO settings (name, value) VALUES ('operator_key', 'dhop_readable')",
      false,
      [withKey, someReadable]
    ],
    [
      "the key for portal links is from before the key was set",
      "INSERT INTO settings (name, value) VALUES ('portal_secret', 'readable')",
      false,
      [withKey, someReadable]
    ],
    [
      "a setting that is no secret is not encrypted",
      "INSERT INTO settings VALUES ('other', 'readable')",
      true,
      [withKey]
    ],
    [
      "none are encrypted",
      "UPDATE integrations SET signing_secret = 'whsec_readable'",
      false,
      [/^keep +its secrets are not encrypted: let nobody else read the file$/]
    ]
  ]

  it.live.each(secrets)("reports whether secrets are readable: %s", ([, statements, encrypted, kept]) =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [from, to] = [join(folder, "doorhook.db"), join(folder, "backup.db")]
      writeFileSync(from, made())
      const database = new DatabaseSync(from)
      database.exec(`${twoIntegrations}; DELETE FROM settings; ${statements}`)
      database.close()
      const args = ["backup", "--database", from, "--out", to, "--force"]
      const shown = yield* runHere(args)
      const lines = shown.stdout.split("\n").filter((line) => line.startsWith("keep"))
      assert.lengthOf(lines, kept.length, shown.stderr)
      for (const [index, said] of kept.entries()) assert.match(lines[index] ?? "", said)
      const { stdout } = yield* runHere([...args, "--json"])
      assert.include(stdout, `"secrets_encrypted": ${encrypted},`)
    })
  )

  live("succeeds if a killed backup with the same process id left its unfinished file", function* () {
    const folder = yield* temporaryFolder
    const [from, to] = [join(folder, "doorhook.db"), join(folder, "backup.db")]
    writeFileSync(from, made())
    writeFileSync(`${to}.${process.pid}.part`, "half")
    const { code, stderr } = yield* runHere(["backup", "--database", from, "--out", to])
    assert.strictEqual(code, 0, stderr)
  })

  const damaged = (path: string): void => {
    const database = new DatabaseSync(path)
    database.exec("CREATE TABLE t (a TEXT)")
    for (let row = 0; row < 100; row++) database.prepare("INSERT INTO t VALUES (?)").run("x".repeat(1_000))
    database.close()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xff, 4_096 * 3, 4_096 * 6))
  }

  const foreign = (path: string): void => {
    const database = new DatabaseSync(path)
    database.exec("CREATE TABLE t (a TEXT)")
    database.close()
  }

  /** Refused backups: the arguments of the command, and its exit code and output. `doorhook.db` is a new database. */
  const refusals: ReadonlyArray<
    readonly [
      what: string,
      args: string,
      code: number,
      said: RegExp,
      prepare?: (file: (name: string) => string) => void
    ]
  > = [
    ["an existing file", "doorhook.db there.db", 3, /there\.db: it exists already\..*--force\.$/],
    ["the database itself", "doorhook.db doorhook.db --force", 3, /it is the database itself, or one of its files/],
    ["its lock", "doorhook.db doorhook.db-lock --force", 3, /it is the database itself, or one of its files/],
    [
      "a link to the database",
      "doorhook.db link.db --force",
      3,
      /it is the database itself, or one of its files/,
      (file) => symlinkSync(file("doorhook.db"), file("link.db"))
    ],
    ["a folder", "doorhook.db .", 3, /it is a folder\. Name a file in it\.$/],
    [
      "a device",
      "doorhook.db null --force",
      3,
      /it is not a regular file/,
      (file) => symlinkSync("/dev/null", file("null"))
    ],
    ["a file named twice", "doorhook.db one.db two.db", 3, /Name the file once/],
    ["no folder", "doorhook.db none/backup.db", 1, /can't be written: there is no such file or folder\.$/],
    [
      "a file with a log beside it",
      "doorhook.db there.db --force",
      3,
      /there\.db-wal exists/,
      (file) => writeFileSync(file("there.db-wal"), "a log")
    ],
    ["no database", "none.db backup.db", 3, /There is no database none\.db\. Name the file/],
    ["memory", "memory backup.db", 3, /in memory can't be backed up/],
    ["a damaged database", "damaged.db backup.db", 1, /damaged\.db is damaged/, (file) => damaged(file("damaged.db"))],
    ["a foreign database", "other.db backup.db", 1, /has no doorhook tables/, (file) => foreign(file("other.db"))],
    ["a text", "there.db backup.db", 1, /there\.db is damaged or not a SQLite database/],
    [
      "a database with two names",
      "second.db backup.db",
      1,
      /has 2 names/,
      (file) => linkSync(file("doorhook.db"), file("second.db"))
    ]
  ]

  const full = "names the full disk of the copy"
  it.live.skipIf(!canMount(full))(full, () =>
    Effect.gen(function* () {
      const database = join(yield* temporaryFolder, "doorhook.db")
      writeFileSync(database, made())
      const disk = yield* smallDisk(1)
      yield* disk.fill
      const { code, stderr } = yield* runHere(["backup", "--database", database, join(disk.folder, "copy.db")])
      assert.strictEqual(code, 1)
      assert.match(stderr, new RegExp(`^doorhook: .*${disk.folder}.* is full`))
      assert.deepStrictEqual(readdirSync(disk.folder), ["filler"])
    })
  )

  it.live.each(refusals)("is refused, in one line: %s", ([, args, exitCode, said, prepare]) =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = (name: string): string => join(folder, name)
      writeFileSync(file("doorhook.db"), made())
      writeFileSync(file("there.db"), "of another program")
      prepare?.(file)
      const before = readdirSync(folder).map((name) => [name, readFileSync(file(name), "base64")])
      const [database = "", out = "", ...flags] = args.split(" ")
      const from = database === "memory" ? database : file(database)
      const { code, stderr, stdout } = yield* runHere(["backup", "--database", from, "--out", file(out), ...flags])
      assert.deepStrictEqual([code, stdout], [exitCode, ""], stderr)
      assert.match(stderr.replaceAll(`${folder}/`, ""), new RegExp(`^doorhook: .*${said.source.replace(/\$$/, "")}`))
      assert.lengthOf(stderr.trimEnd().split("\n"), 1)
      assert.deepStrictEqual(
        readdirSync(folder).map((name) => [name, readFileSync(file(name), "base64")]),
        before
      )
    })
  )

  live("replaces a file with --force, and leaves nothing after an interruption", function* () {
    const folder = yield* temporaryFolder
    const [from, to] = [join(folder, "doorhook.db"), join(folder, "backup.db")]
    writeFileSync(from, made())
    writeFileSync(to, "an older one", { mode: 0o644 })
    const replaced = yield* runHere(["backup", "--database", from, "--out", to, "--force"])
    assert.strictEqual(replaced.code, 0, replaced.stderr)
    assert.strictEqual(modeOf(to), 0o600)
    // An exclusive lock keeps the backup from reading the database.
    const other = new DatabaseSync(from)
    other.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
    const before = readdirSync(folder)
    yield* interruptWhen(["backup", "--database", from, "--out", to, "--force"], folder, () => true)
    other.close()
    assert.deepStrictEqual(readdirSync(folder), before)
  })
})

/** Dumps a database and restores it into another, with PostgreSQL's programs from the folder `programs`. */
const rehearseDump = (server: TestServer, programs: string) =>
  Effect.gen(function* () {
    const [from, to] = [server.url(yield* newDatabase(server)), server.url(yield* newDatabase(server))]
    const [folder, npx] = [yield* temporaryFolder, yield* withNpx]
    const file = join(folder, "doorhook.dump")
    const tools = `${npx}:${programs}`
    const guide = (mentions: string, database: string) =>
      runGuide(mentions, { folder, tools, words: { "postgres://doorhook@db.internal/doorhook": database } })
    yield* rehearse(from, to, {
      running: async () => {
        const said = await guide("backup --database postgres", from)
        assert.match(said, /^holds +1 event, 1 delivery$/m)
        assert.match(said, /^keep +DOORHOOK_ENCRYPTION_KEY/m)
        assert.strictEqual(modeOf(file), 0o600)
      },
      stopped: async () => {
        await guide("pg_restore", to)
        assert.match(await guide("doctor --database postgres", to), isWhole)
      }
    })
  }).pipe(Effect.scoped)

await describeOnPostgres("a backup on PostgreSQL", (server) => {
  live("is a copy of the database on its server, made only with SQL, and continues from its state", function* () {
    const [from, to] = [yield* newDatabase(server), yield* newDatabase(server)]
    yield* rehearse(server.url(from), server.url(to), {
      stopped: async () => {
        await server.administer(`DROP DATABASE ${to}`)
        await server.administer(`CREATE DATABASE ${to} TEMPLATE ${from}`)
      }
    })
  })

  it.live("is a dump of the schema, which continues in another database", (context) =>
    Effect.gen(function* () {
      const tools = installedTools()
      if (typeof tools === "string") {
        process.stderr.write(`SKIPPED: pg_dump and pg_restore: ${tools}\n`)
        return context.skip(tools)
      }
      const [newest] = yield* Effect.promise(() => server.administer("SHOW server_version_num"))
      if (tools.version >= Math.trunc(Number(newest?.["server_version_num"]) / 10_000)) {
        return yield* rehearseDump(server, tools.folder)
      }
      const older = yield* Effect.acquireRelease(
        Effect.promise(() => startOwn(tools.folder)),
        ({ stop }) => Effect.promise(stop)
      )
      return yield* rehearseDump(older, tools.folder)
    })
  )
})
