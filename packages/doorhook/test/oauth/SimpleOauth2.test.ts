/**
 * The whole life of a grant with simple-oauth2, whose default paths are the documented ones. If a response has no
 * refresh token, the library forgets the old one. The library accepts only JSON as the response to a revocation.
 */
import { assert, describe, it } from "@effect/vitest"
import { Predicate } from "effect"
import { AuthorizationCode } from "simple-oauth2"
import { challenge, pkce } from "../harness/CodeGrant.ts"
import { shared } from "../harness/Shared.ts"
import { apiStatus, oddAsciiSecret, redirectUri, rejection, serve, visit } from "./Service.ts"

const service = shared(serve())

const ways = [
  ["Basic and a form", {}],
  ["a form alone", { authorizationMethod: "body" }],
  ["JSON", { authorizationMethod: "body", bodyFormat: "json" }],
  ["Basic and JSON", { bodyFormat: "json" }]
] as const

/** Returns the error code in an error of the library. */
const errorCode = (error: unknown): unknown => valueAt(error, "data", "payload", "error")

const valueAt = (value: unknown, ...names: ReadonlyArray<string>): unknown =>
  names.reduce<unknown>((parent, name) => (Predicate.isObject(parent) ? Reflect.get(parent, name) : undefined), value)

describe("simple-oauth2", () => {
  it.each(ways)("gets, uses, refreshes and revokes tokens with %s", async (_, options) => {
    const client = { id: "c1", secret: "s1" }
    const grant = new AuthorizationCode({ client, auth: { tokenHost: service().url }, options })
    const address = grant.authorizeURL({
      redirect_uri: redirectUri,
      scope: "public",
      state: "s/1 é",
      ...challenge
    })
    const callback = await visit(address)
    assert.strictEqual(callback.searchParams.get("state"), "s/1 é")
    const code = callback.searchParams.get("code") ?? ""
    const token = await grant.getToken({
      code,
      redirect_uri: redirectUri,
      scope: "public",
      code_verifier: pkce.verifier
    })
    assert.isFalse(token.expired())
    assert.strictEqual(await apiStatus(service().url, token.token["access_token"]), 200)

    const refreshed = await token.refresh()
    assert.strictEqual(refreshed.token["refresh_token"], token.token["refresh_token"])
    const again = await refreshed.refresh({ scope: "public" })
    assert.strictEqual(await apiStatus(service().url, again.token["access_token"]), 200)

    await again.revokeAll()
    for (const { token: each } of [token, refreshed, again]) {
      assert.strictEqual(await apiStatus(service().url, each["access_token"]), 401)
    }
    assert.strictEqual(errorCode(await rejection(again.refresh())), "invalid_grant")
  })

  it("encodes an odd secret as in RFC 6749, and gets an error for a wrong one", async () => {
    const getToken = (secret: string) =>
      new AuthorizationCode({ client: { id: "c3", secret }, auth: { tokenHost: service().url } }).getToken({
        code: "x",
        redirect_uri: redirectUri
      })
    assert.strictEqual(errorCode(await rejection(getToken(oddAsciiSecret))), "invalid_grant")
    assert.strictEqual(errorCode(await rejection(getToken(`${oddAsciiSecret}x`))), "invalid_client")
  })
})
