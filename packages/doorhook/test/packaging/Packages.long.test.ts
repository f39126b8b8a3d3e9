/**
 * The published packages: packed, installed into an empty project, and used there.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { execFile, spawnSync } from "node:child_process"
import { cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { startNode } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { sample } from "@doorhook/testkit/Sample"
import { integrate } from "../harness/Delivering.ts"
import { live } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { directory } from "../harness/KnownDirectory.ts"
import { callApi } from "../harness/ThirdParty.ts"
import { copyExamples, describeExamples } from "./Examples.ts"
import { describeImage } from "./Image.ts"
import { describeRelease, reachingRegistry } from "./Release.ts"

const root = fileURLToPath(new URL("../../../..", import.meta.url))
const run = promisify(execFile)

const Manifest = Schema.Struct({ engines: Schema.Struct({ node: Schema.String }) })

const [, guideToInstalling = ""] = /^```sh\n([^]*?)^```$/m.exec(readFileSync(join(root, "docs/embed.md"), "utf8")) ?? []

const outside = mkdtempSync(join(tmpdir(), "doorhook-packed-test-"))
/** The folders of the guide to embedding. The project also contains the examples. */
const archives = join(outside, "doorhook-packages")
const project = join(outside, "my-backend")
const folder = join(outside, "linked")
const bin = join(folder, "node_modules/doorhook/bin/doorhook.js")
let isInstalled = false
let printed = ""

/** Installs into the project with the first block of the guide to embedding. */
beforeAll(async () => {
  mkdirSync(project)
  copyExamples(project)
  const script = `set -e\n${guideToInstalling.replaceAll("../", `${outside}/`)}`
  const env = { ...process.env, npm_config_prefer_offline: "true", npm_config_audit: "false" }
  isInstalled = await reachingRegistry("the guide to embedding", run("bash", ["-c", script], { cwd: root, env }))
}, 480_000)

beforeAll(async () => {
  mkdirSync(folder)
  const args = [".ci/packed-install.ts", "--linked", archives, "--into", folder]
  printed = (await run(process.execPath, args, { cwd: root })).stdout
}, 480_000)

afterAll(() => rmSync(outside, { recursive: true, force: true }))

/** Starts the installed command. */
const start = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  startNode([bin, ...args], { cwd: folder, env: { DOORHOOK_OPERATOR_KEY: operatorKey, ...env } })

const startService = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
) {
  const running = yield* start(["serve", "--port", "0", "--directory", directory, ...args], env)
  const [, url = ""] = yield* Effect.promise(() => running.printed(/doorhook listening on (http:\S+)/))
  return { ...running, url }
})

/** Returns the number of threads in a process's libuv pool. */
const poolSize = (pid: number | undefined): number =>
  readdirSync(`/proc/${pid}/task`).filter(
    (thread) => readFileSync(`/proc/${pid}/task/${thread}/comm`, "utf8") === "libuv-worker\n"
  ).length

/** Commands that come from separately installed packages. */
const separate = { simulate: "@doorhook/simulator", conformance: "@doorhook/conformance" } as const

describe("the packages", () => {
  it("compile and run as ES modules, with require and as a command", () => {
    assert.match(printed, /types: ok\nNode.js \d+\.\d+\.\d+: ok\n$/)
  })

  it("compile without TypeScript's library DOM, with all declarations checked", async () => {
    const program = 'import { createDoorhook } from "doorhook"\nimport { createTestDoorhook } from "doorhook/testing"\n'
    writeFileSync(join(folder, "plain.ts"), `${program}export const all = [createDoorhook, createTestDoorhook]\n`)
    const options = [
      "--lib",
      "es2024",
      "--skipLibCheck",
      "false",
      "--types",
      "node",
      "--module",
      "nodenext",
      "--noEmit"
    ]
    const tsc = join(root, "node_modules/.bin/tsc")
    const { stdout } = await run(tsc, [...options, "--target", "es2024", "--strict", "--ignoreConfig", "plain.ts"], {
      cwd: folder
    })
    assert.strictEqual(stdout, "")
  })

  it("name the required Node.js when imported by an older one", async () => {
    const { engines } = Schema.decodeUnknownSync(Manifest)(
      JSON.parse(readFileSync(join(folder, "node_modules/doorhook/package.json"), "utf8"))
    )
    // Behaves like Node.js 20, which has no `node:sqlite` and can't load modules that import it.
    const old = `import { registerHooks } from "node:module"
      registerHooks({ resolve: (specifier, context, next) => {
        if (specifier === "node:sqlite") throw new Error("No such built-in module: node:sqlite")
        return next(specifier, context)
      } })
      Object.defineProperty(process.versions, "node", { value: "20.19.0" })`
    const program = `for (const entry of ["doorhook", "doorhook/effect"]) {
      await import(entry).catch((error) => console.log(error.message))
    }`
    const { stdout } = await run(
      process.execPath,
      ["--import", `data:text/javascript,${encodeURIComponent(old)}`, "--input-type=module", "--eval", program],
      { cwd: folder }
    )
    const needed = `doorhook needs Node.js ${engines.node.replace(">=", "")} or later; this is 20.19.0.\n`
    assert.strictEqual(stdout, needed.repeat(2))
  })

  it("that are platform-independent load no Node.js modules", async () => {
    const program = `import { registerHooks } from "node:module"
      const loaded = []
      registerHooks({ resolve: (specifier, context, next) => {
        const found = next(specifier, context)
        if (found.url.startsWith("node:")) loaded.push(specifier + " from " + context.parentURL)
        return found
      } })
      await import("@doorhook/core")
      process.stdout.write(loaded.join("\\n"))`
    const { stdout } = await run(process.execPath, ["--conditions=source", "--input-type=module", "--eval", program], {
      cwd: fileURLToPath(new URL("../..", import.meta.url))
    })
    assert.strictEqual(stdout, "")
  })
})

describe("the installed command", () => {
  it("explains its commands, and those of separate packages in their own words", async () => {
    const env = { ...process.env, NO_COLOR: "1" }
    const print = async (...args: ReadonlyArray<string>): Promise<string> => {
      const { stderr, stdout } = await run(process.execPath, [bin, ...args], { cwd: folder, env })
      assert.strictEqual(stderr, "", args.join(" "))
      return stdout
    }
    const explain = async (command: string): Promise<string> => {
      const stdout = await print(...command.split(" "), "--help")
      assert.include(stdout, `doorhook ${command}`)
      return stdout
    }
    for (const command of ["serve", "worker", "deliveries recover"]) await explain(command)
    const listed = await print("--help")
    const completions = await print("--completions", "bash")
    for (const name of Object.keys(separate)) {
      const [, description = "none"] = new RegExp(`\\n  ${name} +(.+)`).exec(listed) ?? []
      assert.include(await explain(name), description)
      assert.include(completions, `_doorhook_${name}_run()`)
    }
  })

  live("has 64 threads for names and files, delivers, and finds the script of its pages", function* () {
    const receiver = yield* startReceiver()
    const { child, url } = yield* startService(["--database", "memory", "--allow-target", "127.0.0.0/8"])
    if (process.platform === "linux") assert.strictEqual(poolSize(child.pid), 64)
    assert.strictEqual((yield* Effect.promise(() => fetch(`${url}/console/live.js`))).status, 200)
    yield* integrate(url, receiver.url)
    const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } }
    const { status } = yield* Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/events", event))
    assert.strictEqual(status, 202)
    yield* Effect.promise(() => receiver.until((received) => received.length === 1))
  })

  live("exits quietly with 0 when its reader closes the pipe", function* () {
    const { url } = yield* startService(["--database", "memory", "--allow-target", "127.0.0.0/8"])
    const { id } = yield* integrate(url, "http://127.0.0.1:9/")
    const call = (method: string, path: string, body: unknown) =>
      Effect.promise(async () => (await callApi(url, operatorKey, method, path, body)).status)
    // Deliveries of a disabled integration are stored but not sent.
    assert.strictEqual(yield* call("PATCH", `/operator/integrations/${id}`, { status: "disabled" }), 200)
    const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } }
    assert.strictEqual(
      yield* call(
        "POST",
        "/operator/events",
        Array.from({ length: 1_000 }, () => event)
      ),
      202
    )
    const list = `"${process.execPath}" "${bin}" deliveries list --limit 1000 --url ${url}`
    // LC_ALL is set because bash warns on stderr about a locale that is not installed.
    const env = { ...process.env, LC_ALL: "C", DOORHOOK_OPERATOR_KEY: operatorKey, NO_COLOR: "1" }
    const listed = yield* Effect.promise(() => run("bash", ["-c", list], { env }))
    // The output exceeds a pipe's buffer, so the command is still writing when `head` exits.
    assert.isAbove(listed.stdout.length, 65_536)
    for (const command of [list, list, `${list} --json`]) {
      const { stderr, stdout } = yield* Effect.promise(() =>
        run("bash", ["-c", `${command} | head -1; echo "exit \${PIPESTATUS[0]}"`], { env })
      )
      assert.strictEqual(stderr, "")
      assert.match(stdout, /^.+\nexit 0\n$/)
    }
  })

  it.live.runIf(process.platform === "linux")("has the configured number of threads for names and files", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const few = yield* startService(["--database", "memory"], { UV_THREADPOOL_SIZE: "6" })
        assert.strictEqual(poolSize(few.child.pid), 6)
      })
    )
  )
})

describe("the installed command without separate packages", () => {
  let alone = ""

  beforeAll(() => {
    alone = mkdtempSync(join(tmpdir(), "doorhook-alone-test-"))
    const left = [...Object.values(separate), "@doorhook/mcp"].map((name) => join(folder, "node_modules", name))
    cpSync(join(folder, "node_modules"), join(alone, "node_modules"), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (from) => !left.includes(from)
    })
  })

  afterAll(() => rmSync(alone, { recursive: true, force: true }))

  const runAlone = (...args: ReadonlyArray<string>) =>
    Effect.flatMap(
      startNode([join(alone, "node_modules/doorhook/bin/doorhook.js"), ...args], {
        cwd: alone,
        env: { NO_COLOR: "1" }
      }),
      ({ finished }) => Effect.promise(() => finished)
    )

  live("says in one line what to install, for any arguments", function* () {
    const calls = Object.entries(separate).flatMap(([name, missing]) =>
      [[name], [name, "run", "--seed", "7"], [name, "--help"], ["--log-level", "debug", name]].map((args) => {
        const stderr = `doorhook: ${name} is in a separate package. Install it with: npm install ${missing}\n`
        return { args, stderr }
      })
    )
    const served = ["serve", "--database", "memory", "--mcp"]
    const stderr = "doorhook: --mcp is in a separate package. Install it with: npm install @doorhook/mcp\n"
    yield* Effect.forEach(
      [...sample(calls, 3), { args: served, stderr }],
      Effect.fnUntraced(function* ({ args, stderr }) {
        const ended = yield* runAlone(...args)
        assert.deepStrictEqual(ended, { code: 1, stderr, stdout: "" }, args.join(" "))
      }),
      { concurrency: 4 }
    )
  })

  live("lists the same commands, and accepts an argument that has a command's name", function* () {
    const { stdout: help } = yield* runAlone("--help")
    const whole = yield* Effect.promise(() =>
      run(process.execPath, [bin, "--help"], { cwd: folder, env: { ...process.env, NO_COLOR: "1" } })
    )
    assert.strictEqual(help, whole.stdout)
    const { stderr } = yield* runAlone("deliveries", "show", "simulate", "--there-is-no-such-flag")
    assert.include(stderr, "--there-is-no-such-flag: there is no such flag")
  })
})

describe("the suite as one file, with the features of Node.js 18", () => {
  const suite = "doorhook-conformance.cjs"
  let alone = ""

  beforeAll(() => {
    alone = mkdtempSync(join(tmpdir(), "doorhook-suite-test-"))
    cpSync(join(folder, "node_modules/@doorhook/conformance/dist", suite), join(alone, suite))
  })

  afterAll(() => rmSync(alone, { recursive: true, force: true }))

  const older = fileURLToPath(new URL("as-node-18.cjs", import.meta.url))

  const runAlone = (...args: ReadonlyArray<string>) =>
    Effect.flatMap(startNode(["--require", older, suite, ...args], { cwd: alone }), ({ finished }) =>
      Effect.promise(() => finished)
    )

  live("contains the licences of its packages", function* () {
    yield* Effect.sync(() => {
      const text = readFileSync(join(alone, suite), "utf8")
      const licences = text.slice(text.lastIndexOf("/*"))
      for (const name of ["doorhook", "@effect/platform-node-shared", "effect"]) {
        assert.include(licences, `\n${name}\n`)
      }
    })
  })

  live("lists the requirements", function* () {
    const { code, stderr, stdout } = yield* runAlone("list")
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
    assert.match(stdout, /^R-ACK-01 .*\n/)
  })

  live("passes a receiver that acknowledges", function* () {
    const receiver = yield* startReceiver()
    const { code, stdout } = yield* runAlone("run", "--url", receiver.url, "--only", "R-ACK-*,R-DUP-*")
    assert.include(stdout, "The receiver conforms")
    assert.strictEqual(code, 0)
  })

  for (const version of sample(["18", "20", "24"], 1)) {
    const { status, stdout: node } = spawnSync("npx", ["-y", `node@${version}`, "--print", "process.execPath"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"]
    })
    if (status !== 0) process.stderr.write(`SKIPPED: the suite on Node.js ${version}: npx can't install it here\n`)
    else {
      live(`runs on Node.js ${version}`, function* () {
        const receiver = yield* startReceiver()
        const { stdout } = yield* Effect.promise(() =>
          run(node.trim(), [suite, "run", "--url", receiver.url, "--only", "R-ACK-*,R-DUP-*"], { cwd: alone })
        )
        assert.include(stdout, "The receiver conforms")
      })
    }
  }

  live("fails a receiver with another status, and its printed command reproduces the failure", function* () {
    const receiver = yield* startReceiver(() => ({ status: 201 }))
    const { code, stdout } = yield* runAlone("run", "--url", receiver.url, "--only", "R-ACK-02")
    assert.strictEqual(code, 1)
    const [, command = ""] = /Again +node \.\/doorhook-conformance\.cjs (replay .*)/.exec(stdout) ?? []
    const again = yield* runAlone(...command.split(" "))
    assert.match(again.stdout, /^STILL FAILS /m)
    assert.strictEqual(again.code, 1)
  })
})

await describeOnPostgres("the installed command", (server) => {
  const isAlive = (pid: number): boolean => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }

  live("leaves no workers behind when the service is killed", function* () {
    const database = server.url(yield* newDatabase(server))
    const { child, printed: shows, stdout } = yield* startService(["--database", database, "--workers", "2"])
    yield* Effect.promise(() => shows(/(doorhook worker ready[^]*){2}/))
    const workers = [...stdout().matchAll(/^worker process (\d+)$/gm)].map(([, pid]) => Number(pid))
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const pid of workers.filter(isAlive)) process.kill(pid, "SIGKILL")
      })
    )
    assert.strictEqual(workers.filter(isAlive).length, 2)
    child.kill("SIGKILL")
    yield* eventually(
      "both workers end",
      Effect.sync(() => workers.filter(isAlive)),
      (alive) => alive.length === 0
    )
    assert.strictEqual(stdout().match(/^doorhook worker stopped$/gm)?.length, 2)
  })

  live("works on PostgreSQL", function* () {
    const database = server.url(yield* newDatabase(server))
    const worker = yield* start(["worker", "--database", database, "--directory", directory])
    yield* Effect.promise(() => worker.printed(/^doorhook worker ready$/m))
    worker.child.kill("SIGTERM")
    assert.strictEqual((yield* Effect.promise(() => worker.finished)).code, 0)
  })
})

describe("the README", () => {
  it("has a program that runs when pasted", async () => {
    const [, pasted = ""] = /^```ts\n([^]*?)^```$/m.exec(readFileSync(join(root, "README.md"), "utf8")) ?? []
    const place = mkdtempSync(join(folder, "readme-"))
    // The test replaces the port, which might be in use on this machine, and ends the program, which would serve until
    // stopped.
    const ends = "\nawait doorhook.close()\nconsole.log('published')\nprocess.exit()\n"
    writeFileSync(join(place, "app.ts"), pasted.replace("listen(4000)", "listen(0)") + ends)
    const { stdout } = await run(process.execPath, ["app.ts"], { cwd: place })
    assert.strictEqual(stdout, "published\n")
  })
})

describe("the guide to embedding", () => {
  it("installs doorhook with its first block", async (context) => {
    if (!isInstalled) return context.skip()
    // A symbolic link would point into the checkout.
    assert.isFalse(lstatSync(join(project, "node_modules/doorhook")).isSymbolicLink())
    const program = 'import { createDoorhook } from "doorhook"; console.log(typeof createDoorhook)'
    const imported = await run(process.execPath, ["--input-type=module", "--eval", program], { cwd: project })
    assert.strictEqual(imported.stdout, "function\n")
  })
})

describe("the guide to testing", () => {
  const guide = readFileSync(join(root, "docs/test-your-app.md"), "utf8")
  const programs = [...guide.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, program = ""]) => program)
  const programWith = (runner: string): string => programs.find((program) => program.includes(`"${runner}"`)) ?? ""

  it("has a test that passes in node:test", async () => {
    writeFileSync(join(folder, "ring.test.ts"), programWith("node:test"))
    const { stdout } = await run(process.execPath, ["--test", "--test-reporter=tap", "ring.test.ts"], { cwd: folder })
    assert.match(stdout, /^# pass 1$/m)
  })

  it("has a test that passes in vitest", async () => {
    writeFileSync(join(folder, "late.test.ts"), programWith("vitest"))
    const vitest = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", folder, "late.test.ts"]
    const { stdout } = await run(process.execPath, vitest, { cwd: folder, env: { ...process.env, NO_COLOR: "1" } })
    assert.match(stdout, /Tests +1 passed/)
  })
})

describe("a release", () => {
  describeRelease()
})

describe("the image", () => {
  describeImage(archives)
})

await describeOnPostgres("the examples", (server) => describeExamples(project, () => isInstalled, server))
