import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { PublicApi } from "../src/contract/PublicApi.ts"
import { isOwnPath } from "../src/OwnPaths.ts"

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
      assert.isTrue(isOwnPath(path), path)
      assert.isTrue(isOwnPath(`${path}?a=b`), path)
    }
  })

  it("are no others", () => {
    for (const path of ["/", "", "/v4", "/v40/x", "/orders?next=/v4/", "/metrics/x", "/.well-known/other"]) {
      assert.isFalse(isOwnPath(path), path)
    }
  })
})
