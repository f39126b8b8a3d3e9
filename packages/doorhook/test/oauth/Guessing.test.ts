/**
 * Floods of requests that guess passwords and secrets at an embedding host.
 */
import { assert } from "@effect/vitest"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import { authorizeUrl } from "../harness/CodeGrant.ts"
import { client, directory, live, start } from "../harness/Embedded.ts"
import { formOf } from "../harness/LoginForm.ts"

const url = "http://localhost"
const attacker = { remoteAddress: "192.0.2.1" }
const elsewhere = { remoteAddress: "192.0.2.2" }

/** Returns the login form, which can be sent repeatedly. */
const openForm = (doorhook: Doorhook) =>
  Effect.promise(async () => formOf(await doorhook.fetch(new Request(authorizeUrl(url, client))), url))

/** Makes a token request with these credentials and an unknown code. */
const tokenRequest = (client_id: string, client_secret: string): Request =>
  new Request(`${url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: "dh_ac_x",
      redirect_uri: client.redirect_uri,
      client_id,
      client_secret
    })
  })

live(
  "a locked login and client stay locked after 20,050 unknown clients and 500 unknown logins",
  Effect.gen(function* () {
    const doorhook = yield* start()
    const form = yield* openForm(doorhook)
    const logIn = async (login: string, password: string, from = attacker) =>
      (await doorhook.fetch(form({ login, password }), from)).status
    const ask = async (id: string, secret: string, from = attacker) =>
      (await doorhook.fetch(tokenRequest(id, secret), from)).status
    yield* Effect.promise(async () => {
      for (let n = 0; n < 10; n++) {
        assert.strictEqual(await logIn("admin", `guess ${n}`), 403)
        assert.strictEqual(await ask(client.client_id, `guess ${n}`), 401)
      }
      const expectBlocked = async () => {
        assert.deepStrictEqual([await logIn("admin", "guess"), await logIn("admin", "right")], [429, 429])
        const { client_id, client_secret } = client
        assert.deepStrictEqual([await ask(client_id, "guess"), await ask(client_id, client_secret)], [429, 429])
      }
      await expectBlocked()
      for (let n = 0; n < 20_050; n++) await ask(`made up ${n}`, "guess")
      for (let n = 0; n < 500; n++) await logIn(`made up ${n}`, "guess")
      await expectBlocked()
      // The status is 400 because the code is wrong. The client's credentials are accepted.
      assert.strictEqual(await ask(client.client_id, client.client_secret, elsewhere), 400)
      assert.strictEqual(await logIn("admin", "right", elsewhere), 303)
    })
  })
)

live(
  "of two thousand guesses at one login from unknown addresses, five run concurrently and twenty wait",
  Effect.gen(function* () {
    let [asked, asking, most] = [0, 0, 0]
    let isHeld = false
    const gate = Promise.withResolvers<void>()
    const doorhook = yield* start({
      directory: {
        ...directory,
        authenticate: async (login, password) => {
          asked++
          most = Math.max(most, ++asking)
          if (isHeld) await gate.promise
          asking--
          return password === "right" ? { id: login } : null
        }
      }
    })
    const form = yield* openForm(doorhook)
    const guess = (password: string) => doorhook.fetch(form({ login: "admin", password }))
    yield* Effect.promise(async () => {
      for (let n = 0; n < 9; n++) assert.strictEqual((await guess("wrong")).status, 403)
      assert.strictEqual(asked, 9)
      isHeld = true
      const refused = Promise.withResolvers<void>()
      let refusals = 0
      const guesses = Array.from({ length: 2_000 }, async () => {
        // These logins use the right password, so none is slowed down by earlier failures.
        const { headers, status } = await guess("right")
        if (status === 429 && ++refusals === 1_975) refused.resolve()
        return [status, headers.get("retry-after")].join(" ")
      })
      await refused.promise
      assert.deepStrictEqual([asked, most], [9 + 5, 5])
      gate.resolve()
      const answers = await Promise.all(guesses)
      assert.lengthOf(
        answers.filter((answer) => answer === "303 "),
        25
      )
      assert.lengthOf(
        answers.filter((answer) => answer === "429 8"),
        1_975
      )
      assert.deepStrictEqual([asked, most], [9 + 25, 5])
    })
  })
)

live(
  "wrong operator keys from unknown addresses neither delay the host's own calls nor block the right key",
  Effect.gen(function* () {
    const doorhook = yield* start()
    const ask = (key: string) =>
      doorhook.fetch(new Request(`${url}/operator/summary`, { headers: { authorization: `Bearer ${key}` } }))
    yield* Effect.promise(async () => {
      for (let n = 0; n < 10; n++) assert.strictEqual((await ask(`guess-${n}`)).status, 401)
      const order: Array<string> = []
      const guess = ask("guess").then(({ status }) => order.push(`guess ${status}`))
      const right = ask(doorhook.operatorKey).then(({ status }) => order.push(`right ${status}`))
      await doorhook.integrations.list().then(() => order.push("own call"))
      await Promise.all([guess, right])
      assert.deepStrictEqual([order[0], order.toSorted()], ["own call", ["guess 401", "own call", "right 200"]])
    })
  })
)
