import { StoreError, TokenStore } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References, Tracer } from "effect"
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

/** Keeps everything that is logged or traced, however unimportant. */
const recorder = () => {
  const lines: Array<string> = []
  const spans: Array<Tracer.NativeSpan> = []
  const around = Layer.mergeAll(
    Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))]),
    Layer.succeed(References.MinimumLogLevel, "All"),
    Layer.succeed(
      Tracer.Tracer,
      Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
    )
  )
  const traced = () => spans.map(({ name, attributes, status }) => inspect([name, attributes, status], { depth: 8 }))
  return { around, lines, traced }
}

describe("logs and traces", () => {
  it("have no secret, code, token, password or query in them", async () => {
    const { around, lines, traced } = recorder()
    const server = await startServer({ around })
    const password = "hunter2-typed-wrongly"
    try {
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
    } finally {
      await server.stop()
    }
  })

  it("say what went wrong inside, without what the client sent", async () => {
    const { around, lines } = recorder()
    const fail = () => new StoreError({ operation: "TokenStore.findCode", cause: new Error("disk on fire") })
    const server = await startServer({ around, store: Layer.mock(TokenStore, { findCode: fail }) })
    try {
      await post(`${server.url}/oauth/token`, multipart(exchangeOf("the-code-itself")))
      assert.include(lines.join("\n"), "disk on fire")
      assert.notMatch(lines.join("\n"), new RegExp(`the-code-itself|${secretOfC1}`))
    } finally {
      await server.stop()
    }
  })
})
