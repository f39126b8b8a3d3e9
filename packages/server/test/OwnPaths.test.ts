import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { PublicApi } from "../src/contract/PublicApi.ts"
import { isOwnPath } from "../src/OwnPaths.ts"

const publicUrl = "https://doors.example"
const metadata = "/.well-known/oauth-authorization-server"

describe("own paths", () => {
  it("are all that the contract names, and the operator's", () => {
    const documented = Object.keys(OpenApi.fromApi(PublicApi).paths)
    assert.isAbove(documented.length, 5)
    const operators = [
      "/operator/events",
      "/operator/deliveries/dlv_1/resend",
      "/health/ready",
      "/metrics",
      "/openapi.json"
    ]
    for (const path of [...documented, ...operators]) {
      assert.isTrue(isOwnPath(path, publicUrl), path)
      assert.isTrue(isOwnPath(`${path}?a=b`, publicUrl), path)
    }
  })

  it("are the one outside of its own path that metadata is asked for at, and none of another issuer", () => {
    const isOwn = (path: string) => isOwnPath(path, `${publicUrl}/a/doors`)
    assert.deepStrictEqual(
      [
        `${metadata}/a/doors`,
        `${metadata}/a/doors?x=1`,
        metadata,
        `${metadata}/`,
        `${metadata}/a/doors/`,
        `${metadata}/a`,
        `${metadata}/a/doors/b`,
        `${metadata}//`
      ].map(isOwn),
      [true, true, true, true, true, false, false, false]
    )
  })

  it("are no others", () => {
    for (const path of [
      "/",
      "",
      "/v4",
      "/v40/x",
      "/orders?next=/v4/",
      "/metrics/x",
      "/.well-known/other",
      `${metadata}/doors`
    ]) {
      assert.isFalse(isOwnPath(path, publicUrl), path)
    }
  })
})
