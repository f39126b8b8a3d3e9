/**
 * Tests the deployment files. If the program that reads a file is installed, it must accept the file. The commands in
 * the files must work.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { live } from "../harness/Embedded.ts"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startHere } from "../harness/InProcess.ts"

const read = (name: string): string => readFileSync(new URL(`../../../../docs/deploy/${name}`, import.meta.url), "utf8")
const member = (value: unknown, name: string): unknown => Reflect.get(Object(value), name)
const texts = (value: unknown): ReadonlyArray<string> => (Array.isArray(value) ? value.map(String) : [])

/** Returns the arguments of `doorhook` in the command line of a systemd unit. */
const argumentsIn = (unit: string, key: string): ReadonlyArray<string> =>
  (new RegExp(`^${key}=(.*)$`, "m").exec(unit)?.[1] ?? "").split("doorhook.js ")[1]?.split(" ") ?? []

/** Runs a command as written, except for a temporary folder and a free port, until it prints that it is ready. */
const starts = Effect.fnUntraced(function* (args: ReadonlyArray<string>, ready: RegExp, shared?: string) {
  const folder = yield* temporaryFolder
  writeFileSync(join(folder, "directory.json"), JSON.stringify({ clients: [], users: [], buildings: [], tenants: [] }))
  const here = args.map((argument) =>
    argument.replace(/^\/data|\$\{\w+\}/, folder).replace(/^directory.json$/, join(folder, "directory.json"))
  )
  const port = args[0] === "serve" ? ["--port", "0"] : []
  const database = here.includes("--database") ? [] : ["--database", shared ?? join(folder, "doorhook.db")]
  yield* startHere([...here, ...port, ...database], ready)
}, Effect.scoped)

/** Runs a program that checks a file, and returns its exit code and standard error. */
const check = (program: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
  const { status, stderr } = spawnSync(program, args, { encoding: "utf8", env: { ...process.env, ...env } })
  return { status, stderr }
}

const isThere = (program: string, ...args: ReadonlyArray<string>): boolean => spawnSync(program, args).status === 0

/** Command of Docker Compose: the Docker plugin or the separate program. */
const composeProgram = [["docker", "compose"], ["docker-compose"]].find(([program = "", ...args]) =>
  isThere(program, ...args, "version")
)

describe("deployment files, read by their own programs", () => {
  for (const unit of ["doorhook.service", "doorhook-worker@.service"]) {
    it.live.runIf(isThere("systemd-analyze", "--version"))(`systemd accepts ${unit}`, () =>
      Effect.gen(function* () {
        // systemd-analyze fails if a program is missing, and Node.js might be installed elsewhere on this machine.
        const here = join(yield* temporaryFolder, unit)
        writeFileSync(here, read(unit).replaceAll("/usr/bin/node", process.execPath))
        const answer = check("systemd-analyze", ["verify", "--man=no", "--recursive-errors=no", here])
        assert.deepStrictEqual(answer, { status: 0, stderr: "" })
      })
    )
  }

  const config = (keys: Readonly<Record<string, string>>) => {
    const [program = "", ...args] = composeProgram ?? []
    const file = fileURLToPath(new URL("../../../../docs/deploy/compose.yaml", import.meta.url))
    return check(program, [...args, "--file", file, "config", "--quiet"], keys)
  }

  it.runIf(composeProgram !== undefined)("compose accepts compose.yaml with its keys, and names a missing key", () => {
    const keys = { POSTGRES_PASSWORD: "p", DOORHOOK_OPERATOR_KEY: "o", DOORHOOK_ENCRYPTION_KEY: "e" }
    assert.deepStrictEqual(config(keys), { status: 0, stderr: "" })
    for (const key of Object.keys(keys)) {
      const { status, stderr } = config({ ...keys, [key]: "" })
      assert.notStrictEqual(status, 0)
      assert.match(stderr, new RegExp(`${key}|openssl rand`))
    }
  })
})

const listening = /doorhook listening on/
const working = /doorhook worker ready/

describe("to deploy", () => {
  const compose: unknown = parse(read("compose.yaml"), { merge: true })
  const services = member(compose, "services")
  const instructions = read("Dockerfile")
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))

  it("the compose file has PostgreSQL, a service and three workers, and gives them time to stop", () => {
    assert.hasAllKeys(services, ["postgres", "service", "worker"])
    assert.strictEqual(member(member(member(services, "worker"), "deploy"), "replicas"), 3)
    for (const name of ["service", "worker"]) {
      const service = member(services, name)
      assert.strictEqual(member(service, "stop_grace_period"), "40s")
      assert.match(String(member(member(service, "environment"), "DOORHOOK_DATABASE")), /@postgres:5432\/doorhook$/)
    }
  })

  it("the image has only known instructions, and does not run as root", () => {
    for (const line of instructions) {
      assert.match(line, /^(FROM|WORKDIR|COPY|RUN|ENV|USER|VOLUME|EXPOSE|ENTRYPOINT|CMD|HEALTHCHECK) /)
    }
    assert.include(instructions, "USER node")
    const manifest: unknown = JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8"))
    assert.property(member(manifest, "scripts"), "pack")
  })

  live("the commands start", function* () {
    const command = instructions.findLast((line) => line.startsWith("CMD"))?.slice(4) ?? "[]"
    yield* starts(texts(JSON.parse(command)), listening)
    yield* starts(texts(member(member(services, "service"), "command")), listening)
    yield* starts(argumentsIn(read("doorhook.service"), "ExecStart"), listening)
  })
})

await describeOnPostgres("to deploy workers", (server) => {
  live("the commands start", function* () {
    const database = server.url(yield* newDatabase(server))
    const command = member(
      member(member(parse(read("compose.yaml"), { merge: true }), "services"), "worker"),
      "command"
    )
    yield* starts(texts(command), working, database)
    yield* starts(argumentsIn(read("doorhook-worker@.service"), "ExecStart"), working, database)
  })
})
