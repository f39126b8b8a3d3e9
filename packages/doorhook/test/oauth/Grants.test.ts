/**
 * The host ends a user's grants, for example after a password change. Tested with every kind of store.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { join } from "node:path"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { describeOnPostgres, pooledDatabase } from "@doorhook/testkit/postgres/TestServer"
import { authorizeUrl, challenge, codeIn, exchange, pkce, readTokens, requestTokens } from "../harness/CodeGrant.ts"
import type { Client } from "../harness/CodeGrant.ts"
import { client as acme, live, mount, start } from "../harness/Embedded.ts"
import { logIn } from "../harness/LoginForm.ts"
import { callApi } from "../harness/ThirdParty.ts"

/** Registers a client, and gets tokens for a user who grants it access. */
const makeSession = async (url: string, client: Client, login: string) => {
  const takeCode = async () => codeIn(await logIn(authorizeUrl(url, client, challenge), login, "right"))
  const redeem = async (code: string) =>
    readTokens(await exchange(url, { ...client, code_verifier: pkce.verifier }, code))
  const tokens = await redeem(await takeCode())
  assert.strictEqual(tokens.error, "")
  return {
    /** Returns whether the access token is still valid, and the response to a refresh. */
    state: async () => {
      const { status } = await callApi(url, tokens.access_token, "GET", "/v4/buildings")
      const { redirect_uri: _, ...credentials } = client
      const { refresh_token } = tokens
      const { error } = await requestTokens(url, { grant_type: "refresh_token", refresh_token, ...credentials })
      return [status, error]
    },
    takeCode,
    redeem
  }
}

const works = [200, ""]
const ended = [401, "invalid_grant"]

const play = (database: Effect.Effect<string, never, Scope.Scope>) => {
  live("end immediately with their tokens, and other users' grants continue", function* () {
    const doorhook = yield* start({ database: yield* database })
    const { url } = yield* mount(doorhook)
    yield* Effect.promise(async () => {
      const { grants } = doorhook
      const app = { client_id: "app", redirect_uri: "http://127.0.0.1:41234/cb" }
      await doorhook.clients.add({
        id: "app",
        name: "Pocket",
        redirect_uris: [app.redirect_uri],
        confidential: false
      })
      const web = await makeSession(url, acme, "admin")
      const phone = await makeSession(url, app, "admin")
      const others = await makeSession(url, app, "other")
      assert.deepStrictEqual(
        (await grants.list("admin")).map(({ client_id, client_name, scope }) => [client_id, client_name, scope]),
        [
          ["c1", "Acme", "public"],
          ["app", "Pocket", "public"]
        ]
      )

      // After a lost phone.
      const unredeemed = await phone.takeCode()
      assert.strictEqual(await grants.revoke("admin", { client: "app" }), 1)
      assert.deepStrictEqual([await web.state(), await phone.state(), await others.state()], [works, ended, works])
      assert.strictEqual((await phone.redeem(unredeemed)).error, "invalid_grant")
      assert.strictEqual(await grants.revoke("admin", { client: "app" }), 0)

      // After a password change.
      const found = await makeSession(url, app, "admin")
      assert.strictEqual(await grants.revoke("admin"), 2)
      for (const session of [web, found]) assert.deepStrictEqual(await session.state(), ended)
      assert.deepStrictEqual(await grants.list("admin"), [])
      assert.lengthOf(await grants.list("other"), 1)

      const again = await makeSession(url, acme, "admin")
      assert.deepStrictEqual(await again.state(), works)
    })
  })
}

describe("grants in memory", () => {
  play(Effect.succeed("memory"))
})

describe("grants in a SQLite file", () => {
  play(Effect.map(temporaryFolder, (folder) => join(folder, "tokens.db")))
})

await describeOnPostgres("grants in PostgreSQL", (server) => {
  play(Effect.map(pooledDatabase(server), ({ url }) => url))
})
