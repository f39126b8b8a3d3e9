/**
 * The documentation's receivers pass, in every language and framework that is installed on this machine.
 *
 * They run concurrently in their own processes, because most of a run is waiting. They contain no code for the suite:
 * the suite counts the rows that they write. By default, some requirements of each kind are tested.
 * `CONFORMANCE_SEEDS=20` tests all requirements, with 20 seeds.
 */
import { Shell } from "@doorhook/core"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Scope } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { freePort, spawned } from "../src/hooks/Spawned.ts"
import type { Probe } from "../src/probes/Probe.ts"
import { render } from "../src/report/Text.ts"
import { run } from "./support/run.ts"

const secret = "whsec_ZG9vcmhvb2stZXhhbXBsZS1yZWNlaXZlcg=="

const examples = fileURLToPath(new URL("../../docs/examples/receivers", import.meta.url))

const { CONFORMANCE_SEEDS } = process.env
const seeds = Array.from({ length: Number(CONFORMANCE_SEEDS ?? 1) }, (_, index) => index + 1)

/** The requirements that are tested without CONFORMANCE_SEEDS. */
const some = [
  "R-ACK-02",
  "R-DUP-04",
  "R-GET-01",
  "R-SIG-02",
  "R-SIG-06",
  "R-HTTP-01",
  "R-HTTP-03",
  "R-HTTP-08",
  "R-CRA-01"
]

const setting = CONFORMANCE_SEEDS === undefined ? { only: some, maxTime: 240_000, pace: 0.05 } : { maxTime: 360_000 }

/** Shell commands that run in the example's folder. */
interface Example {
  readonly folder: string
  /** Succeeds if everything that the example needs is installed. */
  readonly needs: string
  /** Prepares the folder `$BUILT`, so starts of the receiver compile and migrate nothing. */
  readonly build?: string
  readonly run: string
}

const ends = (command: string, folder = "."): boolean =>
  spawnSync("sh", ["-c", command], { cwd: join(examples, folder) }).status === 0

/** Returns the first Python that has these modules. The first Python in `PATH` might lack the system's packages. */
const python = (modules: string): string =>
  ["python3", "/usr/bin/python3"].find((one) => ends(`${one} -c 'import ${modules}'`)) ?? "python3"

const [flask, fastapi, django] = ["flask, gunicorn", "fastapi, uvicorn", "django, uvicorn"].map(python)
const node = `${Shell.quote(process.execPath)} --no-warnings`
/** The folders in which Debian installs Go's database driver and Java's libraries. */
const go = "GO111MODULE=off GOPATH=/usr/share/gocode go"
const jars = "/usr/share/java/*"

const all: ReadonlyArray<Example> = [
  { folder: "express", needs: "true", run: `${node} receiver.ts` },
  { folder: "typescript", needs: "true", run: `${node} --conditions=source with-kit.ts` },
  {
    folder: "flask",
    needs: `${flask} -c 'import flask, gunicorn'`,
    run: `${flask} -m gunicorn --threads 16 --bind 127.0.0.1:$PORT receiver:app`
  },
  {
    folder: "fastapi",
    needs: `${fastapi} -c 'import fastapi, uvicorn'`,
    run: `${fastapi} -m uvicorn --port $PORT receiver:app`
  },
  {
    folder: "django",
    needs: `${django} -c 'import django, uvicorn'`,
    build: `DJANGO_SETTINGS_MODULE=settings ${django} -m django migrate --run-syncdb --pythonpath .`,
    run: `DJANGO_SETTINGS_MODULE=settings ${django} -m uvicorn --port $PORT settings:application`
  },
  {
    folder: "sinatra",
    needs: "ruby -e 'require %q(sinatra/base); require %q(puma); require %q(sqlite3)'",
    run: "APP_ENV=production ruby receiver.rb"
  },
  {
    folder: "php",
    needs: "php -r 'exit(extension_loaded(\"pdo_sqlite\") ? 0 : 1);'",
    run: 'PHP_CLI_SERVER_WORKERS=4 php -q -S "127.0.0.1:$PORT" receiver.php'
  },
  {
    folder: "go",
    needs: `${go} list github.com/mattn/go-sqlite3`,
    build: `${go} build -o "$BUILT/receiver" receiver.go`,
    run: '"$BUILT/receiver"'
  },
  {
    folder: "java",
    needs: "javac -version && ls /usr/share/java/sqlite-jdbc.jar /usr/share/java/jackson-databind.jar",
    build: `javac -cp '${jars}' -d "$BUILT" Receiver.java`,
    run: `java -cp "$BUILT:${jars}" Receiver`
  }
]

const built = (command: string, cwd: string, env: Readonly<Record<string, string>>) =>
  Effect.promise(async () => {
    const child = spawn("sh", ["-c", command], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"]
    })
    const [complaints, [code]] = await Promise.all([text(child.stderr), once(child, "close")])
    assert.strictEqual(code, 0, complaints)
  })

/**
 * Counts the same rows as the probe on the documentation page, but without a process for each event. Processes would
 * take most of the time.
 */
const read = Effect.fnUntraced(function* (file: string): Effect.fn.Return<Probe, never, Scope.Scope> {
  const database = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(file, { timeout: 5_000 })),
    (open) => Effect.sync(() => open.close())
  )
  const effects = (id: string): number =>
    Number(database.prepare("SELECT count(*) AS effects FROM events WHERE webhook_id = ?").get(id)?.["effects"])
  return {
    kind: "exec",
    name: "the table of events",
    concurrency: 4,
    read: ({ webhookId }) => Effect.sync(() => ({ effects: effects(webhookId), digest: null, data: null }))
  }
})

const tried = Effect.fnUntraced(function* ({ build, folder, run: command }: Example, seed: number) {
  const made = yield* temporaryFolder
  const env = { BUILT: made, PYTHONDONTWRITEBYTECODE: "1", DATABASE: join(made, "receiver.db"), WEBHOOK_SECRET: secret }
  if (build !== undefined) yield* built(build, join(examples, folder), env)
  const port = yield* freePort
  const url = new URL(`http://127.0.0.1:${port}/hook`)
  const line = `cd ${Shell.quote(join(examples, folder))} && export PORT && exec env ${command}`
  const hooks = yield* spawned(line, { ...env, PORT: String(port) }, url, null)
  return yield* run({
    url,
    level: 3,
    profile: ["signed"],
    probe: yield* read(env.DATABASE),
    hooks,
    secret: Redacted.make(secret),
    settle: 5_000,
    seed,
    // The probe counts what is stored, which includes expired calls.
    skip: ["R-LATE-04"],
    ...setting
  })
}, Effect.scoped)

const probed = (database: string, id: string): string =>
  spawnSync("sh", [join(examples, "count.sh")], {
    encoding: "utf8",
    env: { ...process.env, DATABASE: database, EVENT_ID: id }
  }).stdout.trim()

it.effect.skipIf(!ends("sqlite3 -version"))(
  "the page's probe counts the rows of an id, whatever characters the id has",
  () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "receiver.db")
      const database = new DatabaseSync(file)
      database.exec("CREATE TABLE events (webhook_id TEXT NOT NULL, body TEXT NOT NULL)")
      const insert = database.prepare("INSERT INTO events VALUES (?, '')")
      for (const id of ["evt_1", "evt_1", "it's", "' OR '1'='1"]) insert.run(id)
      database.close()
      const ids = ["evt_1", "it's", "' OR '1'='1", "' OR 1=1 --", "evt"]
      assert.deepStrictEqual(
        ids.map((id) => probed(file, id)),
        ["2", "1", "1", "0", "0"]
      )
    })
)

describe("the documentation's receivers", () => {
  const here = all.filter(({ folder, needs }) => ends(needs, folder))
  const missing = all.filter((example) => !here.includes(example)).map(({ folder }) => folder)
  if (missing.length > 0)
    process.stderr.write(`\n!!! NOT ON THIS MACHINE, SKIPPED: receivers in ${missing.join(", ")}\n\n`)

  it.live(
    `in ${here.map(({ folder }) => folder).join(", ")} do not fail at any level`,
    () =>
      Effect.gen(function* () {
        for (const seed of seeds) {
          const reports = yield* Effect.forEach(here, (example) => tried(example, seed), { concurrency: 4 })
          for (const [index, report] of reports.entries()) {
            const story = `${here[index]?.folder}, seed ${seed}: ${render(report)}`
            const verdicts = report.requirements.map(({ verdict }) => verdict)
            // On a busy machine some verdicts may stay open, but none may be a failure.
            for (const wrong of ["FAIL", "WARN", "ERROR"] as const) assert.notInclude(verdicts, wrong, story)
            assert.notStrictEqual(report.ended, "target_unusable", story)
            assert.include(verdicts, "PASS", story)
          }
        }
      }),
    seeds.length * 1_200_000
  )
})
