import { assert, describe } from "@effect/vitest"
import { call, document, onServer } from "../TestServer.ts"

const path = "/v4/buildings/1/integrations"

describe("media types", () => {
  onServer("of bodies are the two JSON types, without parameters that change their meaning", function* () {
    for (const type of [
      "application/json",
      "application/json; charset=utf-8",
      "Application/JSON",
      "application/vnd.api+json",
      'application/vnd.api+json; profile="http://example.com/p"'
    ]) {
      const reply = yield* call("POST", path, { as: "admin", body: document(), headers: { "content-type": type } })
      assert.strictEqual(reply.status, 201, type)
    }
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/vnd.api+json; charset=utf-8",
      'application/vnd.api+json; ext="http://example.com/e"',
      "application/json; charset=utf-16",
      "application/jsonp",
      "json",
      "application/json, text/plain"
    ]) {
      const reply = yield* call("POST", path, { as: "admin", body: document(), headers: { "content-type": type } })
      assert.strictEqual(reply.status, 415, type)
      assert.deepStrictEqual(reply.at("/errors/0/source"), { header: "Content-Type" })
    }
  })

  onServer("of answers are negotiated", function* () {
    const jsonApi = "application/vnd.api+json"
    const json = "application/json"
    const cases = [
      ["*/*", 200, jsonApi],
      ["application/*", 200, jsonApi],
      [jsonApi, 200, jsonApi],
      [json, 200, json],
      ["application/json, text/plain, */*", 200, json],
      ["text/html, application/xhtml+xml, */*;q=0.8", 200, jsonApi],
      [`${json};q=0.4, ${jsonApi};q=0.5`, 200, jsonApi],
      [`${json};q=0.5, ${jsonApi};q=0.4`, 200, json],
      [`${jsonApi}; x=1, ${jsonApi}`, 200, jsonApi],
      [`${jsonApi}; profile="http://example.com/p"`, 200, jsonApi],
      [`${jsonApi}; x=1`, 406, jsonApi],
      [`${jsonApi}; x=1, ${json}`, 406, jsonApi],
      [`${jsonApi}; ext="http://example.com/e"`, 406, jsonApi],
      ["text/html", 406, jsonApi],
      ["*/*;q=0", 406, jsonApi]
    ] as const
    for (const [accept, status, contentType] of cases) {
      const reply = yield* call("GET", path, { as: "admin", headers: { accept } })
      assert.strictEqual(reply.status, status, accept)
      assert.strictEqual(reply.headers.get("content-type"), contentType, accept)
      assert.strictEqual(reply.headers.get("vary"), "Accept", accept)
    }
    const refused = yield* call("GET", "/v4/buildings/9/integrations", { as: "admin", headers: { accept: json } })
    assert.strictEqual(refused.status, 404)
    assert.strictEqual(refused.headers.get("content-type"), json)
  })
})
