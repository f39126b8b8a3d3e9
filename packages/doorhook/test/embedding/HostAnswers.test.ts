/**
 * Return values of a host's functions in plain JavaScript. Unambiguous values are accepted in any form. For ambiguous
 * or invalid values, the log says what is expected.
 */
import { BuildingId, Directory, TenantId, UserId, withDeadlines } from "@doorhook/core"
import type { DirectoryError } from "@doorhook/core"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import type { HostDirectory } from "doorhook"
import * as Doorhook from "doorhook/effect"
import { Effect, Exit, Layer, Logger, Option, Redacted, Result } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { createServer } from "node:http"
import { mock } from "node:test"
import { setImmediate as nextTurn } from "node:timers/promises"
import { client, directory, event, live, mount, start, tokenFrom } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { authorizeUrl, challenge, exchange } from "../harness/CodeGrant.ts"
import { logIn } from "../harness/LoginForm.ts"
import { callApi, createIntegration } from "../harness/ThirdParty.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"

const row = { name: "App", redirect_uris: [client.redirect_uri] }

/** Starts a doorhook whose directory functions return unusual values, and collects its log lines. */
const over = Effect.fnUntraced(function* (own: Readonly<Record<string, unknown>>) {
  const lines: Array<string> = []
  const keep = (line: string) => void lines.push(line)
  const host: HostDirectory = Object.assign({ ...directory }, own)
  const doorhook = yield* start({ directory: host, logger: { info: keep, warn: keep, error: keep } })
  const { url } = yield* mount(doorhook)
  return { doorhook, url, lines }
})

/** For each function of the host, a request that makes doorhook call the function. */
const waiting: ReadonlyArray<
  readonly [question: keyof HostDirectory, send: (url: string, token: string) => Promise<Response>]
> = [
  ["client", (url) => fetch(authorizeUrl(url, client))],
  ["session", (url) => fetch(authorizeUrl(url, client))],
  ["authenticate", (url) => logIn(authorizeUrl(url, client), "admin", "right")],
  ["isActive", (url, token) => callApi(url, token, "GET", "/v4/buildings")],
  ["administers", (url, token) => callApi(url, token, "GET", "/v4/buildings/1/integrations")],
  ["isTenant", (url, token) => callApi(url, token, "GET", "/v4/tenants/1/integrations")],
  ["buildings", (url, token) => callApi(url, token, "GET", "/v4/buildings")],
  ["tenants", (url, token) => callApi(url, token, "GET", "/v4/tenants")]
]

/** Makes a directory in which the function named by `silence.question` never answers. */
const silentTo = (host: HostDirectory, silence: { question?: string; asked: () => void }) =>
  Layer.effect(
    Directory,
    Effect.map(Directory, (directory): Directory["Service"] => {
      const unless = <A>(
        question: string,
        answer: Effect.Effect<A, DirectoryError>
      ): Effect.Effect<A, DirectoryError> =>
        Effect.suspend(() => {
          if (silence.question !== question) return answer
          silence.asked()
          return Effect.never
        })
      return {
        ...directory,
        client: (id) => unless("client", directory.client(id)),
        authenticate: (login, password) => unless("authenticate", directory.authenticate(login, password)),
        session: (request) => unless("session", directory.session?.(request) ?? Effect.succeed(null)),
        isActive: (user) => unless("isActive", directory.isActive(user)),
        administers: (user, building) => unless("administers", directory.administers(user, building)),
        isTenant: (user, tenant) => unless("isTenant", directory.isTenant(user, tenant)),
        buildings: (user) => unless("buildings", directory.buildings(user)),
        tenants: (user) => unless("tenants", directory.tenants(user))
      }
    })
  ).pipe(Layer.provide(Doorhook.directoryOf(host)))

/** Ways to make a function of a directory silent while it is in use. */
const silencing = {
  "an effect that never ends": (host: HostDirectory) => {
    const silence: { question?: string; asked: () => void } = { asked: () => undefined }
    const silenceIn = (question: string, asked: () => void) => Object.assign(silence, { question, asked })
    return { layer: silentTo(host, silence), silence: silenceIn }
  },
  "a promise that never settles": (host: HostDirectory) => {
    const hang = (asked: () => void) => () => {
      asked()
      return new Promise(() => {})
    }
    const silence = (question: string, asked: () => void) => Object.assign(host, { [question]: hang(asked) })
    return { layer: Doorhook.directoryOf(host), silence }
  }
}

describe.each(Object.entries(silencing))("%s", (_, make) => {
  it.effect.each(waiting)("of %s delays a request for ten seconds at most", ([question, send]) =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const log = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const { layer, silence } = make({
        ...directory,
        session: () => null,
        isActive: () => true,
        buildings: () => [],
        tenants: () => []
      })
      const served = HttpRouter.serve(Doorhook.Routes, { routerConfig: Doorhook.routerConfig }).pipe(
        Layer.provide(Doorhook.layer({ database: "memory" }, layer)),
        Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
        Layer.provideMerge(log)
      )
      yield* Effect.gen(function* () {
        const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
        const token = yield* tokenFrom(url)
        const asked = Promise.withResolvers<void>()
        silence(question, asked.resolve)
        const reply = send(url, token)
        yield* Effect.promise(() => asked.promise)
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual((yield* Effect.promise(() => reply)).status, 503)
        assert.include(lines.join("\n"), `The directory did not answer \`${question}\` within 10s.`)
      }).pipe(Effect.provide(served))
    })
  )
})

describe("a promise that never settles, given to createDoorhook,", () => {
  live("delays a request for ten seconds at most", function* () {
    const asked = Promise.withResolvers<void>()
    const hang = () => {
      asked.resolve()
      return new Promise<never>(() => {})
    }
    const doorhook = yield* start({ directory: { ...directory, client: hang }, logger: false })
    yield* Effect.acquireRelease(
      Effect.sync(() => mock.timers.enable({ apis: ["setTimeout"] })),
      () => Effect.sync(() => mock.timers.reset())
    )
    const reply = doorhook.fetch(new Request(authorizeUrl("http://localhost", client)))
    yield* Effect.promise(() => asked.promise)
    yield* Effect.promise(() => nextTurn())
    mock.timers.tick(10_000)
    assert.strictEqual((yield* Effect.promise(() => reply)).status, 503)
  })
})

/** For each directory function, returns a function that calls it with doorhook's time limits. */
const questionsTo = Effect.fnUntraced(function* (host: HostDirectory) {
  const asked = yield* Effect.provide(Directory, withDeadlines(Doorhook.directoryOf(host)))
  const [user, password] = [UserId.make("admin"), Redacted.make("right")]
  const session = asked.session ?? (() => Effect.succeed(null))
  return {
    client: () => asked.client(client.client_id),
    authenticate: () => asked.authenticate("admin", password),
    session: () => session({ url: "https://host.example/", headers: {} }),
    isActive: () => asked.isActive(user),
    administers: () => asked.administers(user, BuildingId.make(1)),
    isTenant: () => asked.isTenant(user, TenantId.make(1)),
    buildings: () => asked.buildings(user),
    tenants: () => asked.tenants(user)
  }
})

const names = [
  "client",
  "authenticate",
  "session",
  "isActive",
  "administers",
  "isTenant",
  "buildings",
  "tenants"
] as const

/** Makes a host whose functions all return `answer()`. */
const answering = (answer: () => unknown): HostDirectory =>
  Object.assign({ ...directory }, Object.fromEntries(names.map((name) => [name, answer])))

describe("a synchronous answer", () => {
  it.effect("is used directly, without a fiber, promise or timer", () =>
    Effect.gen(function* () {
      const questions = yield* questionsTo({
        ...directory,
        authenticate: () => null,
        session: () => null,
        buildings: () => [],
        tenants: () => null
      })
      for (const name of names) assert.isTrue(Exit.isExit(questions[name]()), name)
      const throwing = yield* questionsTo(
        answering(() => {
          throw new Error("no database")
        })
      )
      for (const name of names) assert.isTrue(Exit.isExit(throwing[name]()), name)
    })
  )

  it.effect("has the same effect as a promise of it, even if it is invalid", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.oneof(fc.boolean(), fc.anything()),
          fc.constantFrom("isActive", "administers", "isTenant"),
          (value, name) =>
            Effect.gen(function* () {
              const atOnce = yield* questionsTo(answering(() => value))
              const later = yield* questionsTo(answering(async () => value))
              const [now, then] = [yield* Effect.result(atOnce[name]()), yield* Effect.result(later[name]())]
              if (value === true || value === false) {
                assert.deepStrictEqual([now, then], [Result.succeed(value), Result.succeed(value)])
                return
              }
              const [said, saidLater] = [Result.getFailure(now), Result.getFailure(then)].map(
                Option.match({ onNone: () => "", onSome: ({ message }) => message })
              )
              assert.match(said ?? "", new RegExp(`^The directory's \`${name}\` must return true or false, not `))
              assert.strictEqual(saidLater, said)
            }).pipe(Effect.runPromise)
        )
      )
    )
  )
})

describe("a promise that rejects", () => {
  live("does not end the process, even if its request was cancelled", function* () {
    const unhandled: Array<unknown> = []
    const keep = (reason: unknown) => void unhandled.push(reason)
    process.on("unhandledRejection", keep)
    yield* Effect.addFinalizer(() => Effect.sync(() => process.off("unhandledRejection", keep)))
    const questions = yield* questionsTo(answering(() => Promise.reject(new Error("no database"))))
    const neverRun = names.map((name) => questions[name]())
    yield* Effect.promise(() => nextTurn())
    yield* Effect.promise(() => nextTurn())
    assert.deepStrictEqual(unhandled, [])
    assert.isFalse(neverRun.some(Exit.isExit), "the promises were not asked for")
  })
})

describe("a promise of a right", () => {
  live("is requested once for all waiting deliveries, and again for the next", function* () {
    const asked: Array<PromiseWithResolvers<boolean>> = []
    let isHeld = false
    const { doorhook, url } = yield* over({
      administers: () => {
        if (!isHeld) return true
        const answer = Promise.withResolvers<boolean>()
        asked.push(answer)
        return answer.promise
      }
    })
    const receiver = yield* startReceiver()
    const token = yield* tokenFrom(url)
    yield* Effect.promise(() => createIntegration(url, token, receiver.url))
    isHeld = true
    const delivered = Effect.promise(async () => (await doorhook.deliveries.list({ state: "delivered" })).deliveries)
    for (const round of [1, 2]) {
      yield* Effect.promise(() => doorhook.publish([event, event, event, event]))
      yield* eventually(
        "the question is asked",
        Effect.sync(() => asked.length),
        (questions) => questions >= round
      )
      yield* Effect.promise(() => nextTurn())
      assert.lengthOf(asked, round)
      asked.at(-1)?.resolve(true)
      yield* eventually("all are delivered", delivered, (found) => found.length === 4 * round)
      assert.lengthOf(asked, round)
    }
  })
})

const list = (url: string, token: string) =>
  Effect.promise(async () => (await callApi(url, token, "GET", "/v4/buildings/1/integrations")).status)

describe("a host's functions", () => {
  for (const id of [42, 42n]) {
    live(`may number users (${typeof id}): all other functions get the text`, function* () {
      const asked: Array<unknown> = []
      const { url } = yield* over({
        authenticate: () => ({ id }),
        administers: (user: unknown) => asked.push(user) > 0
      })
      assert.strictEqual(yield* list(url, yield* tokenFrom(url)), 200)
      assert.include(asked, "42")
      assert.notInclude(asked, id)
      const logged = yield* over({ session: () => ({ id, name: "Ada" }) })
      const page = yield* Effect.promise(() => fetch(authorizeUrl(logged.url, client)))
      assert.strictEqual(page.status, 200)
      assert.include(yield* Effect.promise(() => page.text()), "Ada")
    })
  }

  live("may return undefined if there is no result", function* () {
    const { lines, url } = yield* over({ authenticate: () => undefined, client: directory.client })
    const refused = yield* Effect.promise(() => logIn(authorizeUrl(url, client), "admin", "right"))
    assert.strictEqual(refused.status, 403)
    const nobodys = yield* over({ client: () => undefined })
    const unknown = yield* Effect.promise(() => fetch(authorizeUrl(nobodys.url, client)))
    assert.strictEqual(unknown.status, 400)
    assert.deepStrictEqual([...lines, ...nobodys.lines], [])
  })

  live("are not called with a login or password that is empty or has a NUL, which counts as wrong", function* () {
    const asked: Array<unknown> = []
    const { url } = yield* over({
      // Accepts any password, even an empty one, as some LDAP servers do.
      authenticate: (login: unknown, password: unknown) => asked.push([login, password]) > 0 && { id: "u1" }
    })
    const statusOf = (login: string, password: string) =>
      Effect.promise(async () => (await logIn(authorizeUrl(url, client), login, password)).status)
    for (const [login, password] of [
      ["", ""],
      ["", "right"],
      ["admin\u0000", "right"],
      ["admin", "right\u0000"]
    ] as const) {
      assert.strictEqual(yield* statusOf(login, password), 403)
    }
    for (let failure = 2; failure <= 10; failure++) assert.strictEqual(yield* statusOf("admin", ""), 403)
    assert.strictEqual(yield* statusOf("admin", ""), 429)
    assert.strictEqual(yield* statusOf("admin", "right"), 429)
    assert.deepStrictEqual(asked, [])
    assert.strictEqual(yield* statusOf("ada", " "), 303)
    assert.deepStrictEqual(asked, [["ada", " "]])
  })

  live(
    "must return true or false for a right: otherwise nothing is shown, sent or cancelled, and the log explains it",
    function* () {
      let answer: unknown = true
      const { doorhook, lines, url } = yield* over({ administers: async () => answer })
      const receiver = yield* startReceiver()
      const token = yield* tokenFrom(url)
      yield* Effect.promise(() => createIntegration(url, token, receiver.url))
      answer = undefined
      assert.strictEqual(yield* list(url, token), 503)
      const flaw = "`administers` must return true or false, not undefined; if that means no, write `?? false`."
      assert.isTrue(lines.some((line) => line.includes(`The directory's ${flaw} request_id=req_`)))
      lines.length = 0
      yield* Effect.promise(() => doorhook.publish(event))
      yield* eventually(
        "the flaw is logged",
        Effect.sync(() => lines.join("\n")),
        (text) => text.includes(flaw)
      )
      const { deliveries } = yield* Effect.promise(() => doorhook.deliveries.list())
      assert.deepStrictEqual(
        deliveries.map(({ attempts, state }) => [state === "cancelled", attempts]),
        [[false, 0]]
      )
      answer = 1
      assert.strictEqual(yield* list(url, token), 503)
      assert.match(lines.at(-1) ?? "", /must return true or false, not a number\. request_id=req_\w+$/)
    }
  )

  live("must return a user with an id that is a text or a whole number", function* () {
    let user: unknown = { id: 1.5 }
    const { lines, url } = yield* over({ authenticate: () => user })
    for (const [given, said] of [
      [{ id: 1.5 }, /`authenticate` must return a user like \{ id \}, or null: \/id must be a text/],
      [{ id: 2 ** 53 }, /\/id must be a text/],
      [{ id: "a\u0000b" }, /\/id must have no NUL character/],
      ["secret-token", /must return a user like \{ id \}, or null, not a text\. request_id=/],
      [false, /or null, not false\. request_id=/]
    ] as const) {
      user = given
      assert.strictEqual((yield* Effect.promise(() => logIn(authorizeUrl(url, client), "admin", "right"))).status, 503)
      assert.match(lines.at(-1) ?? "", said)
    }
    assert.notInclude(lines.join(), "secret-token")
  })

  for (const secret of [null, undefined]) {
    live(`may return a client whose secret is ${secret}, as in a table row, which makes it public`, function* () {
      const host: HostDirectory = { ...directory, client: (id) => ({ ...row, id, secret }) }
      const { lines, url } = yield* over({ client: host.client })
      const withoutChallenge = yield* Effect.promise(() => fetch(authorizeUrl(url, client), { redirect: "manual" }))
      assert.match(withoutChallenge.headers.get("location") ?? "", /must%20use%20PKCE/)
      const page = yield* Effect.promise(() => fetch(authorizeUrl(url, client, challenge)))
      assert.strictEqual(page.status, 200)
      const wrong = yield* Effect.promise(() => exchange(url, client, "x"))
      assert.strictEqual(wrong.status, 401)
      assert.deepStrictEqual(lines, [])
    })
  }

  live(
    "may return unusable redirect URIs, which are logged and shown on the page; the client's other URIs work",
    function* () {
      const refused = ["http://intranet/cb", "myapp://cb", "https://client.example/cb?state=own"]
      const redirect_uris = [...refused, client.redirect_uri]
      const { lines, url } = yield* over({ client: (id: string) => ({ ...row, id, secret: "s1", redirect_uris }) })
      const open = (redirect_uri: string) =>
        Effect.promise(async () => {
          const page = await fetch(authorizeUrl(url, { ...client, redirect_uri }), { redirect: "manual" })
          return { status: page.status, text: await page.text() }
        })
      for (const uri of refused) {
        const { status, text } = yield* open(uri)
        assert.strictEqual(status, 400)
        assert.match(text, /is registered for the application, but it is not accepted here: it must be an https URL/)
      }
      // Logged only once for the client, because anyone can repeat the request.
      assert.lengthOf(lines, 1)
      assert.match(
        lines[0] ?? "",
        /`client` returns a redirect URI for client c1 that is not accepted: it must be an https URL/
      )
      lines.length = 0
      assert.include((yield* open("https://client.example/other")).text, "is not registered")
      assert.strictEqual((yield* open(client.redirect_uri)).status, 200)
      assert.deepStrictEqual(lines, [])
    }
  )

  live("may represent missing values by null, undefined or no member", function* () {
    const host: HostDirectory = {
      ...directory,
      buildings: () => [{ id: 1, name: "North", time_zone: "UTC", access_points: undefined }],
      tenants: () => [
        { id: 1, building_id: 1, unit: undefined },
        { id: 2, building_id: 1, unit: null },
        { id: 3, building_id: 1 }
      ]
    }
    const { doorhook, url } = yield* over({ ...host })
    const token = yield* tokenFrom(url)
    const statusOf = (at: string, bearer: string, path: string) =>
      Effect.promise(async () => (await callApi(at, bearer, "GET", path)).status)
    assert.strictEqual(yield* statusOf(url, token, "/v4/buildings"), 200)
    assert.strictEqual(yield* statusOf(url, token, "/v4/tenants?scope=self"), 200)
    yield* Effect.promise(() => doorhook.publish({ ...event, tenant_ids: undefined }))
    const none: HostDirectory = { ...directory, buildings: () => null, tenants: async () => undefined }
    const empty = yield* over({ ...none })
    const another = yield* tokenFrom(empty.url)
    assert.strictEqual(yield* statusOf(empty.url, another, "/v4/buildings"), 200)
    assert.strictEqual(yield* statusOf(empty.url, another, "/v4/tenants?scope=self"), 200)
  })

  live("may return ids of buildings and tenants as text or BigInt, like database clients", function* () {
    const asked: Array<unknown> = []
    let unit = "0"
    const access_points = [
      { id: "11", name: "Gate" },
      { id: "0", name: "Lift" }
    ]
    const host: HostDirectory = {
      ...directory,
      administers: (_, building) => asked.push(building) > 0,
      buildings: () => [{ id: "7", name: "North", time_zone: "UTC", access_points }],
      tenants: () => [
        { id: 101n, building_id: "7", unit: { id: unit, label: "4B" } },
        { id: 102, building_id: 7, unit: { id: 0n, label: "4C" } }
      ]
    }
    const { doorhook, lines, url } = yield* over({ ...host })
    const token = yield* tokenFrom(url)
    const read = (path: string) => Effect.promise(async () => (await callApi(url, token, "GET", path)).text())
    assert.match(yield* read("/v4/buildings"), /"id":"7".*"id":"?11\b.*"id":"?0\b/)
    // 0 is valid for units and access points, but not for buildings or tenants.
    assert.match(yield* read("/v4/tenants?scope=self"), /"id":"101".*"id":"?0\b.*"id":"102".*"id":"?0\b/)
    unit = "00"
    assert.match(yield* read("/v4/tenants?scope=self"), /"unavailable"/)
    assert.match(lines.at(-1) ?? "", /`tenants` must return .*: \/0\/unit\/id must be a whole number, not "00"\. /)
    const { deliveries } = yield* Effect.promise(() =>
      doorhook.publish({ ...event, building_id: "7", tenant_ids: ["101", 102n] })
    )
    assert.strictEqual(deliveries, 0)
    assert.strictEqual(yield* list(url, token), 200)
    assert.deepStrictEqual([...new Set(asked)], [1])
  })

  live(
    "must return ids that are positive whole numbers: the log has the value and the rule, and callers are not told to retry",
    function* () {
      const uuid = "0b8f2c0e-6f0d-4a7e-9b57-1f4f4d1c2a3b"
      const host: HostDirectory = {
        ...directory,
        buildings: () => [{ id: uuid, name: "North", time_zone: "UTC" }],
        tenants: () => [{ id: 1, building_id: "01" }]
      }
      const { lines, url } = yield* over({ ...host })
      const token = yield* tokenFrom(url)
      for (const [path, flaw] of [
        [
          "/v4/buildings",
          `\`buildings\` must return a list of buildings like { id, name, time_zone }: /0/id must be a positive whole number, not "${uuid}".`
        ],
        ["/v4/tenants?scope=self", `: /0/building_id must be a positive whole number, not "01".`]
      ] as const) {
        const answer = yield* Effect.promise(() => callApi(url, token, "GET", path))
        assert.strictEqual(answer.status, 503)
        const text = yield* Effect.promise(() => answer.text())
        assert.include(text, "trying again does not help")
        assert.notInclude(text, "in a moment")
        assert.include(lines.at(-1) ?? "", flaw)
      }
    }
  )

  live(
    "must return the client with exactly the requested id: another spelling is refused, and gets no limit of its own",
    function* () {
      // Looks up clients as some databases do, ignoring case and trailing spaces.
      const find = (id: string) => (id.trim().toLowerCase() === "c1" ? { ...row, id: "c1", secret: "s1" } : null)
      const { lines, url } = yield* over({ client: find })
      const statusOf = (client_id: string, client_secret: string) =>
        Effect.promise(async () => (await exchange(url, { ...client, client_id, client_secret }, "x")).status)
      for (const spelling of ["C1", "c1 "]) {
        assert.strictEqual(yield* statusOf(spelling, "wrong"), 401)
        const page = yield* Effect.promise(() => fetch(authorizeUrl(url, { ...client, client_id: spelling })))
        assert.strictEqual(page.status, 400)
      }
      // Logged only once, because anyone can repeat the request.
      assert.lengthOf(lines, 1)
      assert.match(lines[0] ?? "", /`client` must return the client with exactly the requested id/)
      for (let failure = 1; failure <= 10; failure++) assert.strictEqual(yield* statusOf("c1", "wrong"), 401)
      assert.strictEqual(yield* statusOf("c1", "s1"), 429)
      assert.strictEqual(yield* statusOf("C1", "s1"), 401)
    }
  )

  live("must return a client with all its members: missing ones are named", function* () {
    const { lines, url } = yield* over({ client: (id: string) => ({ id, name: "Acme" }) })
    assert.strictEqual((yield* Effect.promise(() => fetch(authorizeUrl(url, client)))).status, 503)
    assert.match(lines.at(-1) ?? "", /`client` must return .*: \/redirect_uris is missing\. request_id=/)
    const secretless = yield* over({ client: (id: string) => ({ ...row, id, secret: "" }) })
    assert.strictEqual((yield* Effect.promise(() => fetch(authorizeUrl(secretless.url, client)))).status, 503)
    assert.match(secretless.lines.at(-1) ?? "", /`client` must return .*: \/secret must be a value with a length/)
  })
})
