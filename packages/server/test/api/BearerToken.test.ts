import { assert, describe, it } from "@effect/vitest"
import { readBearer } from "../../src/http/Credentials.ts"
import { call, onServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

describe("access tokens", () => {
  onServer("are requested by a challenge, which has an error only if a token was sent", function* () {
    const none = yield* call("GET", path)
    assert.strictEqual(none.status, 401)
    const plain = none.headers.get("www-authenticate") ?? ""
    assert.match(
      plain,
      /^Bearer realm="doorhook", resource_metadata="http:[^"]+\/\.well-known\/oauth-protected-resource\/v4"$/
    )
    const invalid =
      /^Bearer realm="doorhook", error="invalid_token", error_description="[^"]+", resource_metadata="http[^"]+"$/
    assert.strictEqual(none.headers.get("content-type"), "application/vnd.api+json")
    assert.strictEqual(none.at("/errors/0/code"), "unauthorized")
    for (const authorization of ["Basic YWRtaW46eA==", "Bearer", "Bearer ", "bearer   ", "Bearerx"]) {
      const reply = yield* call("GET", path, { headers: { authorization } })
      assert.strictEqual(reply.status, 401, authorization)
      assert.strictEqual(reply.headers.get("www-authenticate"), plain, authorization)
    }
    for (const authorization of ["Bearer wrong", "bearer a b", 'Bearer "admin"']) {
      const reply = yield* call("GET", path, { headers: { authorization } })
      assert.strictEqual(reply.status, 401, authorization)
      assert.match(reply.headers.get("www-authenticate") ?? "", invalid, authorization)
      // The refresh token may be revoked too, so the detail says what to do in that case.
      assert.match(
        String(reply.at("/errors/0/detail")),
        /refresh token; if that is refused, .* \/oauth\/authorize again/
      )
    }
  })

  onServer("are read only from the header, whatever the case of the scheme", function* () {
    assert.strictEqual((yield* call("GET", `${path}?access_token=admin`)).status, 401)
    const form = { body: "access_token=admin", headers: { "content-type": "application/x-www-form-urlencoded" } }
    assert.strictEqual((yield* call("POST", path, form)).status, 401)
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      assert.strictEqual((yield* call("GET", path, { headers: { authorization: `${scheme} admin` } })).status, 200)
    }
  })

  onServer("are checked before anything else in the request", function* () {
    assert.strictEqual((yield* call("GET", "/v4/buildings/999/integrations")).status, 401)
    assert.strictEqual((yield* call("GET", `${path}?foo=1`)).status, 401)
    assert.strictEqual((yield* call("POST", path, { body: "{" })).status, 401)
  })

  it("are read in linear time", () => {
    const begun = process.cpuUsage()
    assert.strictEqual(readBearer(`Bearer a${" ".repeat(60_000)}b`)._tag, "Malformed")
    assert.strictEqual(readBearer(`Bearer${" ".repeat(60_000)}\n`)._tag, "Absent")
    assert.isBelow(process.cpuUsage(begun).user, 500_000)
  })
})
