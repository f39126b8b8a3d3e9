import { assert, describe, it } from "@effect/vitest"
import { isOwnPath } from "../src/http/OwnPaths.ts"
import { routes, targetOf } from "./Table.ts"

const publicUrl = "https://doors.example"
const metadata = "/.well-known/oauth-authorization-server"

describe("own paths", () => {
  it("include every route", () => {
    for (const route of routes) {
      // Wildcard routes depend on the public URL.
      if (route.path.endsWith("*")) continue
      for (const path of [targetOf(route), `${targetOf(route)}?a=b`]) assert.isTrue(isOwnPath(path, publicUrl), path)
    }
  })

  it("include the metadata path of its own issuer, and of no other", () => {
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

  it("include nothing else", () => {
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
