/**
 * A service that a package runner started stops when the runner ends. A service that a script left in the background
 * continues. As the first process of a container, the service stops by signals.
 */
import { doorhookProgram, operatorKey } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { isRunner } from "../../src/command/ParentWatch.ts"
import { readinessOf } from "../harness/Accounting.ts"
import { writeProgram } from "../harness/Backups.ts"
import { eventually } from "../harness/Eventually.ts"

const checkout = fileURLToPath(new URL("../../../../", import.meta.url))

const canRun = (command: string, ...args: ReadonlyArray<string>): boolean => {
  const { status } = spawnSync(command, args)
  if (status !== 0) process.stderr.write(`SKIPPED: package runners and PID 1: ${command} does not work here\n`)
  return status === 0
}

const hasNpm = canRun("npm", "--version")
const hasUnshare = process.platform === "linux" && canRun("unshare", "--pid", "--fork", "true")

const serve = "serve --port 0 --database doors.db"

/** Makes a project that has doorhook installed, with scripts. */
const project = Effect.map(temporaryFolder, (folder) => {
  const scripts = {
    serve: `doorhook ${serve}`,
    background: `nohup doorhook ${serve} --directory directory.json > log 2>&1 & tail -f log | grep -m1 http`
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, scripts }))
  writeFileSync(join(folder, "directory.json"), '{"clients":[],"users":[],"buildings":[],"tenants":[]}')
  const programs = join(folder, "node_modules/.bin")
  mkdirSync(programs, { recursive: true })
  writeProgram(join(programs, "doorhook"), `#!${process.execPath}\nimport(${JSON.stringify(doorhookProgram)})\n`)
  return folder
})

/** Runs a program in a project until the service listens. Its processes end with the scope. */
const startIn = Effect.fnUntraced(function* (cwd: string, command: string, ...args: ReadonlyArray<string>) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const env = { ...process.env, DOORHOOK_OPERATOR_KEY: operatorKey }
      return spawn(command, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "inherit"] })
    }),
    ({ pid = 0 }) =>
      Effect.sync(() => {
        try {
          process.kill(-pid, "SIGKILL")
        } catch {
          // All have ended.
        }
      })
  )
  const ended = once(child, "exit")
  let output = ""
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk))
  const listening = Effect.sync(() => /listening on (http:\S+)/.exec(output)?.[1] ?? "")
  return { child, ended, url: yield* eventually("it listens", listening, (url) => url !== "") }
})

const answers = (url: string) =>
  Effect.promise(() =>
    fetch(`${url}/health/live`).then(
      ({ ok }) => ok,
      () => false
    )
  )

const stops = (url: string) => eventually("the service stops", answers(url), (does) => !does)

describe("a package runner", { concurrent: true }, () => {
  const withDirectory = `${serve} --directory directory.json`
  const runners: ReadonlyArray<readonly [NodeJS.Signals, command: string, ...args: ReadonlyArray<string>]> = [
    ["SIGTERM", "npm", "run", "serve"],
    ["SIGTERM", "npm", "exec", "doorhook", "--", ...serve.split(" ")],
    ["SIGTERM", "npx", "doorhook", ...serve.split(" ")],
    ["SIGINT", "npx", "doorhook", ...serve.split(" ")],
    ["SIGHUP", "npx", "doorhook", ...serve.split(" ")],
    ["SIGHUP", "npx", "doorhook", ...withDirectory.split(" ")],
    ["SIGKILL", "npm", "run", "serve"]
  ]
  for (const [signal, ...command] of runners)
    it.live.skipIf(!hasNpm)(`${command.join(" ")} stops its service by ${signal}`, () =>
      Effect.gen(function* () {
        const { child, url } = yield* startIn(yield* project, ...command)
        assert.isTrue(yield* answers(url))
        // A terminal sends its signals to all processes, a supervisor to the first.
        const { pid = 0 } = child
        process.kill(signal === "SIGINT" || signal === "SIGHUP" ? -pid : pid, signal)
        yield* stops(url)
      })
    )

  it.live.skipIf(!hasNpm)("leaves a service running that its script left in the background", () =>
    Effect.gen(function* () {
      const { ended, url } = yield* startIn(yield* project, "npm", "run", "background")
      yield* Effect.promise(() => ended)
      const later = Date.now() + 1_500
      yield* eventually("it goes on", readinessOf(url), ({ last_claim_at }) => Date.parse(last_claim_at ?? "") > later)
    })
  )

  it("is recognized by the parent process", () => {
    const runs = (...parent: ReadonlyArray<string>) => isRunner(parent)
    assert.isTrue(runs("sh", "-c", "'doorhook' serve"))
    assert.isTrue(runs("/bin/bash", "-c", "cd x && doorhook serve > log 2>&1"))
    const url = "postgres://db.internal/doorhook?sslmode=require&connect_timeout=5"
    for (const script of [`doorhook serve --database '${url}'`, `doorhook serve --database "${url}" 0<&3`])
      assert.isTrue(runs("sh", "-c", script), script)
    assert.isTrue(runs("npm exec doorhook serve"))
    assert.isTrue(runs("/usr/bin/node", "/usr/lib/node_modules/npm/bin/npm-cli.js", "start"))
    assert.isTrue(runs("node", "/opt/pnpm/bin/pnpm.cjs", "start"))
    for (const script of [
      "doorhook serve &",
      "nohup doorhook serve",
      "setsid doorhook serve",
      "doorhook serve & wait",
      "'doorhook' serve '&' &"
    ])
      assert.isFalse(runs("sh", "-c", script), script)
    assert.isFalse(runs("bash", "./start.sh"))
    assert.isFalse(runs("node", "server.js"))
    assert.isFalse(runs("/lib/systemd/systemd", "--user"))
    assert.isFalse(runs("tini", "--", "doorhook", "serve"))
    assert.isFalse(runs())
  })
})

describe("doorhook as the first process of a container", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    it.live.skipIf(!hasUnshare)(`stops by ${signal}`, () =>
      Effect.gen(function* () {
        const bin = join(checkout, "packages/doorhook/bin/doorhook.js")
        const first = ["--pid", "--fork", process.execPath, bin, ...serve.split(" ")]
        const { child, ended, url } = yield* startIn(yield* project, "unshare", ...first)
        const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8"))
        process.kill(pid, signal)
        assert.deepStrictEqual(yield* Effect.promise(() => ended), [0, null])
        assert.isFalse(yield* answers(url))
      })
    )
})
