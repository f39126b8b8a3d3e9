/**
 * What a host's own functions answer in plain JavaScript: what can be meant by one thing only is taken, and what can't be used is
 * told in the log with what would be.
 */
import { assert, describe } from "@effect/vitest"
import type { HostDirectory } from "doorhook"
import { Effect } from "effect"
import { client, directory, event, live, mount, start, tokenFrom } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { authorizeUrl } from "../harness/CodeGrant.ts"
import { logIn } from "../harness/LoginForm.ts"
import { callApi, createIntegration } from "../harness/ThirdParty.ts"
import { startReceiver } from "@doorhook/testkit/Receiver"

/** A doorhook over a directory that answers in part in ways of its own, with the lines that it logs. */
const over = Effect.fnUntraced(function* (own: Readonly<Record<string, unknown>>) {
  const lines: Array<string> = []
  const keep = (line: string) => void lines.push(line)
  const host: HostDirectory = Object.assign({ ...directory }, own)
  const doorhook = yield* start({ directory: host, logger: { info: keep, warn: keep, error: keep } })
  const { url } = yield* mount(doorhook)
  return { doorhook, url, lines }
})

const list = (url: string, token: string) =>
  Effect.promise(async () => (await callApi(url, token, "GET", "/v4/buildings/1/integrations")).status)

describe("a host's functions", () => {
  for (const id of [42, 42n]) {
    live(
      `may number users (${typeof id}): all other questions are asked with the text`,
      Effect.gen(function* () {
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
    )
  }

  live(
    "may answer undefined where there is nobody and nothing",
    Effect.gen(function* () {
      const { lines, url } = yield* over({ authenticate: () => undefined, client: directory.client })
      const refused = yield* Effect.promise(() => logIn(authorizeUrl(url, client), "admin", "right"))
      assert.strictEqual(refused.status, 403)
      const nobodys = yield* over({ client: () => undefined })
      const unknown = yield* Effect.promise(() => fetch(authorizeUrl(nobodys.url, client)))
      assert.strictEqual(unknown.status, 400)
      assert.deepStrictEqual([...lines, ...nobodys.lines], [])
    })
  )

  live(
    "are not asked about an empty login or password, nor about one with a NUL: these are wrong, and count as such",
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const { url } = yield* over({
        // As a host that binds to an LDAP server with whatever it is given.
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
  )

  live(
    "must answer a right with true or false: until then nothing is shown, sent or cancelled, and the log says what is wrong",
    Effect.gen(function* () {
      let answer: unknown = true
      const { doorhook, lines, url } = yield* over({ administers: async () => answer })
      const receiver = yield* startReceiver()
      const token = yield* tokenFrom(url)
      yield* Effect.promise(() => createIntegration(url, token, receiver.url))
      answer = undefined
      assert.strictEqual(yield* list(url, token), 503)
      const flaw = "`administers` must return true or false, not undefined; write `?? false` where that means no."
      assert.isTrue(lines.some((line) => line.includes(`The directory's ${flaw} request_id=req_`)))
      lines.length = 0
      yield* Effect.promise(() => doorhook.publish(event))
      yield* eventually(
        "it is told",
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
    })
  )

  live(
    "must answer a user with an id that is a text or a whole number",
    Effect.gen(function* () {
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
        assert.strictEqual(
          (yield* Effect.promise(() => logIn(authorizeUrl(url, client), "admin", "right"))).status,
          503
        )
        assert.match(lines.at(-1) ?? "", said)
      }
      assert.notInclude(lines.join(), "secret-token")
    })
  )

  live(
    "must answer a client with all its members: what is missing is named",
    Effect.gen(function* () {
      const { lines, url } = yield* over({ client: (id: string) => ({ id, name: "Acme" }) })
      assert.strictEqual((yield* Effect.promise(() => fetch(authorizeUrl(url, client)))).status, 503)
      assert.match(lines.at(-1) ?? "", /`client` must return .*: \/redirect_uris is missing\. request_id=/)
    })
  )
})
