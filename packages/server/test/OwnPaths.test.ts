import { assert, describe, it } from "@effect/vitest"
import { isOwnPath } from "../src/http/OwnPaths.ts"
import { routes, targetOf } from "./Table.ts"

const publicUrl = "https://doors.example"
const metadata = "/.well-known/oauth-authorization-server"

describe("own paths", () => {
  it("are all that are served", () => {
    for (const route of routes) {
      // Whose metadata may be below it, its public URL says.
      if (route.path.endsWith("*")) continue
      for (const path of [targetOf(route), `${targetOf(route)}?a=b`]) assert.isTrue(isOwnPath(path, publicUrl), path)
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
