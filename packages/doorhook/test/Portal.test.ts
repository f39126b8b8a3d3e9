/**
 * The pages in an embedding host: portal links made by the API and the command, and sessions behind https and across
 * processes.
 */
import { assert, describe } from "@effect/vitest"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import { join } from "node:path"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { authorizeUrl, codeIn } from "./harness/CodeGrant.ts"
import { client, codeOf, integrate, live, mount, start } from "./harness/Embedded.ts"
import { eventually } from "./harness/Eventually.ts"
import { runHere } from "./harness/InProcess.ts"
import { submit } from "./harness/LoginForm.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"

const key = "operator-key-of-this-test-0123456789"

/** Makes a handler that, like a proxy, removes a path prefix before passing the request to doorhook. */
const behindProxy =
  (handle: Doorhook["node"]): Doorhook["node"] =>
  (request, response, next) => {
    request.url = (request.url ?? "").replace(/^\/hooks/, "")
    handle(request, response, next)
  }

/** Starts a doorhook with an integration whose receiver acknowledges. */
const startAll = Effect.gen(function* () {
  const receiver = yield* startReceiver()
  const doorhook = yield* start({ operatorKey: key, publicUrl: "https://doors.example/hooks" })
  const { url } = yield* mount({ ...doorhook, node: behindProxy(doorhook.node) })
  yield* integrate(url, receiver.url)
  return { doorhook, receiver, url }
})

const opens = (url: string, link: string) =>
  Effect.promise(async () => {
    const { pathname } = new URL(link)
    const opened = await fetch(url + pathname, { redirect: "manual" })
    const [cookie = ""] = opened.headers.getSetCookie()
    return { status: opened.status, location: opened.headers.get("location"), cookie }
  })

describe("portal links", () => {
  live("use the public URL, with secure cookies behind https", function* () {
    const { doorhook, url } = yield* startAll
    const link = yield* Effect.promise(() => doorhook.portalLink(1))
    assert.isTrue(link.url.startsWith("https://doors.example/hooks/portal/open/dh_pl_1."))
    const { cookie, location, status } = yield* opens(url, link.url)
    assert.deepStrictEqual([status, location], [303, "/hooks/portal/1"])
    assert.match(cookie, /^__Secure-doorhook_portal_1=.*; Path=\/hooks\/portal\/1; .*; HttpOnly; SameSite=Lax; Secure$/)
    assert.strictEqual((yield* codeOf(doorhook.portalLink("9"))).code, "not_found")
    const { message } = yield* codeOf(doorhook.portalLink("1", { expiresIn: "2d" }))
    assert.match(message, /expires_in must be from 1s to 24h/)
  })

  live("and test events are available from the facade and from the command", function* () {
    const { doorhook, receiver, url } = yield* startAll
    const sent = yield* Effect.promise(() => doorhook.sendTestEvent("1"))
    yield* Effect.promise(() => receiver.until((received) => received.length === 1))
    assert.strictEqual(receiver.received[0]?.headers["webhook-id"], sent.event_id)
    const run = (...args: ReadonlyArray<string>) =>
      runHere(["integrations", ...args, "--url", url], { DOORHOOK_OPERATOR_KEY: key })
    const [linked, tested] = yield* Effect.all([run("portal-link", "1", "--expires-in", "1h"), run("test", "1")], {
      concurrency: "unbounded"
    })
    assert.strictEqual(linked.code, 0, linked.stderr)
    const [link = ""] = linked.stdout.split("\n")
    assert.strictEqual((yield* opens(url, link)).status, 303)
    assert.strictEqual(tested.code, 0, tested.stderr)
    assert.match(tested.stdout, /^a test event of type access_log is being sent to integration 1/)
    yield* Effect.promise(() => receiver.until((received) => received.length === 2))
  })

  live("are ended by the command, in every process on the database", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const receiver = yield* startReceiver()
    const [one, two] = yield* Effect.all([
      start({ database, operatorKey: key, logger: false }),
      start({ database, operatorKey: key, logger: false })
    ])
    const [{ url }, { url: other }] = yield* Effect.all([mount(one), mount(two)])
    yield* integrate(url, receiver.url)
    const link = yield* Effect.promise(() => one.portalLink("1"))
    const statusAt = (base: string) => Effect.map(opens(base, link.url), ({ status }) => status)
    assert.deepStrictEqual([yield* statusAt(url), yield* statusAt(other)], [303, 303])

    const rotated = yield* runHere(["portal", "rotate-secret", "--url", url], { DOORHOOK_OPERATOR_KEY: key })
    assert.strictEqual(rotated.code, 0, rotated.stderr)
    assert.match(rotated.stdout, /^the portal secret was replaced/)
    assert.strictEqual(yield* statusAt(url), 403)
    yield* eventually("the other process refuses the link", statusAt(other), (status) => status === 403)

    const again = yield* Effect.promise(() => two.portalLink("1"))
    assert.strictEqual((yield* opens(url, again.url)).status, 303)
    yield* Effect.promise(() => two.rotatePortalSecret())
    assert.strictEqual((yield* opens(other, again.url)).status, 403)
  })
})

/** Signs in as an operator in a browser. */
const signIn = (url: string, prefix = "") =>
  Effect.promise(async () => {
    const form = await fetch(`${url}${prefix}/console/notifications`)
    const answer = await submit(form, { key })
    const [[cookie = ""], [session = ""]] = [form.headers.getSetCookie(), answer.headers.getSetCookie()]
    return { cookie, location: answer.headers.get("location"), session }
  })

describe("an operator's session", () => {
  live("has cookies for this host only behind https, and leads to pages behind the prefix", function* () {
    const { url } = yield* startAll
    const { cookie, location, session } = yield* signIn(url, "/hooks")
    assert.match(cookie, /^__Host-doorhook_login=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
    assert.match(
      session,
      /^__Host-doorhook_console=[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/
    )
    assert.strictEqual(location, "/hooks/console/notifications")
  })

  live("is valid in every process on the database with the same key, and not with another key", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const started = yield* Effect.forEach([key, key, `another-${key}`], (operatorKey) =>
      start({ database, operatorKey, logger: false })
    )
    const [one, two, three] = yield* Effect.forEach(started, mount)
    const { session } = yield* signIn(one?.url ?? "")
    const statusAt = (url = "") =>
      Effect.promise(async () => {
        const page = await fetch(`${url}/console/notifications`, { headers: { cookie: session.split(";")[0] ?? "" } })
        return page.status
      })
    assert.deepStrictEqual(
      [yield* statusAt(one?.url), yield* statusAt(two?.url), yield* statusAt(three?.url)],
      [200, 200, 403]
    )
  })
})

describe("a login form", () => {
  live("of one process is accepted by another on the same database", function* () {
    const database = join(yield* temporaryFolder, "doorhook.db")
    const [one, two] = yield* Effect.all([start({ database, logger: false }), start({ database, logger: false })])
    const [{ url }, { url: other }] = yield* Effect.all([mount(one), mount(two)])
    const page = yield* Effect.promise(() => fetch(authorizeUrl(url, client)))
    const answer = yield* Effect.promise(() => submit(page, { login: "admin", password: "right" }, "", other))
    assert.strictEqual(answer.status, 303)
    assert.isNotEmpty(codeIn(answer))
  })
})
