import { PublicUrl } from "../src/http/PublicUrl.ts"
import { HttpSurface } from "../src/http/HttpSurface.ts"
import { surface } from "../src/Server.ts"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { document, services, valueAt } from "./TestServer.ts"

const handler = Effect.gen(function* () {
  const needed = Layer.merge(services(), PublicUrl.layer("https://doors.example/base/").pipe(Layer.orDie))
  const { fetch } = Context.get(yield* Layer.build(surface.pipe(Layer.provide(needed))), HttpSurface)
  return { fetch: (request: Request) => fetch(request, null) }
})

const url = "https://inside.example/v4/buildings/1/integrations"
const headers = { authorization: "Bearer admin", "content-type": "application/json" }

it.effect("web requests are answered without a server, and links start with the public URL", () =>
  Effect.gen(function* () {
    const { fetch } = yield* handler
    const created = yield* Effect.promise(() =>
      fetch(new Request(url, { method: "POST", headers, body: JSON.stringify(document()) }))
    )
    assert.strictEqual(created.status, 201)
    assert.match(created.headers.get("x-request-id") ?? "", /^req_/)
    const body: unknown = yield* Effect.promise(() => created.json())
    assert.strictEqual(
      valueAt(body, "/data/links/self"),
      `https://doors.example/base/v4/buildings/1/integrations/${String(valueAt(body, "/data/id"))}`
    )
    const list: unknown = yield* Effect.promise(async () => (await fetch(new Request(url, { headers }))).json())
    assert.strictEqual(valueAt(list, "/meta/page_info/total_item_count"), 1)
  })
)

it.effect("metrics refuse web requests without a peer address", () =>
  Effect.gen(function* () {
    const { fetch } = yield* handler
    const reply = yield* Effect.promise(() => fetch(new Request("http://localhost/metrics")))
    assert.strictEqual(reply.status, 403)
    assert.include(yield* Effect.promise(() => reply.text()), "This request comes from elsewhere.")
  })
)

it.effect("a streamed body is limited, and an aborted one gets 400", () =>
  Effect.gen(function* () {
    const { fetch } = yield* handler
    const post = (body: ReadableStream<Uint8Array>) =>
      Effect.promise(() => fetch(new Request(url, { method: "POST", headers, body, duplex: "half" })))
    const kilobyte = new Uint8Array(1_024).fill(32)
    const endless = yield* post(new ReadableStream({ pull: (controller) => controller.enqueue(kilobyte) }))
    assert.strictEqual(endless.status, 413)
    const broken = yield* post(new ReadableStream({ pull: (controller) => controller.error(new Error("gone")) }))
    assert.strictEqual(broken.status, 400)
  })
)

it.effect("web requests with two Authorization headers are refused, in the format of their endpoint", () =>
  Effect.gen(function* () {
    const { fetch } = yield* handler
    const ask = (target: string, values: ReadonlyArray<string>) =>
      Effect.promise(async () => {
        const headers = new Headers()
        for (const value of values) headers.append("authorization", value)
        const reply = await fetch(new Request(new URL(target, url), { headers }))
        return { status: reply.status, body: await reply.json() }
      })
    const api = yield* ask("/v4/buildings", ["Bearer admin", "Bearer x"])
    assert.deepStrictEqual([api.status, valueAt(api.body, "/errors/0/code")], [400, "invalid_request"])
    assert.strictEqual(valueAt(api.body, "/errors/0/source/header"), "Authorization")
    const oauth = yield* ask("/oauth/token", ["Digest x=1", "Basic eDp5"])
    assert.deepStrictEqual([oauth.status, valueAt(oauth.body, "/error")], [400, "invalid_request"])
    // A comma between the parameters of one header does not make the service see two headers.
    assert.strictEqual((yield* ask("/v4/buildings", ['Digest a="b", c=d'])).status, 401)
    assert.strictEqual((yield* ask("/v4/buildings", ["Bearer admin"])).status, 200)
  })
)

it.effect("web requests of a disconnected client are not carried out", () =>
  Effect.gen(function* () {
    const { fetch } = yield* handler
    const gone = new Request(url, {
      method: "POST",
      headers,
      body: JSON.stringify(document()),
      signal: AbortSignal.abort(new Error("gone"))
    })
    const outcome = yield* Effect.promise(() =>
      fetch(gone).then(
        ({ status }) => String(status),
        (error: unknown) => String(error)
      )
    )
    assert.strictEqual(outcome, "Error: gone")
    const list: unknown = yield* Effect.promise(async () => (await fetch(new Request(url, { headers }))).json())
    assert.strictEqual(valueAt(list, "/meta/page_info/total_item_count"), 0)
  })
)
