import { assert, describe, it } from "@effect/vitest"
import { isOwnPath, resourceMetadataUrl } from "../src/http/OwnPaths.ts"
import { routes, targetOf } from "./Table.ts"

const publicUrl = "https://doors.example"
const metadata = "/.well-known/oauth-authorization-server"
const resource = "/.well-known/oauth-protected-resource"

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

  it("include the metadata path of its own API, and of no other resource", () => {
    const isOwn = (path: string) => isOwnPath(path, `${publicUrl}/doors`)
    assert.strictEqual(resourceMetadataUrl(`${publicUrl}/doors`, "/v4"), `${publicUrl}${resource}/doors/v4`)
    assert.deepStrictEqual(
      [
        `${resource}/doors/v4`,
        `${resource}/doors/v4?x=1`,
        `${resource}/v4`,
        `${resource}/doors/v4/`,
        resource,
        `${resource}/doors`,
        `${resource}/others/v4`,
        `${resource}/doors/v4/buildings`
      ].map(isOwn),
      [true, true, true, true, false, false, false, false]
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
