/**
 * Uses the examples in the documentation as a reader would: copies them, installs the packed archives, compiles and
 * starts the examples, and connects a third party.
 */
import { assert, describe, it } from "@effect/vitest"
import { hashPassword } from "doorhook"
import { Effect } from "effect"
import type { Scope } from "effect"
import { execFile } from "node:child_process"
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { freePort } from "@doorhook/testkit/ListeningServer"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import type { Finished } from "@doorhook/testkit/Process"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { sample } from "@doorhook/testkit/Sample"
import { hostSession, letIn } from "../embedding/Visitor.ts"
import { logIn } from "../harness/LoginForm.ts"
import { callApi, createIntegration } from "../harness/ThirdParty.ts"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../../../..", import.meta.url))
const examples = join(root, "docs/examples")

/**
 * Examples not tested here: programs in other languages, and Next.js, which takes longer to install than all others to
 * run.
 */
const left = ["receivers", "next"]

const folders = sample(
  readdirSync(examples, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() && existsSync(join(examples, entry.name, "package.json")) && !left.includes(entry.name)
      ? [entry.name]
      : []
  ),
  2
)

const ada = { login: "ada@example.com", password: "correct horse" }

/** A running example. */
interface Started {
  readonly name: string
  readonly url: string
  readonly stop: Effect.Effect<Finished>
}

/** Copies the examples into a project, as workspaces that are installed with it. */
export const copyExamples = (folder: string): void => {
  for (const name of folders) {
    cpSync(join(examples, name), join(folder, name), {
      recursive: true,
      filter: (from) => !["node_modules", "dist", "data"].includes(basename(from))
    })
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "readers", private: true, workspaces: folders }))
}

/** Compiles the examples with the strictest TypeScript settings, and returns the compiler's output. */
const checkTypes = async (folder: string): Promise<string> => {
  const compilerOptions = {
    target: "es2024",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
    types: ["node"]
  }
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*/*.ts"] }))
  return (await run(join(root, "node_modules/.bin/tsc"), ["-p", "."], { cwd: folder })).stdout
}

/** Tests the examples in `folder`, if they are installed there. */
export const describeExamples = (folder: string, isInstalled: () => boolean, server: TestServer): void => {
  const example = (place: string, name: string, body: Effect.Effect<void, unknown, Scope.Scope>): void => {
    if (!folders.includes(place)) return
    it.live(name, (context) => Effect.scoped(isInstalled() ? body : Effect.sync(() => context.skip())))
  }

  /** Starts an example on its own port instead of 3000. */
  const start = Effect.fnUntraced(function* (name: string, env: Readonly<Record<string, string>>) {
    const port = String(yield* Effect.promise(freePort))
    const { child, finished, printed } = yield* startNode([name === "nest" ? "dist/main.js" : "app.ts"], {
      cwd: join(folder, name),
      env: { PORT: port, DOORHOOK_OPERATOR_KEY: operatorKey, ...env }
    })
    yield* Effect.promise(() => printed(/listening on http/))
    const stop = Effect.promise(() => {
      child.kill("SIGTERM")
      return finished
    })
    return { name, url: `http://localhost:${port}`, stop }
  })

  const startOnPostgres = Effect.fnUntraced(function* (name: string) {
    const database = yield* newDatabase(server)
    const url = server.url(database)
    const started = yield* start(name, {
      DATABASE_URL: url,
      DOORHOOK_DATABASE: url,
      DOORHOOK_ALLOW_TARGETS: "127.0.0.0/8"
    })
    const sql = (text: string) => Effect.promise(() => server.administer(text, database))
    return { ...started, sql }
  })

  describe("the example on", { concurrent: true }, () => {
    it("each framework passes the compiler", async (context) => {
      if (!isInstalled()) return context.skip()
      assert.strictEqual(await checkTypes(folder), "")
    })

    example(
      "express-postgres",
      "Express and PostgreSQL logs in with its own session, and publishes in its own transaction",
      Effect.gen(function* () {
        const started = yield* startOnPostgres("express-postgres")
        const { sql, url } = started
        assert.strictEqual(yield* Effect.promise(() => hostSession(url, ada.login, "wrong")), "")
        const stranger = yield* letIn(url, {})
        assert.include(stranger.page.headers.get("location"), `${url}/login?return_to=`)
        const cookie = yield* Effect.promise(() => hostSession(url, ada.login, ada.password))
        const { token } = yield* letIn(url, {}, cookie)
        assert.strictEqual(yield* post(`${url}/doors/11/open`), 401)
        assert.strictEqual(yield* post(`${url}/doors/12/open`, { cookie }), 404)
        const opened = post(`${url}/doors/11/open`, { cookie })
        assert.include(yield* receives(url, token, opened), '"access_point":{"id":11,"name":"Front door"}')
        // If the event can't be published, the host's own row is also rolled back.
        yield* sql(closed)
        assert.strictEqual(yield* opened, 500)
        assert.deepStrictEqual(yield* sql("SELECT count(*)::int AS entries FROM entries"), [{ entries: 1 }])
        yield* endsWithoutSecrets(started)
      })
    )

    example(
      "fastify-kysely",
      "Fastify and Kysely publishes in a transaction of Kysely",
      Effect.gen(function* () {
        const started = yield* startOnPostgres("fastify-kysely")
        const { sql, url } = started
        yield* rings(url)
        yield* sql(closed)
        assert.strictEqual(yield* post(`${url}/rings`), 500)
        assert.deepStrictEqual(yield* sql("SELECT count(*)::int AS rings FROM rings"), [{ rings: 1 }])
        yield* endsWithoutSecrets(started)
      })
    )

    example(
      "effect-postgres",
      "Effect publishes in a transaction with its own tables",
      Effect.gen(function* () {
        const { sql, stop, url } = yield* startOnPostgres("effect-postgres")
        const hash = yield* Effect.promise(() => hashPassword(ada.password, { ln: 10 }))
        yield* sql(`INSERT INTO app_users VALUES (7, '${ada.login}', '${hash}', 1)`)
        const { token } = yield* letIn(url, ada)
        assert.include(yield* receives(url, token, post(`${url}/entries`)), '"entry_method":"PIN"')
        yield* sql(closed)
        assert.strictEqual(yield* post(`${url}/entries`), 500)
        assert.deepStrictEqual(yield* sql("SELECT count(*)::int AS entries FROM app_entries"), [{ entries: 1 }])
        // Effect's runtime exits with 130 after a signal.
        assert.strictEqual((yield* stop).code, 130)
      })
    )

    example(
      "nest",
      "NestJS injects doorhook",
      Effect.gen(function* () {
        yield* Effect.promise(() => run("npm", ["run", "--silent", "build"], { cwd: join(folder, "nest") }))
        const { stop, url } = yield* start("nest", { DATABASE: "memory" })
        yield* rings(url)
        // After closing, Nest sends itself the signal again, so the process has no exit code.
        assert.strictEqual((yield* stop).code, null)
      })
    )

    example(
      "hono",
      "Hono reads its tables on SQLite, with the commands of the page",
      Effect.gen(function* () {
        const started = yield* start("hono", { DATA: yield* temporaryFolder })
        const { url } = started
        const receiver = yield* startReceiver()
        const filled = new Map([
          ["http://localhost:3000", url],
          ["http://127.0.0.1:9000/", receiver.url],
          ["$DOORHOOK_OPERATOR_KEY", operatorKey]
        ])
        const fill = (text: string): string =>
          [...filled].reduce((before, [name, value]) => before.replaceAll(name, value), text)
        /** Runs the page's command block that calls this path. */
        const call = (path: string) =>
          Effect.promise(async () => {
            const block = commands.find((text) => text.includes(path)) ?? ""
            return (await run("bash", ["-c", fill(block)])).stdout
          })
        const added = yield* call("/operator/clients")
        filled.set("CLIENT_ID", member(added, "id")).set("CLIENT_SECRET", member(added, "client_secret"))
        filled.set("THE_CODE", yield* Effect.promise(() => codeShownAt(fill(authorize))))
        const token = member(yield* call("/oauth/token"), "access_token")
        filled.set("ACCESS_TOKEN", token)
        assert.match(member(yield* call("/v4/buildings/1/integrations"), "signing_secret"), /^whsec_/)
        assert.strictEqual(yield* post(`${url}/rings`), 201)
        yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
        const buildings = yield* Effect.promise(async () => (await callApi(url, token, "GET", "/v4/buildings")).text())
        assert.include(buildings, "Front door")
        yield* endsWithoutSecrets(started)
      })
    )
  })
}

/** Statement after which publishing fails. */
const closed = "ALTER TABLE doorhook.events ADD CONSTRAINT closed CHECK (false) NOT VALID"

const post = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.promise(async () => (await fetch(url, { method: "POST", headers })).status)

/** Returns the body that the third party's integration gets for an event. */
const receives = Effect.fnUntraced(function* (url: string, token: string, happens: Effect.Effect<number>) {
  const receiver = yield* startReceiver()
  yield* Effect.promise(() => createIntegration(url, token, receiver.url))
  assert.strictEqual(yield* happens, 201)
  yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
  return receiver.received[0]?.body ?? ""
})

/** Authorizes a third party in doorhook's form, rings, and checks that the third party gets the call event. */
const rings = Effect.fnUntraced(function* (url: string) {
  const home = yield* Effect.promise(async () => (await fetch(`${url}/`)).text())
  assert.strictEqual(home, "North Tower")
  const { token } = yield* letIn(url, ada)
  assert.include(yield* receives(url, token, post(`${url}/rings`)), '"resource_type":"call"')
})

const withSecrets = [
  "/oauth/authorize?client_id=c1&client_secret=sentinel-1&state=s",
  "/oauth/authorize?client%5Fsecret=sentinel-2",
  "/portal/open/dh_pl_1.2.sentinel-3.sentinel-4",
  "/?next=/oauth/authorize?client_secret=sentinel-5"
]

/**
 * Stops an example. Its request log must not contain a client secret or a portal link, and the guide must show the line
 * that removes them.
 */
const endsWithoutSecrets = Effect.fnUntraced(function* ({ name, stop, url }: Started) {
  for (const path of withSecrets) {
    yield* Effect.promise(async () => (await fetch(url + path, { redirect: "manual" })).text())
  }
  const { code, stdout } = yield* stop
  assert.strictEqual(code, 0)
  assert.include(stdout, "/oauth/authorize?client_id=c1&client_secret=[redacted]&state=s")
  assert.include(stdout, "/portal/open/dh_pl_[redacted]")
  assert.notInclude(stdout, "sentinel")
  const guide = readFileSync(join(root, "docs/embed.md"), "utf8").replaceAll("hono.use", "app.use")
  const [used = ""] = readFileSync(join(examples, name, "app.ts"), "utf8")
    .split("\n")
    .filter((line) => line.includes("redactUrl("))
  assert.include(guide, used.trim())
})

const page = readFileSync(join(examples, "README.md"), "utf8")

/** The shell blocks on the page, with one call each. */
const commands = [...page.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => block)

const [, authorize = ""] = /^(http:\S+\/oauth\/authorize\S+)$/m.exec(page) ?? []

const member = (json: string, name: string): string => new RegExp(`"${name}": ?"([^"]+)"`).exec(json)?.[1] ?? ""

/** Returns the code that a user copies after logging in. */
const codeShownAt = async (url: string): Promise<string> => {
  const answer = await logIn(url, ada.login, ada.password)
  const location = answer.headers.get("location")
  const cookies = answer.headers.getSetCookie().map((set) => set.split(";")[0])
  const shown =
    location === null ? answer : await fetch(new URL(location, url), { headers: { cookie: cookies.join("; ") } })
  return /id="authorization_code"[^>]*>([^<]+)</.exec(await shown.text())?.[1] ?? ""
}
