/**
 * The examples of the documentation, as their readers run them.
 */
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { hashPassword } from "doorhook"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { live } from "../harness/Embedded.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { callApi, createIntegration } from "../harness/ThirdParty.ts"
import { hostSession, letIn } from "./Visitor.ts"

const pathOf = (example: string): string =>
  fileURLToPath(new URL(`../../../../docs/examples/${example}`, import.meta.url))

/** Runs an example; it must end with 0 when it is told to. */
const run = Effect.fnUntraced(function* (example: string, env: Readonly<Record<string, string>>) {
  const { child, finished, printed } = yield* startNode(["--conditions=source", pathOf(`${example}/app.ts`)], {
    env: { PORT: "0", ...env }
  })
  const [, url = ""] = yield* Effect.promise(() => printed(/listening on (http:\S+)/))
  const stop = Effect.promise(async () => {
    child.kill("SIGTERM")
    return (await finished).code
  })
  return { url, stop, output: Effect.promise(async () => (await finished).stdout) }
})

const statusOf = (call: Promise<Response>) => Effect.promise(async () => (await call).status)

/** Requests with secrets in their URLs. */
const sendSecrets = (url: string) =>
  Effect.promise(async () => {
    for (const path of [
      "/oauth/authorize?client_id=c1&client_secret=sentinel-1&state=s",
      "/oauth/authorize?client%5Fsecret=sentinel-2",
      "/portal/open/dh_pl_1.2.sentinel-3.sentinel-4",
      "/?next=/oauth/authorize?client_secret=sentinel-5"
    ]) {
      await (await fetch(url + path)).text()
    }
  })

/** A request log holds no client secret and no portal link, and the guide shows its lines. */
const assertNoSecret = (example: string, log: string): void => {
  assert.include(log, "/oauth/authorize?client_id=c1&client_secret=[redacted]&state=s")
  assert.include(log, "/portal/open/dh_pl_[redacted]")
  assert.notInclude(log, "sentinel")

  const guide = readFileSync(pathOf("../embed.md"), "utf8").replaceAll("hono.use", "app.use")
  const lines = readFileSync(pathOf(`${example}/app.ts`), "utf8").split("\n")
  const [used = ""] = lines.filter((line) => /redactUrl\(/.test(line))
  assert.include(guide, used.trim())
}

describe("the example on", { concurrent: true }, () => {
  live(
    "Express and SQLite logs in by the host's session, its doors reach receivers, and its log holds no secret",
    Effect.gen(function* () {
      const data = yield* temporaryFolder
      const publicUrl = "http://doors.example"
      const { output, stop, url } = yield* run("express-sqlite", {
        DATA: data,
        PUBLIC_URL: publicUrl,
        DOORHOOK_OPERATOR_KEY: operatorKey
      })
      const wrong = yield* Effect.promise(() => hostSession(url, "ada@example.com", "wrong"))
      assert.strictEqual(wrong, "")
      const stranger = yield* letIn(url, {})
      assert.match(stranger.page.headers.get("location") ?? "", /^http:\/\/doors.example\/login\?return_to=/)
      const cookie = yield* Effect.promise(() => hostSession(url, "ada@example.com", "correct horse"))
      const { token } = yield* letIn(url, {}, cookie)
      const receiver = yield* startReceiver()
      yield* Effect.promise(() => createIntegration(url, token, receiver.url, ["access_log"]))
      const buildings = yield* Effect.promise(async () => (await callApi(url, token, "GET", "/v4/buildings")).text())
      assert.include(buildings, "Front door")
      const open = (door: number, headers: Record<string, string>) =>
        fetch(`${url}/doors/${door}/open`, { method: "POST", headers })
      assert.strictEqual(yield* statusOf(open(11, {})), 401)
      assert.strictEqual(yield* statusOf(open(12, { cookie })), 404)
      assert.strictEqual(yield* statusOf(open(11, { cookie })), 202)
      yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
      assert.include(receiver.received[0]?.body, '"access_point":{"id":11,"name":"Front door"}')
      yield* sendSecrets(url)
      assert.strictEqual(yield* stop, 0)
      assertNoSecret("express-sqlite", yield* output)
    })
  )

  for (const framework of ["fastify", "hono"]) {
    live(
      `${framework}, and its log holds no secret`,
      Effect.gen(function* () {
        const { output, stop, url } = yield* run(framework, { DATABASE: "memory", DOORHOOK_OPERATOR_KEY: operatorKey })
        assert.strictEqual(yield* statusOf(fetch(`${url}/`)), 200)
        assert.strictEqual(yield* statusOf(fetch(`${url}/rings`, { method: "POST" })), 200)
        const { token } = yield* letIn(url, { login: "ada", password: "correct horse" })
        assert.strictEqual(yield* statusOf(callApi(url, token, "GET", "/v4/buildings/1/integrations")), 200)
        yield* sendSecrets(url)
        assert.strictEqual(yield* stop, 0)
        assertNoSecret(framework, yield* output)
      })
    )
  }
})

describe("the example on Next.js", () => {
  afterEach(() => void vi.unstubAllEnvs())

  it("answers in its route handlers", async () => {
    vi.stubEnv("DATABASE", "memory")
    const routes: unknown = await import(pathOf("next/app/v4/[...path]/route.ts"))
    const lib: unknown = await import(pathOf("next/lib/doorhook.ts"))
    const context = { params: Promise.resolve({ path: ["buildings"] }) }
    const statusOfMethod = async (method: string): Promise<unknown> => {
      const handler: unknown = Reflect.get(Object(routes), method)
      const request = new Request("http://localhost:3000/v4/buildings", { method })
      const answer: unknown =
        typeof handler === "function" ? await Reflect.apply(handler, undefined, [request, context]) : undefined
      return Reflect.get(Object(answer), "status")
    }
    assert.strictEqual(await statusOfMethod("GET"), 401)
    // Next.js would answer OPTIONS by itself: preflights of `browserOrigins` are doorhook's.
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      assert.strictEqual(await statusOfMethod(method), 405, method)
    }
    const doorhook: unknown = Reflect.get(Object(lib), "doorhook")
    await Reflect.apply(Reflect.get(Object(doorhook), "close"), doorhook, [])
  })
})

await describeOnPostgres("the example on Effect", (server) => {
  it.live("publishes in the transaction of its own tables", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const name = yield* newDatabase(server)
        const environment = {
          DOORHOOK_DATABASE: server.url(name),
          DOORHOOK_OPERATOR_KEY: operatorKey,
          DOORHOOK_ALLOW_TARGETS: "127.0.0.0/8, ::1"
        }
        const { stop, url } = yield* run("effect-postgres", environment)
        const hash = yield* Effect.promise(() => hashPassword("correct horse", { ln: 10 }))
        const sql = (text: string) => Effect.promise(() => server.administer(text, name))
        yield* sql(`INSERT INTO app_users VALUES (7, 'ada', '${hash}', 1)`)
        const { token } = yield* letIn(url, { login: "ada", password: "correct horse" })
        const receiver = yield* startReceiver()
        yield* Effect.promise(() => createIntegration(url, token, receiver.url))
        assert.strictEqual(yield* statusOf(fetch(`${url}/entries`, { method: "POST" })), 201)
        yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
        assert.include(receiver.received[0]?.body, '"entry_method":"PIN"')
        // What can't be published takes the entry with it.
        yield* sql("ALTER TABLE doorhook.events ADD CONSTRAINT closed CHECK (false) NOT VALID")
        assert.strictEqual(yield* statusOf(fetch(`${url}/entries`, { method: "POST" })), 500)
        assert.deepStrictEqual(yield* sql("SELECT count(*)::int AS entries FROM app_entries"), [{ entries: 1 }])
        // What Effect's own runtime answers to a signal.
        assert.strictEqual(yield* stop, 130)
      })
    )
  )
})
