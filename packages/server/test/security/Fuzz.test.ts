/**
 * Random requests to every address, with and without a token: whatever comes, the answer is bounded, has the shape of
 * its surface, and shows nothing of the inside.
 *
 * `DOORHOOK_FUZZ_RUNS` sets how many requests each test sends, `DOORHOOK_FUZZ_SEED` repeats a run.
 */
import { assert, describe, it } from "@effect/vitest"
import { Config, Effect, Option } from "effect"
import { HttpServer } from "effect/http"
import * as fc from "fast-check"
import { METHODS } from "node:http"
import { Browser, exchangeOf, formOf, obtainCode, redirectUri, secretOfC1, startServer } from "../oauth/OAuthServer.ts"
import { call, document, operatorKey, testServer } from "../TestServer.ts"
import { send } from "./RawHttp.ts"
import type { RawRequest } from "./RawHttp.ts"
import { addresses, problemsOf } from "./Surface.ts"
import type { Address } from "./Surface.ts"

const settings = Effect.runSync(
  Effect.all({
    runs: Config.Int("DOORHOOK_FUZZ_RUNS").pipe(Config.withDefault(3_000)),
    seed: Config.option(Config.Int("DOORHOOK_FUZZ_SEED"))
  })
)

const parameters = (share: number) => ({
  numRuns: Math.ceil(settings.runs * share),
  interruptAfterTimeLimit: 300_000,
  ...(Option.isSome(settings.seed) && { seed: settings.seed.value })
})

/** Texts that programs trip over. */
const nasty = fc.constantFrom(
  "",
  "0",
  "-1",
  "1e3",
  "999999999999999999999999999999",
  "__proto__",
  "constructor",
  "toString",
  "../..",
  "%",
  "%00",
  "\u0000",
  "\r\nset-cookie: x=1",
  "' OR 1=1 --",
  "<script>alert(1)</script>",
  "${7*7}",
  "{{7*7}}",
  "\u202e",
  "😀",
  "x".repeat(2_000)
)
const word = fc.oneof(nasty, fc.string({ maxLength: 20 }), fc.string({ unit: "binary", maxLength: 10 }))

/** A pair that can be encoded. */
const wellFormed = ([name, value]: readonly [string, string]): [string, string] => [
  name.toWellFormed(),
  value.toWellFormed()
]

/** A part of a path, mostly encoded as it should be. */
const segment = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("1", "2", "101", "999", "dlv_1", "evt_1") },
  { weight: 3, arbitrary: word.map((text) => encodeURIComponent(text.toWellFormed())) },
  { weight: 1, arbitrary: fc.constantFrom("%", "%zz", "%2F", "%2e%2e", "%ff", "%00", ";x=1", "..", "1/", "%31", "*") }
)

const target = (known: ReadonlyArray<Address>, names: ReadonlyArray<string>) =>
  fc
    .tuple(
      fc.constantFrom(...known),
      fc.array(segment, { minLength: 2, maxLength: 2 }),
      fc.option(
        fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names), word), word), { maxLength: 6 }).map((pairs) => {
          const query = new URLSearchParams(pairs.map(wellFormed))
          return query.toString()
        }),
        { nil: "" }
      ),
      fc.constantFrom("", "", "", "/", "//", "%20")
    )
    .map(([address, segments, query, tail]) => {
      const rest = [...segments]
      const path = address.path.replaceAll(/\{\w+\}/g, () => rest.shift() ?? "1")
      return { address, target: `${path}${tail}${query === "" ? "" : `?${query}`}` }
    })

/** Header values that HTTP can carry. */
const headerValue = fc
  .oneof(word, fc.string({ maxLength: 200 }))
  .map((text) => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, ""))

const mediaType = fc.constantFrom(
  "application/json",
  "application/vnd.api+json",
  "application/vnd.api+json; ext=x",
  "application/json; charset=utf-16",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=b",
  "multipart/form-data",
  "text/plain",
  "text/html",
  "*/*",
  "application/*;q=0",
  ";;;",
  "application/json, application/json"
)

const authorization = (tokens: ReadonlyArray<string>) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...tokens.map((token) => `Bearer ${token}`)) },
    { weight: 1, arbitrary: fc.constantFrom("Bearer", "bearer  ", "Basic", "Basic !!", "Basic Og==", "Digest x") },
    { weight: 1, arbitrary: headerValue }
  )

const headers = (tokens: ReadonlyArray<string>) =>
  fc.record(
    {
      authorization: authorization(tokens),
      accept: fc.oneof(mediaType, headerValue),
      "content-type": fc.oneof({ weight: 6, arbitrary: mediaType }, { weight: 1, arbitrary: headerValue }),
      "content-encoding": fc.constantFrom("gzip", "br", "identity"),
      "if-match": fc.oneof(fc.constantFrom("*", '"1"', 'W/"1"', '"', ",,,"), headerValue),
      "idempotency-key": fc.oneof(fc.constantFrom("a", "b"), headerValue),
      "x-request-id": headerValue,
      "x-forwarded-for": headerValue,
      cookie: fc.oneof(headerValue, fc.constant(`doorhook_login=${"x".repeat(43)}`)),
      origin: fc.constantFrom("https://evil.example", "null")
    },
    { requiredKeys: ["authorization"] }
  )

/** JSON that is a little wrong: any value somewhere in a document that is right. */
const mutated = (right: ReadonlyArray<object>) =>
  fc
    .tuple(fc.constantFrom(...right), fc.nat(), fc.jsonValue({ maxDepth: 3 }), fc.constantFrom("set", "drop", "twice"))
    .map(([value, at, other, how]) => {
      const text = JSON.stringify(value)
      const places = [...text.matchAll(/"[^"]*"(?=[,}\]])|\d+(?=[,}\]])/g)]
      const place = places[at % Math.max(1, places.length)]
      if (place === undefined) return text
      const before = text.slice(0, place.index)
      const after = text.slice(place.index + place[0].length)
      if (how === "set") return before + JSON.stringify(other) + after
      return how === "drop" ? before + after : `${before}${place[0]},"__proto__":${JSON.stringify(other)}${after}`
    })

const body = (right: ReadonlyArray<object>, fields: ReadonlyArray<readonly [string, string]>) =>
  fc.oneof(
    { weight: 5, arbitrary: mutated(right) },
    { weight: 2, arbitrary: fc.constantFrom(...right).map((value) => JSON.stringify(value)) },
    { weight: 2, arbitrary: fc.jsonValue().map((value) => JSON.stringify(value)) },
    {
      weight: fields.length > 0 ? 8 : 1,
      arbitrary: fc
        .array(fc.tuple(fc.oneof(fc.constantFrom(...fields.map(([name]) => name), "x"), word), word), { maxLength: 4 })
        .map((pairs) => new URLSearchParams([...fields, ...pairs].map(wellFormed)).toString())
    },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 300 }) },
    { weight: 1, arbitrary: fc.constant("") }
  )

// CONNECT asks for a tunnel and is answered by no route; `Directed.test.ts` has it.
const otherMethod = fc.constantFrom(...METHODS.filter((method) => method !== "CONNECT"))

interface Known {
  readonly addresses: ReadonlyArray<Address>
  readonly tokens: ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
  readonly documents: ReadonlyArray<object>
  readonly fields: ReadonlyArray<readonly [string, string]>
}

const requests = (known: Known): fc.Arbitrary<RawRequest> =>
  fc
    .tuple(
      target(known.addresses, known.names),
      fc.option(otherMethod, { freq: 8, nil: null }),
      fc.nat(),
      headers(known.tokens),
      body(known.documents, known.fields)
    )
    .map(([where, other, pick, sent, content]) => {
      const { methods } = where.address
      const method = other ?? methods[pick % methods.length] ?? "GET"
      const bodiless = /^(?:GET|HEAD|TRACE)$/.test(method)
      return { method, target: where.target, headers: sent, ...(!bodiless && { body: content }) }
    })

/** Sends requests until one is answered wrongly; the failure names the seed. */
const fuzz = (base: () => string, known: Known, share: number) =>
  fc.assert(
    fc.asyncProperty(requests(known), async (raw) => {
      const reply = await send(base(), raw)
      assert.deepStrictEqual(
        problemsOf(raw, reply),
        [],
        `${raw.method} ${raw.target} -> ${reply.status} ${JSON.stringify(reply.headers)} ${reply.text.slice(0, 500)}`
      )
    }),
    parameters(share)
  )

const event = { resource_type: "call", action: "create", building_id: 1, tenant_ids: [101], data: { id: 1 } }
const full = { data: { ...document().data, id: "1" } }

describe("random requests", () => {
  it.live("to the API and the operator API", () =>
    Effect.gen(function* () {
      const base = yield* HttpServer.addressFormattedWith(Effect.succeed)
      yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
      yield* call("POST", "/operator/events", { as: operatorKey, body: event })
      const known: Known = {
        addresses: addresses.filter(({ path }) => !path.startsWith("/oauth/")),
        tokens: ["admin", "admin", "tenant", operatorKey, operatorKey, "unknown"],
        names: ["page", "per", "page[number]", "page[size]", "after", "limit", "state", "status", "integration_id"],
        documents: [
          document(),
          full,
          { data: { type: "integrations", attributes: { status: "disabled" } } },
          event,
          [event, event],
          { since: "2026-03-02T00:00:00Z" },
          { status: "enabled", ack: "2xx", concurrency: 3, allow_targets: ["10.0.0.0/8"] }
        ],
        fields: []
      }
      yield* Effect.promise(() => fuzz(() => base, known, 2))
    }).pipe(Effect.provide(testServer()))
  )

  it("to the authorization server", async () => {
    const server = await startServer()
    try {
      const visitor = new Browser(server.url)
      assert.strictEqual((await fetch(`${server.url}/health/live`)).status, 200)
      const form = formOf((await visitor.authorize({ client_id: "c1", response_type: "code" })).text)
      const known: Known = {
        addresses: addresses.filter(({ path }) => path.startsWith("/oauth/")),
        tokens: ["x"],
        names: ["client_id", "redirect_uri", "response_type", "client_secret", "scope", "state", "code_challenge"],
        documents: [exchangeOf("x"), { ...exchangeOf("x"), grant_type: "refresh_token", refresh_token: "x" }],
        fields: Object.entries({
          ...form.fields,
          ...exchangeOf(await obtainCode(server.url)),
          client_secret: secretOfC1,
          redirect_uri: redirectUri,
          token: "x",
          login: "nobody",
          password: "x"
        })
      }
      await fuzz(() => server.url, known, 1)
    } finally {
      await server.stop()
    }
  })
})
