/**
 * Random requests to every address, with and without a token. Every answer must be bounded, have the format of its surface,
 * and reveal nothing internal.
 *
 * `DOORHOOK_FUZZ_RUNS` sets the number of requests per test, which is higher in `npm run test:long`.
 * `DOORHOOK_FUZZ_SEED` repeats a run, and `DOORHOOK_FUZZ_PATHS` is a regular expression for the paths to ask.
 */
import { assert, describe, it } from "@effect/vitest"
import { Config, Effect, Option } from "effect"
import * as fc from "fast-check"
import { METHODS } from "node:http"
import {
  admin,
  Browser,
  exchangeOf,
  formOf,
  obtainCode,
  redirectUri,
  secretOfC1,
  startServer
} from "../oauth/OAuthServer.ts"
import { address, call, document, operatorKey, testServer } from "../TestServer.ts"
import { ownerSignedIn, tokenIn } from "../ui/Browser.ts"
import { send } from "./RawHttp.ts"
import type { RawRequest } from "./RawHttp.ts"
import { addresses, problemsOf } from "./Surface.ts"
import type { Address } from "./Surface.ts"

const settings = Effect.runSync(
  Effect.all({
    runs: Config.Int("DOORHOOK_FUZZ_RUNS").pipe(Config.withDefault(300)),
    seed: Config.option(Config.Int("DOORHOOK_FUZZ_SEED")),
    paths: Config.String("DOORHOOK_FUZZ_PATHS").pipe(Config.withDefault(""))
  })
)

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/** Time limit of a test, in milliseconds. A busy machine needs many times as long as an idle one. */
const patience = Math.max(300_000, settings.runs * 100)

const isAsked = ({ path }: Address): boolean => new RegExp(settings.paths).test(path)

const parameters = (share: number) => ({
  numRuns: Math.ceil(settings.runs * share),
  ...(Option.isSome(settings.seed) && { seed: settings.seed.value })
})

/** Generates a value with probability 1/`of`, otherwise null. */
const sometimes = <A>(of: number, arbitrary: fc.Arbitrary<A>): fc.Arbitrary<A | null> =>
  fc.oneof({ weight: of - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })

/** Strings that often break programs. */
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

/** Values of parameters, some of which are valid. */
const parameter = fc.oneof(
  { weight: 4, arbitrary: word },
  {
    weight: 1,
    arbitrary: fc.constantFrom("0", "1", "call", "access_log", "2026-03-02T00:00:00Z", "2999-01-01T00:00:00Z", "admin")
  }
)

/** Replaces lone surrogates in a name and its value, because they can't be encoded. */
const wellFormed = ([name, value]: readonly [string, string]): [string, string] => [
  name.toWellFormed(),
  value.toWellFormed()
]

/** A path segment, in most cases correctly encoded. */
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
        fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names), word), parameter), { maxLength: 6 }).map((pairs) => {
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

/** Header values that are valid in HTTP. */
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
  "text/event-stream",
  "text/event-stream, application/json;q=0.1",
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
      "last-event-id": headerValue,
      origin: fc.constantFrom("https://evil.example", "null")
    },
    { requiredKeys: ["authorization"] }
  )

/** A valid document with a random value in one place. */
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

type Pairs = ReadonlyArray<readonly [string, string]>

const json = "application/json"
const form = "application/x-www-form-urlencoded"

/** A valid form, or one with additional fields. */
const formBody = (fields: Pairs) =>
  fc
    .array(fc.tuple(fc.oneof(fc.constantFrom(...fields.map(([name]) => name), "x"), word), word), { maxLength: 3 })
    .map((pairs) => new URLSearchParams([...fields, ...pairs].map(wellFormed)).toString())

/** A form with one wrong or missing field. */
const mutatedForm = (fields: Pairs) =>
  fc.tuple(fc.nat(), fc.option(word)).map(([at, value]) => {
    const index = at % Math.max(1, fields.length)
    const changed = fields.flatMap(([name, old], each) =>
      each === index ? (value === null ? [] : [wellFormed([name, value])]) : [wellFormed([name, old])]
    )
    return new URLSearchParams(changed).toString()
  })

/** A body and its media type. */
const body = (right: ReadonlyArray<object>, fields: Pairs) => {
  const inJson = fc.oneof(
    { weight: 5, arbitrary: mutated(right) },
    { weight: 2, arbitrary: fc.constantFrom(...right).map((value) => JSON.stringify(value)) },
    { weight: 2, arbitrary: fc.jsonValue().map((value) => JSON.stringify(value)) }
  )
  const inForm = fc.oneof(formBody(fields), mutatedForm(fields))
  const other = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.constant("")
  )
  return fc.oneof(
    { weight: 9, arbitrary: inJson.map((content) => ({ type: json, content })) },
    { weight: fields.length > 0 ? 12 : 1, arbitrary: inForm.map((content) => ({ type: form, content })) },
    { weight: 2, arbitrary: fc.record({ type: fc.constantFrom(json, form), content: other }) }
  )
}

// Excludes CONNECT, which requests a tunnel and has no route. `HostileRequests.test.ts` tests it.
const otherMethod = fc.constantFrom(...METHODS.filter((method) => method !== "CONNECT"))

interface Known {
  readonly addresses: ReadonlyArray<Address>
  /** The target for an address, with the ids of existing items. */
  readonly targetOf: (address: Address) => string
  /** Valid credentials for an address. */
  readonly headersOf: (address: Address) => Readonly<Record<string, string>>
  readonly tokens: ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
  /** Valid documents for a path; for all paths if the path is empty. */
  readonly documentsOf: (path: string) => ReadonlyArray<object>
  readonly fields: Pairs
}

/** Requests with any number of mistakes. */
const wild = (known: Known): fc.Arbitrary<RawRequest> =>
  fc
    .tuple(
      target(known.addresses, known.names),
      sometimes(8, otherMethod),
      fc.nat(),
      headers(known.tokens),
      body(known.documentsOf(""), known.fields)
    )
    .map(([where, other, pick, sent, { content }]) => {
      const { methods } = where.address
      const method = other ?? methods[pick % methods.length] ?? "GET"
      const bodiless = /^(?:GET|HEAD|TRACE)$/.test(method)
      return { method, target: where.target, headers: sent, ...(!bodiless && { body: content }) }
    })

/** Authorized requests with few mistakes, which get past the first checks. */
const close = (known: Known): fc.Arbitrary<RawRequest> => {
  const strangeTarget = sometimes(6, target(known.addresses, known.names))
  const strangeHeaders = sometimes(6, headers(known.tokens))
  // Every method of every address has equal weight, because writes can fail in more ways than reads.
  const each = known.addresses.flatMap((address) => {
    const content = body(known.documentsOf(address.path), known.fields)
    return address.methods.map((method) =>
      fc.tuple(fc.constant(address), fc.constant(method), strangeTarget, strangeHeaders, content)
    )
  })
  return fc.oneof(...each).map(([address, method, elsewhere, others, { content, type }]) => {
    const query = elsewhere?.target.split("?")[1]
    const { authorization: _, ...strange } = others ?? {}
    return {
      method,
      target: known.targetOf(address) + (query === undefined ? "" : `?${query}`),
      headers: { "content-type": type, ...known.headersOf(address), ...strange },
      ...(method !== "GET" && { body: content })
    }
  })
}

/** Sends requests and returns the statuses that occurred. Fails at the first wrong answer, and names the seed. */
const fuzz = async (base: string, known: Known, share: number): Promise<ReadonlySet<number>> => {
  const statuses = new Set<number>()
  await fc.assert(
    fc.asyncProperty(fc.oneof(wild(known), close(known)), async (raw) => {
      const reply = await send(base, raw)
      statuses.add(reply.status)
      assert.deepStrictEqual(
        problemsOf(raw, reply),
        [],
        `${raw.method} ${raw.target} -> ${reply.status} ${JSON.stringify(reply.headers)} ${reply.text.slice(0, 500)}`
      )
    }),
    parameters(share)
  )
  return statuses
}

const event = { resource_type: "call", action: "create", building_id: 1, tenant_ids: [101], data: { id: 1 } }
const full = { data: { ...document().data, id: "1" } }

/** Valid request bodies, by a part of the path. */
const documents: Readonly<Record<string, ReadonlyArray<object>>> = {
  "/v4/": [document(), full, { data: { type: "integrations", attributes: { status: "disabled" } } }],
  "/operator/events": [event, [event, event]],
  "/recover": [{ since: "2026-03-02T00:00:00Z" }],
  "/operator/integrations": [{ status: "enabled", ack: "2xx", concurrency: 3, allow_targets: ["10.0.0.0/8"] }],
  "": [{}]
}

/** Addresses at which valid requests store something. */
const writable: ReadonlyArray<string> = ["/operator/events", "/v4/buildings/{building_id}/integrations"]

describe("random requests", () => {
  it.live(
    "to the API and the operator API get regular answers that reveal nothing internal",
    () =>
      Effect.gen(function* () {
        const base = yield* address
        yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
        yield* call("POST", "/operator/events", { as: operatorKey, body: event })
        const known: Known = {
          // Often the two that store something, so that some of their requests succeed.
          addresses: addresses
            .filter((each) => !each.path.startsWith("/oauth/") && isAsked(each))
            .flatMap((each) => Array<Address>(writable.includes(each.path) ? 6 : 1).fill(each)),
          targetOf: ({ path }) =>
            path
              .replace("{tenant_id}", "101")
              .replace(/\{\w*id\}/g, path.startsWith("/operator/deliveries") ? "dlv_1" : "1"),
          headersOf: ({ path }) => {
            const owner = path.startsWith("/v4/tenants") ? "tenant" : "admin"
            return { authorization: `Bearer ${path.startsWith("/operator/") ? operatorKey : owner}` }
          },
          tokens: ["admin", "admin", "tenant", operatorKey, operatorKey, "unknown"],
          names: [
            "page",
            "per",
            "page[number]",
            "page[size]",
            "after",
            "limit",
            "state",
            "status",
            "integration_id",
            "since",
            "wait",
            "resource_type",
            "resource_type[]",
            "user_id"
          ],
          documentsOf: (path) =>
            Object.entries(documents).flatMap(([part, each]) => (path === "" || path.includes(part) ? each : [])),
          fields: []
        }
        const statuses = yield* Effect.promise(() => fuzz(base, known, 2))
        if (settings.paths !== "") return
        // Shows that some requests passed authentication and succeeded.
        assert.includeMembers([...statuses], [200, 400, 401, 404, 405, 415, 422])
        assert.isTrue(statuses.has(201) || statuses.has(202))
      }).pipe(Effect.provide(testServer())),
    patience
  )

  it.live(
    "to the pages of a user who is logged in get regular answers that reveal nothing internal",
    () =>
      Effect.gen(function* () {
        const base = yield* address
        yield* call("POST", "/v4/buildings/1/integrations", { as: "admin", body: document() })
        const { browser, page } = yield* ownerSignedIn("admin")
        const cookie = [...browser.cookies].map((pair) => pair.join("=")).join("; ")
        const known: Known = {
          // Without the form that ends the session, and the one that waits for a delivery.
          addresses: addresses.filter(
            (each) => each.path.startsWith("/portal") && !/\/(?:sign-out|test)$/.test(each.path) && isAsked(each)
          ),
          targetOf: ({ path }) => path.replaceAll(/\{\w+\}/g, "1"),
          headersOf: () => ({ cookie }),
          tokens: ["x"],
          names: ["done", "user_id", "client_id", "resource_type", "state", "after", "page", "query"],
          documentsOf: () => [{}],
          fields: Object.entries({
            csrf_token: tokenIn(page),
            client_id: "c1",
            user_id: "other",
            name: "x",
            version: "1"
          })
        }
        if (known.addresses.length === 0) return
        const statuses = yield* Effect.promise(() => fuzz(base, known, 1))
        if (settings.paths === "") assert.includeMembers([...statuses], [200, 303, 404])
      }).pipe(Effect.provide(testServer())),
    patience
  )

  it(
    "to the authorization server get regular answers that reveal nothing internal",
    async () => {
      const resource = "https://api.example/doors"
      const server = await startServer({ settings: { resources: { [resource]: {} } } })
      const visitor = new Browser(server.url)
      const page = formOf((await visitor.authorize({ client_id: "c1", response_type: "code" })).text)
      const known: Known = {
        addresses: addresses.filter((each) => /^\/(?:oauth|\.well-known)\//.test(each.path) && isAsked(each)),
        targetOf: ({ path }) => path,
        headersOf: () => ({ cookie: [...visitor.cookies].map((pair) => pair.join("=")).join("; ") }),
        tokens: ["x"],
        names: [
          "client_id",
          "redirect_uri",
          "response_type",
          "client_secret",
          "scope",
          "resource",
          "state",
          "code_challenge"
        ],
        documentsOf: () => [
          exchangeOf("x"),
          { ...exchangeOf("x"), grant_type: "refresh_token", refresh_token: "x" },
          { ...exchangeOf("x"), grant_type: "client_credentials", resource: [resource] },
          { client_assertion: "e30.e30.AA", client_assertion_type: assertionType, grant_type: "client_credentials" }
        ],
        fields: Object.entries({
          ...page.fields,
          resource,
          ...exchangeOf(await obtainCode(server.url)),
          client_secret: secretOfC1,
          redirect_uri: redirectUri,
          token: "x",
          ...admin
        })
      }
      if (known.addresses.length === 0) return
      const statuses = await fuzz(server.url, known, 1)
      const expected = settings.paths === "" ? [200, 303, 400, 401, 403, 405, 415] : []
      assert.includeMembers([...statuses], expected)
    },
    patience
  )
})
