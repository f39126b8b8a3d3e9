/**
 * Twenty concurrent requests, for every client and every kind of store. Only one can exchange a code, but all can use
 * the same refresh token.
 */
import { assert, describe, it } from "@effect/vitest"
import { challenge, pkce, requestTokens } from "../harness/CodeGrant.ts"
import { shared } from "../harness/Shared.ts"
import { apiStatus, appRedirectUri, redirectUri, serve, visit } from "./Service.ts"

const times = 20
const all = <A>(work: () => Promise<A>): Promise<ReadonlyArray<A>> =>
  Promise.all(Array.from({ length: times }, () => work()))

type Fields = Readonly<Record<string, string>>

const clients = [
  ["a client with a secret", { client_id: "c1", client_secret: "s1" }, redirectUri],
  ["a client without one", { client_id: "p1" }, appRedirectUri]
] as const

/** Returns a client's parameters with a new code. */
const exchangeOf = async (url: string, credentials: Fields, redirect_uri: string): Promise<Fields> => {
  const query = new URLSearchParams({
    client_id: credentials["client_id"] ?? "",
    redirect_uri,
    response_type: "code",
    ...challenge
  })
  const code = (await visit(`${url}/oauth/authorize?${query.toString()}`)).searchParams.get("code") ?? ""
  return { grant_type: "authorization_code", code, redirect_uri, code_verifier: pkce.verifier, ...credentials }
}

describe.each(["memory", "tokens.db"])("on %s", (database) => {
  const service = shared(serve({}, database))

  describe.each(clients)("%s", (_, credentials, uri) => {
    const refreshWith = (refresh_token: string) =>
      requestTokens(service().url, { grant_type: "refresh_token", refresh_token, ...credentials })
    const takeTokens = async () => {
      const tokens = await requestTokens(service().url, await exchangeOf(service().url, credentials, uri))
      assert.strictEqual(tokens.status, 200)
      return tokens
    }

    it("gets tokens from one of twenty exchanges of a code, and the other exchanges revoke them", async () => {
      const exchange = await exchangeOf(service().url, credentials, uri)
      const answers = await all(() => requestTokens(service().url, exchange))
      const won = answers.filter(({ status }) => status === 200)
      assert.lengthOf(won, 1)
      for (const { error, status } of answers) {
        if (status !== 200) assert.deepStrictEqual([status, error], [400, "invalid_grant"])
      }
      // The code was used twice, so it might have been stolen.
      assert.strictEqual(await apiStatus(service().url, won[0]?.access_token), 401)
      assert.strictEqual((await refreshWith(won[0]?.refresh_token ?? "")).error, "invalid_grant")
    })

    it("can refresh twenty times concurrently, and each response stays valid", async () => {
      const { refresh_token } = await takeTokens()
      const answers = await all(() => refreshWith(refresh_token))
      for (const answer of answers) assert.strictEqual(answer.status, 200, answer.error)
      assert.lengthOf(new Set(answers.map(({ access_token }) => access_token)), times)
      const statuses = await Promise.all(answers.map(({ access_token }) => apiStatus(service().url, access_token)))
      assert.deepStrictEqual(new Set(statuses), new Set([200]))
      for (const answer of answers) {
        const next = await refreshWith(answer.refresh_token)
        assert.strictEqual(next.status, 200, next.error)
        assert.strictEqual(await apiStatus(service().url, next.access_token), 200)
      }
    })

    // A client without a secret can be locked out, so it skips the next test. Once a new access token is used, the old
    // refresh token is retired (docs/decisions.md), and a worker that still uses the old token counts as a thief.
    if (credentials.client_id === "p1") return
    it("is not locked out if each of its workers refreshes separately and uses its token immediately", async () => {
      const { refresh_token } = await takeTokens()
      const answers = await all(async () => {
        const answer = await refreshWith(refresh_token)
        return { ...answer, api: await apiStatus(service().url, answer.access_token) }
      })
      assert.deepStrictEqual(new Set(answers.map(({ api }) => api)), new Set([200]))
      const last = answers.at(-1)
      assert.strictEqual((await refreshWith(last?.refresh_token ?? "")).status, 200)
    })
  })
})
