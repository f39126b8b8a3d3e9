/**
 * Backups of PostgreSQL with substitutes for its programs, which fail, or write half a dump.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { runDoorhook } from "@doorhook/testkit/Doorhook"
import { installedTools } from "@doorhook/testkit/postgres/ServerProcess"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { interruptWhen, writeProgram } from "./harness/Backups.ts"
import { live } from "./harness/Embedded.ts"
import { runHere } from "./harness/InProcess.ts"
import { shared } from "./harness/Shared.ts"

await describeOnPostgres("a backup on PostgreSQL", (server) => {
  const database = shared(
    Effect.gen(function* () {
      const url = server.url(yield* newDatabase(server))
      yield* runHere(["migrate", "--database", url])
      return url
    })
  )

  /** Prepares a backup with substitutes for PostgreSQL's programs, given as JavaScript by program name. */
  const withPrograms = (programs: Readonly<Record<string, string>>) =>
    Effect.gen(function* () {
      const [folder, tools] = [yield* temporaryFolder, yield* temporaryFolder]
      for (const [name, text] of Object.entries(programs)) {
        const version = `if (process.argv[2] === "--version") { console.log("${name} (PostgreSQL) 99.1"); process.exit() }`
        writeProgram(join(tools, name), `#!${process.execPath}\n${version}\n${text}\n`)
      }
      return {
        folder,
        args: ["backup", "--database", database(), "--out", join(folder, "b.dump")],
        env: { PATH: tools }
      }
    })

  const writesHalf = `require("node:fs").writeFileSync(process.argv.find((one) => one.startsWith("--file=")).slice(7), "half")`

  const flaws: ReadonlyArray<readonly [string, Readonly<Record<string, string>>, RegExp]> = [
    ["there is no pg_dump", {}, /There is no pg_dump in PATH\. Install the PostgreSQL client programs of version \d+/],
    ["there is no pg_restore", { pg_dump: "" }, /There is no pg_restore in PATH\. Install/],
    [
      "pg_dump fails",
      { pg_dump: `${writesHalf}; console.error("error: no\\nway"); process.exit(1)`, pg_restore: "" },
      /can't be dumped: error: no; way$/
    ],
    [
      "pg_dump fails, and its arguments have no password",
      {
        pg_dump: `const { argv, env } = process; console.error(argv.some((one) => one.includes(":" + env.PGPASSWORD)) ? "seen" : "not seen"); process.exit(1)`,
        pg_restore: ""
      },
      /can't be dumped: not seen$/
    ],
    [
      "the dump can't be read back",
      { pg_dump: writesHalf, pg_restore: `console.error("error: unexpected end of file"); process.exit(1)` },
      /can't be read back: error: unexpected end of file\./
    ],
    [
      "the dump lacks tables",
      { pg_dump: writesHalf, pg_restore: 'console.log("COPY doorhook.events (id) FROM stdin;\\n\\\\.")' },
      /The dump lacks migrations, integrations, queue, deliveries, settings\./
    ]
  ]

  it.live.each(flaws)("is refused, in one line, when %s", ([, programs, said]) =>
    Effect.gen(function* () {
      const { args, env, folder } = yield* withPrograms(programs)
      const { code, stderr, stdout } = yield* runDoorhook(args, env)
      assert.deepStrictEqual([code, stdout], [1, ""], stderr)
      assert.match(stderr.trimEnd(), said)
      assert.lengthOf(stderr.trimEnd().split("\n"), 1)
      assert.lengthOf(readdirSync(folder), 0)
    })
  )

  /** A stand-in for `pg_restore` that prints a dump with these rows of some tables. */
  const printsDump = (rows: Readonly<Record<string, string>>): string => {
    const columns = new Map([
      ["integrations", "id, status, signing_secret"],
      ["settings", "name, value"]
    ])
    const dump = ["migrations", "integrations", "events", "queue", "deliveries", "settings"].flatMap((table) => [
      `COPY doorhook.${table} (${columns.get(table) ?? "id"}) FROM stdin;`,
      ...(rows[table] === undefined ? [] : [rows[table]]),
      "\\."
    ])
    return `for (const line of ${JSON.stringify(dump)}) console.log(line)`
  }

  const sealedRow = "1\tenabled\tsealed:v1:AAAA"

  /** Rows of a dump, and whether its secrets count as encrypted. */
  const dumps: ReadonlyArray<readonly [what: string, rows: Readonly<Record<string, string>>, encrypted: boolean]> = [
    ["all are encrypted", { integrations: sealedRow, settings: "portal_secret\tsealed:v1:AAAA" }, true],
    ["the operator key was generated", { integrations: sealedRow, settings: "operator_key\tdhop_readable" }, false],
    [
      "a signing secret is from before the key was set",
      { integrations: "1\tenabled\twhsec_readable", settings: "portal_secret\tsealed:v1:AAAA" },
      false
    ]
  ]

  it.live.each(dumps)("reports whether secrets are readable: %s", ([, rows, encrypted]) =>
    Effect.gen(function* () {
      const { args, env } = yield* withPrograms({ pg_dump: writesHalf, pg_restore: printsDump(rows) })
      const { stderr, stdout } = yield* runDoorhook([...args, "--json"], env)
      assert.include(stdout, `"secrets_encrypted": ${encrypted},`, stderr)
    })
  )

  live("leaves nothing after an interruption", function* () {
    const { args, env, folder } = yield* withPrograms({
      pg_dump: `${writesHalf}; setInterval(() => undefined, 60_000)`,
      pg_restore: ""
    })
    yield* interruptWhen(args, folder, (part) => statSync(part).size > 0, env)
    assert.lengthOf(readdirSync(folder), 0)
  })

  it.live("is refused if pg_dump is older than the server", (context) =>
    Effect.gen(function* () {
      const tools = installedTools()
      const [newest] = yield* Effect.promise(() => server.administer("SHOW server_version_num"))
      const major = Math.trunc(Number(newest?.["server_version_num"]) / 10_000)
      if (typeof tools === "string" || tools.version >= major) return context.skip("there is no older pg_dump")
      const { args, folder } = yield* withPrograms({})
      const { code, stderr } = yield* runDoorhook(args, { PATH: tools.folder })
      assert.strictEqual(code, 1)
      assert.match(
        stderr,
        new RegExp(`pg_dump has version ${tools.version} and .* version ${major}\\. Install .*-${major};`)
      )
      assert.lengthOf(readdirSync(folder), 0)
    })
  )
})
