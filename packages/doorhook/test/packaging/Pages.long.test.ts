/**
 * Runs every shell command on the pages: each fenced block, and each `npx doorhook ...` in the text. A block may exit
 * with 0 only. `elsewhere` names the commands that other tests run, and those that no test runs, with the reason.
 */
import { assert, describe, it } from "@effect/vitest"
import { doorhookProgram, operatorKey, receiverProgram } from "@doorhook/testkit/Doorhook"
import { freePort, listening } from "@doorhook/testkit/ListeningServer"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { promisify } from "node:util"
import { writeProgram } from "../harness/Backups.ts"
import { eventually } from "../harness/Eventually.ts"
import { runHere, serveHere } from "../harness/InProcess.ts"
import { logIn } from "../harness/LoginForm.ts"
import { callApi, createIntegration, discover, takeTokens } from "../harness/ThirdParty.ts"

const root = new URL("../../../../", import.meta.url).pathname

/** Commands that this test does not run, by a part of their text. */
const elsewhere: ReadonlyArray<readonly [part: string, reason: string]> = [
  ["npm ci && npm", "Demo.test.ts runs the demo; the tests are this run"],
  ["npm run pack", "Packages.long.test.ts installs the archives"],
  ["npm install", "installs from the registry"],
  ["npm run change", "Release.ts raises the versions and publishes to a registry of its own"],
  ["doorhook-conformance.cjs", "packed-install.ts runs the file, on older versions of Node.js, too"],
  ["doorhook move", "Move.test.ts moves databases in both directions"],
  ["postgres://doorhook@db2.internal", "Growth.long.test.ts sets up a second cell"],
  ["curl -N", "never ends; Streams.test.ts follows streams"],
  ["docker", "needs Docker; Deploy.test.ts and Image.ts check the files"],
  ["systemctl", "changes the machine; Deploy.test.ts checks the unit"],
  ["UV_THREADPOOL_SIZE", "starts the reader's own program"],
  ["gunicorn", "languages.test.ts runs the suite against the example receivers"],
  ["settings accept", "needs a process with other settings; Agreement.test.ts runs it"],
  ["postgres://doorhook@pooler.internal", "Pooler.test.ts connects through a pooler"],
  ["pg_restore", "Backup.test.ts makes and restores the backups"],
  ["cp backup.db", "Backup.test.ts makes and restores the backups"],
  ["--out doorhook.dump", "Backup.test.ts makes and restores the backups"]
]

/** Pages that another test follows from the first to the last command. */
const followed = {
  "docs/tutorial.md": "Tutorial.test.ts",
  "docs/protect-your-api.md": "ProtectApi.test.ts",
  "docs/examples/README.md": "Examples.ts"
}

interface Command {
  readonly page: string
  readonly script: string
}

/** Names of commands without what they need. */
const groups = /^npx doorhook (simulate|conformance|conformance run)$/

const commandsOn = (page: string): ReadonlyArray<Command> => {
  const text = readFileSync(join(root, page), "utf8")
  const blocks = [...text.matchAll(/^( *)```sh\n([^]*?)^ *```$/gm)].map(([, indent = "", block = ""]) =>
    block.replaceAll(new RegExp(`^${indent}`, "gm"), "")
  )
  const inline = text.replaceAll(/^ *```[^]*?^ *```$/gm, "").matchAll(/`(npx doorhook [^`]+)`/g)
  const named = [...inline]
    .map(([, command = ""]) => command.replaceAll(/\s+/g, " "))
    .filter((command) => !groups.test(command))
  return [...blocks, ...named].map((script) => ({ page, script }))
}

const all = ["README.md", "docs/*.md", "docs/examples/README.md", "packages/*/README.md"]
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .filter((page) => !Object.hasOwn(followed, page))
  .flatMap(commandsOn)

const isElsewhere = ({ script }: Command): boolean => elsewhere.some(([part]) => script.includes(part))
const onPostgres = ({ script }: Command): boolean => /postgres:\/\/|doorhook worker/.test(script)

/** Makes long commands short: fewer buildings, shorter loads, and objectives that a slow machine meets. */
const shortened = (script: string): string =>
  script
    .replaceAll(/\\\n\s*/g, "")
    .replaceAll("call.delivery", "delivery")
    .replaceAll(/--buildings (?:\d{2,})/g, "--buildings 4")
    .replaceAll("--duration 30d", "--duration 2d")
    .replaceAll(/--speed \d+x/g, "--speed 10000x")
    .replaceAll(/--rate \d+\/s/g, "--rate 20/s --duration 1s")
    .replaceAll(/--duration 1s --duration \S+|--duration 1s( --buildings 4) --duration \S+/g, "--duration 1s$1")
    .replaceAll(/:\dm/g, ":1s")
    .replaceAll(/(p\d+)<[^,']+/g, "$1<1h")
    .replaceAll(/(rate|reached)>=\d+%/g, "$1>=0%")
    .replaceAll("--warm-up 10s", "--warm-up 100ms")
    .replaceAll(/^npx doorhook conformance run .*$/gm, "$& --only R-ACK-01")
    .replaceAll(/^(.*)--generator 1\/3(.*)1\.json$/gm, (_, before: string, between: string) =>
      [1, 2, 3].map((nth) => `${before}--generator ${nth}/3${between}${nth}.json`).join("\n")
    )

const directory = {
  clients: [
    { id: "demo-client", secret: "demo-secret", name: "Demo", redirect_uris: ["http://127.0.0.1/callback"] },
    { id: "acme", secret: "acme-secret", name: "Acme", redirect_uris: ["https://acme.example/cb"] },
    { id: "machine", secret: "machine-secret", name: "Machine", redirect_uris: [], service_user: "ann@example.com" }
  ],
  users: [
    { login: "admin@example.com", password: "correct horse", buildings: [1] },
    { login: "ann@example.com", password: "battery staple", buildings: [1] }
  ],
  buildings: [{ id: 1, name: "North Tower", time_zone: "Europe/Berlin" }],
  tenants: [{ id: 101, building_id: 1, unit: { id: 7, label: "4B" } }]
}

const [, partners = ""] = /```json\n(\{"user".*\n)```/.exec(readFileSync(join(root, "docs/embed.md"), "utf8")) ?? []

const recorded = `{"at":"2026-03-02T08:00:00Z","building_id":1,"tenant_ids":[],"resource_type":"access_log","action":"create","data":{"id":1}}\n`

const log = `Zeit;Ereignis;Person
02.03.2026 07:30:00;Zutritt;Ann
02.03.2026 07:31:12;Türruf;
`

/** Runs commands in this process. Their environment and arguments are the body of a request, each ended by a NUL. */
const commandServer = createServer((request, response) => {
  void text(request).then(async (body) => {
    const lines = body.split("\0")
    const end = lines.indexOf("")
    const env = Object.fromEntries(
      lines.slice(0, end).map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)])
    )
    const { code, stderr, stdout } = await Effect.runPromise(runHere(lines.slice(end + 1, -1), env))
    response.writeHead(code === 0 ? 200 : 500).end(code === 0 ? stdout : stdout + stderr)
  })
})

/**
 * Makes a folder with the files that the pages name. This process works in it. Its `npx` runs the command in this process,
 * or as a separate process that ends once it is ready: `serve` and `worker`. Its `curl` fails on an error of the service.
 */
const readersFolder = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const before = process.cwd()
  yield* Effect.acquireRelease(
    Effect.sync(() => process.chdir(folder)),
    () => Effect.sync(() => process.chdir(before))
  )
  const { url } = yield* listening(commandServer)
  const write = (name: string, content: string): void => writeFileSync(join(folder, name), content)
  write("directory.json", JSON.stringify(directory))
  write("partners.ndjson", partners)
  write("log.ndjson", recorded)
  write("events.ndjson", recorded)
  write("log.csv", log)
  write("entries.csv", log.replace("Zeit", "Datum/Uhrzeit").replace("Zutritt", "Wartung"))
  write("server.js", `import(${JSON.stringify(receiverProgram)})`)
  write(
    "npx.mjs",
    `import { spawn } from "node:child_process"
     const args = process.argv.slice(2)
     const child = spawn(process.execPath, [${JSON.stringify(doorhookProgram)}, ...args, ...(args[0] === "serve" ? ["--port", "0"] : [])], { stdio: ["ignore", "pipe", "inherit"] })
     child.stdout.on("data", (text) => { process.stdout.write(text); if (/listening on|worker ready/.test(text)) child.kill("SIGTERM") })
     child.on("close", (code) => process.exit(code ?? 1))`
  )
  writeProgram(
    join(folder, "npx"),
    `#!/bin/sh
     shift
     case $1 in serve | worker) exec "${process.execPath}" "${join(folder, "npx.mjs")}" "$@" ;; esac
     { env -0; printf '\\0'; printf '%s\\0' "$@"; } | curl --data-binary @- ${url}\n`
  )
  writeProgram(
    join(folder, "curl"),
    `#!/bin/sh\nPATH=\${PATH#*:}\nexec curl --silent --show-error --fail-with-body "$@"\n`
  )
  return folder
})

/** Runs a script in the folder. Fails with its output if it exits with another code than 0. */
const runIn = (folder: string, { page, script }: Command, env: Readonly<Record<string, string>>) =>
  Effect.promise(async () => {
    const settings = {
      ...process.env,
      NO_COLOR: "1",
      ...env,
      PATH: [folder, dirname(process.execPath), process.env["PATH"]].join(":")
    }
    const ran = promisify(execFile)("bash", ["-ec", script], { cwd: folder, env: settings })
    await ran.catch(({ stderr, stdout }) => assert.fail(`${page}:\n${script}\n${stdout}\n${stderr}`))
  })

const callsReceiver = /127\.0\.0\.1:(9000|8080)/g

/** A service with an integration that delivers, one that its receiver has ended, and what commands name of both. */
const startWorld = Effect.gen(function* () {
  const folder = yield* readersFolder
  yield* runHere(["migrate", "--database", join(folder, "doorhook.db")])
  const receiver = yield* startReceiver(({ path }) => (path === "/gone" ? 410 : 200))
  const flags = ["--directory", join(folder, "directory.json"), "--database", "memory", "--allow-target", "127.0.0.0/8"]
  const { url } = yield* serveHere(flags)
  const redirect = "http://127.0.0.1/callback"
  const freshTokens = Effect.promise(async () => {
    const config = await discover(url, "demo-client", "demo-secret")
    return takeTokens(config, redirect, "admin@example.com", "correct horse")
  })
  const freshCode = Effect.promise(async () => {
    const query = `response_type=code&client_id=demo-client&redirect_uri=${redirect}`
    const answer = await logIn(`${url}/oauth/authorize?${query}`, "admin@example.com", "correct horse")
    return new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? ""
  })
  const tokens = yield* freshTokens
  const { access_token } = tokens
  const { id: gone } = yield* Effect.promise(() => createIntegration(url, access_token, `${receiver.origin}/gone`))
  const env = { DOORHOOK_OPERATOR_KEY: operatorKey, DOORHOOK_URL: url }
  const publish = (data: number) =>
    Effect.promise(async () => {
      const body = { resource_type: "access_log", action: "create", building_id: 1, data: { id: data } }
      const answer = await callApi(url, operatorKey, "POST", "/operator/events", body)
      return /evt_\w+/.exec(await answer.text())?.[0] ?? ""
    })
  yield* publish(1)
  yield* eventually("its receiver ends an integration", runHere(["integrations", "list"], env), ({ stdout }) =>
    stdout.includes("disabled")
  )
  const { id: good } = yield* Effect.promise(() => createIntegration(url, access_token, receiver.url))
  const event = yield* publish(2)
  yield* Effect.promise(() => receiver.until((received) => received.some(({ path }) => path === "/hook")))
  const listed = yield* runHere(["deliveries", "list", "--integration", good], env)
  const delivery = /dlv_\d+/.exec(listed.stdout)?.[0] ?? ""
  const suitePort = yield* Effect.promise(freePort)
  /** Starts the receiver that commands without one of their own call. */
  const suite = yield* Effect.cached(
    Effect.gen(function* () {
      const started = yield* startNode([receiverProgram], { env: { PORT: String(suitePort) } })
      yield* Effect.promise(() => started.printed(/listening/))
    })
  )
  const ownPort = yield* Effect.promise(freePort)

  /** Puts values of this world in place of those on the pages. */
  const filledIn = Effect.fnUntraced(function* (script: string) {
    const has = (pattern: RegExp): boolean => script.search(pattern) !== -1
    if (has(callsReceiver)) yield* suite
    const { access_token, refresh_token } = has(/_TOKEN/) ? yield* freshTokens : tokens
    const code = has(/THE_CODE/) ? yield* freshCode : ""
    const add = ["clients", "add", "--name", "A", "--redirect-uri", redirect, "--json"]
    const added = has(/CLIENT_ID/) ? (yield* runHere(add, env)).stdout : ""
    const values: ReadonlyArray<readonly [RegExp, string]> = [
      [/http:\/\/(127\.0\.0\.1|localhost|10\.0\.0\.5):4000/g, url],
      [callsReceiver, `127.0.0.1:${script.includes("--spawn") ? ownPort : suitePort}`],
      [/PORT=9000/g, `PORT=${ownPort}`],
      [/THE_CLIENT/g, "machine"],
      [/THE_SECRET/g, "machine-secret"],
      [/THE_CODE/g, code],
      [/THE_ACCESS_TOKEN/g, access_token],
      [/THE_REFRESH_TOKEN/g, refresh_token ?? ""],
      [/CLIENT_ID/g, /"id": ?"([^"]+)"/.exec(added)?.[1] ?? ""],
      [/USER_ID/g, "admin@example.com"],
      [/evt_\w+/g, event],
      [/dlv_\d+/g, delivery],
      [/(--integration|recover) \d+/g, `$1 ${good}`],
      [/integrations test \d+/g, `integrations test ${good}`],
      [/integrations (probe|set|portal-link) \d+/g, `integrations $1 ${gone}`],
      [/operator\/integrations\/\d+/g, `operator/integrations/${good}`],
      [/^export DOORHOOK_OPERATOR_KEY=only.*$/gm, ""]
    ]
    return values.reduce((text, [pattern, value]) => text.replaceAll(pattern, value), shortened(script))
  })
  return { folder, env, filledIn }
})

const runAll = Effect.fnUntraced(function* (commands: ReadonlyArray<Command>, database: string | null) {
  const { env: own, filledIn, folder } = yield* startWorld
  const env = { ...own, ...(database !== null && { DOORHOOK_DATABASE: database }) }
  for (const { page, script } of commands) {
    const filled = yield* filledIn(script)
    const text = filled.replaceAll(/postgres:\/\/doorhook@db\.internal\/doorhook/g, database ?? "")
    yield* runIn(folder, { page, script: text }, env)
  }
}, Effect.scoped)

const here = all.filter((command) => !isElsewhere(command))

describe("the commands on the pages", () => {
  it("that are not run are on a page", () => {
    const unused = elsewhere.filter(([part]) => !all.some(({ script }) => script.includes(part)))
    assert.deepStrictEqual(unused, [])
  })

  it.live.each([...new Set(here.map(({ page }) => page))])("end with exit code 0: %s", (page) =>
    runAll(
      here.filter((command) => command.page === page && !onPostgres(command)),
      null
    )
  )
})

await describeOnPostgres("the commands on the pages", (server: TestServer) => {
  it.live("end with exit code 0 on a database", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        yield* runAll(here.filter(onPostgres), server.url(name))
      })
    )
  )
})
