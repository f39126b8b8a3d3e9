import { StoreError, TokenStore } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { keptSpans } from "@doorhook/testkit/KeptSpans"
import { Effect, Layer, Logger, References } from "effect"
import { inspect } from "node:util"
import {
  admin,
  authorizeC1,
  Browser,
  exchangeOf,
  formOf,
  multipart,
  post,
  secretOfC1,
  startServer,
  withQuery
} from "./OAuthServer.ts"

/** Collects all logs and traces at every level. */
const recorder = () => {
  const lines: Array<string> = []
  const { layer: tracer, spans } = keptSpans()
  const around = Layer.mergeAll(
    Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))]),
    Layer.succeed(References.MinimumLogLevel, "All"),
    tracer
  )
  const traced = () => spans.map(({ name, attributes, status }) => inspect([name, attributes, status], { depth: 8 }))
  return { around, lines, traced }
}

/** A store in which looking up a code fails with an unknown outcome. */
const losing = Layer.mock(TokenStore, {
  findCode: () => new StoreError({ operation: "TokenStore.findCode", cause: new Error("gone"), outcome: "unknown" })
})

describe("logs and traces", () => {
  it("contain no header of any request, even of failed ones", async () => {
    const { around, lines, traced } = recorder()
    const server = await startServer({ around, store: losing })
    const bearer = "dh_at_secret-bearer"
    const basic = btoa(`c1:${secretOfC1}`)
    const targets = [
      "/v4/buildings",
      "/v4/nothing",
      "/nothing",
      "/operator/clients",
      "/oauth/token",
      "/oauth/authorize"
    ]
    for (const target of [...targets, ...targets.map((path) => `${path}?access_token=query-secret`)]) {
      for (const authorization of [`Bearer ${bearer}`, `Basic ${basic}`]) {
        const headers = { authorization, cookie: "host_session=cookie-secret" }
        await fetch(server.url + target, { headers })
        await fetch(server.url + target, { method: "POST", headers, body: multipart(exchangeOf("the-code")) })
      }
    }
    const secrets = [bearer, basic, secretOfC1, "cookie-secret", "query-secret", "the-code"]
    const kept = [...lines, ...traced()].join("\n")
    assert.include(kept, "TokenStore.findCode")
    for (const secret of secrets) assert.notInclude(kept, secret)
    assert.deepStrictEqual(
      traced().filter((span) => /http/i.test(span)),
      []
    )
  })

  it("contain no secret, code, token, password or query", async () => {
    const { around, lines, traced } = recorder()
    const server = await startServer({ around })
    const password = "hunter2-typed-wrongly"
    const visitor = new Browser(server.url)
    const secret = { ...authorizeC1, client_secret: secretOfC1, state: "state-of-the-client" }
    const clean = await visitor.authorize(secret)
    await visitor.authorize({ ...secret, redirect_uri: "https://evil.example/" })
    const page = await visitor.request(clean.headers.get("location") ?? "")
    await visitor.submit(formOf(page.text), { ...admin, password })
    const done = await visitor.submit(formOf(page.text), admin)
    const code = new URL(done.headers.get("location") ?? "").searchParams.get("code") ?? ""
    const exchange = exchangeOf(code)
    const issued = await post(`${server.url}/oauth/token`, multipart(exchange))
    await post(withQuery(`${server.url}/oauth/token`, exchange), multipart({ grant_type: "authorization_code" }))
    await server.run(Effect.log("probe of the log").pipe(Effect.withSpan("probe of the trace")))

    const kept = [...lines, ...traced()].join("\n")
    assert.include(kept, "probe of the log")
    assert.include(kept, "probe of the trace")
    const tokens = [issued.textAt("access_token"), issued.textAt("refresh_token")]
    for (const text of [secretOfC1, secret.state, password, admin.password, code, ...tokens, "client_id="]) {
      assert.isNotEmpty(text)
      assert.notInclude(kept, text)
    }
  })
})
