import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { consoleFiles } from "../../src/console/ConsoleRoutes.ts"
import { call, testServer } from "../TestServer.ts"

describe("the console", () => {
  it.effect("is a page that runs its own scripts and nothing else, in no frame and no cache", () =>
    Effect.gen(function* () {
      const page = yield* call("GET", "/console")
      assert.strictEqual(page.status, 200)
      assert.strictEqual(page.headers.get("content-type"), "text/html; charset=utf-8")
      assert.strictEqual(page.headers.get("cache-control"), "no-store")
      const policy = page.headers.get("content-security-policy") ?? ""
      for (const directive of [
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'"
      ]) {
        assert.include(policy.split("; "), directive)
      }
      assert.notInclude(policy, "unsafe")
      assert.deepStrictEqual(page.text.match(/<script[^>]*>/g), ['<script type="module" src="console/main.js">'])
      assert.notMatch(page.text, / on\w+=| style=|https?:\/\//)
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("leads from its address with a slash to the one that its scripts are relative to", () =>
    Effect.gen(function* () {
      const moved = yield* call("GET", "/console/")
      assert.deepStrictEqual([moved.status, moved.headers.get("location")], [308, "../console"])
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("serves the scripts that there are, and asks browsers to ask again", () =>
    Effect.gen(function* () {
      const folder = new URL("../../src/console/static/", import.meta.url)
      const written = readdirSync(folder).filter((name) => name.endsWith(".js"))
      assert.sameMembers(written, [...consoleFiles])
      for (const name of consoleFiles) {
        const script = yield* call("GET", `/console/${name}`)
        assert.strictEqual(script.status, 200, name)
        assert.strictEqual(script.headers.get("content-type"), "text/javascript; charset=utf-8")
        assert.strictEqual(script.headers.get("cache-control"), "no-cache")
        const again = yield* call("GET", `/console/${name}`, {
          headers: { "if-none-match": script.headers.get("etag") ?? "" }
        })
        assert.deepStrictEqual([again.status, again.text], [304, ""])
      }
    }).pipe(Effect.provide(testServer()))
  )

  it.effect("serves nothing else of the folder or beside it", () =>
    Effect.gen(function* () {
      for (const name of ["tsconfig.json", "..%2fConsoleRoutes.ts", "nothing.js", "%2e%2e%2f%2e%2e%2fpackage.json"]) {
        assert.strictEqual((yield* call("GET", `/console/${name}`)).status, 404, name)
      }
      assert.strictEqual((yield* call("POST", "/console")).status, 405)
    }).pipe(Effect.provide(testServer()))
  )
})
