/**
 * Floods of requests that guess passwords and secrets at an embedding host.
 */
import { assert } from "@effect/vitest"
import type { Doorhook } from "doorhook"
import { Effect } from "effect"
import { authorizeUrl } from "../harness/CodeGrant.ts"
import { client, live, start } from "../harness/Embedded.ts"
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

live("a locked login and client stay locked after 20,050 unknown clients and 500 unknown logins", function* () {
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
