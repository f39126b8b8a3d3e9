/**
 * Backups as `docs/backup.md` describes them, each restored: what was accepted goes on where it stood.
 */
import { assert, describe, it } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Webhook } from "standardwebhooks"
import { installedTools, startInstalled } from "@doorhook/testkit/postgres/InstalledServer"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { directory, event, live, mount, tokenFrom } from "./harness/Embedded.ts"
import { eventually } from "./harness/Eventually.ts"
import { runHere } from "./harness/InProcess.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { callApi, createIntegration } from "./harness/ThirdParty.ts"

const encryptionKey = "kept-in-another-place-0123456789abcdef"

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

/** Accepts an event that its receiver refuses, takes a backup, restores it, and delivers from what was restored. */
const rehearse = Effect.fnUntraced(function* (
  from: string,
  to: string,
  steps: { readonly running?: () => void; readonly stopped: () => void | Promise<unknown> }
) {
  const receiver = yield* startReceiver((_, nth) => (nth === 1 ? 500 : 200))
  const left = yield* Effect.gen(function* () {
    const doorhook = yield* open(from)
    const { url } = yield* mount(doorhook)
    const token = yield* tokenFrom(url)
    const { signing_secret } = yield* Effect.promise(() => createIntegration(url, token, receiver.url))
    const { id } = yield* Effect.promise(() => doorhook.publish(event))
    const waiting = yield* eventually(
      "it is tried again",
      Effect.promise(() => doorhook.deliveries.list({ state: "retrying" })),
      ({ deliveries }) => deliveries.length === 1
    )
    steps.running?.()
    return { token, signing_secret, id, key: doorhook.operatorKey, delivery: waiting.deliveries[0]?.id ?? "" }
  }).pipe(Effect.scoped)
  yield* Effect.promise(async () => steps.stopped())

  const checked = yield* runHere(["doctor", "--database", to], { DOORHOOK_ENCRYPTION_KEY: encryptionKey })
  assert.match(checked.stdout, /ok +tables +version \d+, the newest/)
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

const run = (command: string, ...args: ReadonlyArray<string>): void => {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" })
  assert.strictEqual(status, 0, stderr)
}

/** Runs the commands of `docs/backup.md` that mention a text, with some words replaced, as somebody with an open umask. */
const runGuide = (
  mentions: string,
  {
    folder,
    tools,
    words = {}
  }: { readonly folder: string; readonly tools: string; readonly words?: Record<string, string> }
): void => {
  const guide = readFileSync(new URL("../../../docs/backup.md", import.meta.url), "utf8")
  const block = [...guide.matchAll(/```sh\n([^]*?)```/g)].find(([, text = ""]) => text.includes(mentions))?.[1] ?? ""
  assert.include(block, mentions)
  const script = Object.entries(words).reduce((text, [word, other]) => text.replaceAll(word, other), block)
  const PATH = `${tools}:${dirname(process.execPath)}:${process.env["PATH"]}`
  const { status, stderr } = spawnSync("sh", ["-ec", `umask 022\n${script}`], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, PATH }
  })
  assert.strictEqual(status, 0, stderr)
}

/** Who may read a file, besides root. */
const modeOf = (file: string): number => statSync(file).mode & 0o777

/** A folder with a `sqlite3` in it, for machines that have none: runs one statement on a file. */
const sqliteShell = Effect.map(temporaryFolder, (folder) => {
  const program = `#!/usr/bin/env node
const { DatabaseSync } = require("node:sqlite")
const shell = new DatabaseSync(process.argv[2])
shell.exec(process.argv[3])
shell.close()
`
  writeFileSync(join(folder, "sqlite3"), program, { mode: 0o700 })
  return folder
})

describe("a backup on SQLite", () => {
  live(
    "is taken while the service runs, for its owner alone, and goes on where it stood",
    Effect.gen(function* () {
      const [folder, tools] = [yield* temporaryFolder, yield* sqliteShell]
      const [from, backup, to] = [join(folder, "doorhook.db"), join(folder, "backup.db"), join(folder, "restored.db")]
      const running = () => {
        runGuide("VACUUM INTO", { folder, tools })
        assert.strictEqual(modeOf(backup), 0o600)
      }
      yield* rehearse(from, to, { running, stopped: () => copyFileSync(backup, to) })
    })
  )
})

/** A dump of one database, restored into another, by the programs in a folder. */
const rehearseDump = (server: TestServer, tools: string) =>
  Effect.gen(function* () {
    const [from, to] = [server.url(yield* newDatabase(server)), server.url(yield* newDatabase(server))]
    const folder = yield* temporaryFolder
    const file = join(folder, "doorhook.dump")
    const words = { "postgres://doorhook@db.internal/doorhook": from }
    yield* rehearse(from, to, {
      running: () => {
        runGuide("pg_dump", { folder, tools, words })
        assert.strictEqual(modeOf(file), 0o600)
      },
      stopped: () => run(join(tools, "pg_restore"), "--no-owner", `--dbname=${to}`, file)
    })
  }).pipe(Effect.scoped)

await describeOnPostgres("a backup on PostgreSQL", (server) => {
  live(
    "is a copy of the database on its server, made by SQL alone, and goes on where it stood",
    Effect.gen(function* () {
      const [from, to] = [yield* newDatabase(server), yield* newDatabase(server)]
      yield* rehearse(server.url(from), server.url(to), {
        stopped: async () => {
          await server.administer(`DROP DATABASE ${to}`)
          await server.administer(`CREATE DATABASE ${to} TEMPLATE ${from}`)
        }
      })
    })
  )

  it.live("is a dump of the schema, restored into another database, where it goes on", (context) =>
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
        Effect.promise(() => startInstalled(tools.folder)),
        ({ stop }) => Effect.promise(stop)
      )
      return yield* rehearseDump(older, tools.folder)
    }).pipe(Effect.scoped)
  )
})
