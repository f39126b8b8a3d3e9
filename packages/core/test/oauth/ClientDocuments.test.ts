/**
 * Documents of unregistered clients with any content: each is refused with a reason, or opens only redirect URIs of its own
 * origin and of the user's machine. `DOORHOOK_FUZZ_RUNS` sets the number of documents.
 */
import { AuthorizationServer, AuthorizationSettings, clientDocumentsLayer, Parameters, Transport } from "@doorhook/core"
import type { TransportResult } from "@doorhook/core"
import { assert, describe, it } from "@effect/vitest"
import { Config, Effect, Layer } from "effect"
import * as fc from "fast-check"
import { testLayer } from "./fixtures.ts"

const runs = Effect.runSync(Config.Int("DOORHOOK_FUZZ_RUNS").pipe(Config.withDefault(300)))

const id = "https://app.example/client.json"
const issuer = "https://doors.example"
const own = "https://app.example/cb"
const foreign = "https://evil.example/cb"
const loopback = "http://127.0.0.1/cb"

const right = { client_id: id, client_name: "App", redirect_uris: [own, loopback] }

const uri = fc.oneof(
  fc.constantFrom(
    own,
    foreign,
    loopback,
    "http://localhost/cb",
    "javascript:alert(1)",
    "//app.example",
    "https://app.example.evil.example/cb"
  ),
  fc.webUrl(),
  fc.string()
)

/** Mostly a value that is right, so that some documents are right in all members but one. */
const mostly = (right: fc.Arbitrary<unknown>, wrong: fc.Arbitrary<unknown> = fc.jsonValue()): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: wrong })

const strangeName = fc.oneof(
  fc.string({ unit: "binary", maxLength: 120 }),
  fc.constantFrom("<script>alert(1)</script>", "\u202eppA", "a\r\nb", "x".repeat(5_000))
)

const document = fc
  .record({
    client_id: mostly(fc.constant(id)),
    client_name: mostly(fc.constantFrom("App", "<script>alert(1)</script>"), strangeName),
    redirect_uris: mostly(fc.array(uri, { maxLength: 60 })),
    others: mostly(
      fc.constantFrom({}, { token_endpoint_auth_method: "none" }),
      fc.record(
        {
          token_endpoint_auth_method: fc.jsonValue(),
          client_secret: fc.jsonValue(),
          jwks: fc.jsonValue(),
          ["__proto__"]: fc.jsonValue()
        },
        { requiredKeys: [] }
      )
    )
  })
  .map(({ others, ...members }) => JSON.stringify({ ...members, ...Object(others) }))

const text = fc.oneof(
  { weight: 6, arbitrary: document },
  { weight: 2, arbitrary: fc.constant(JSON.stringify(right)) },
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.string({ unit: "binary", maxLength: 6_000 }),
  fc.constantFrom("", "[", `\ufeff${JSON.stringify(right)}`, "[".repeat(5_000), `{"client_id":${"9".repeat(400)}}`)
)

const headers = fc.dictionary(
  fc.constantFrom("cache-control", "age", "date", "expires", "content-type", "location"),
  fc.oneof(
    fc.string(),
    fc.array(fc.string(), { maxLength: 3 }),
    fc.constantFrom(
      "max-age=99999999999999999999",
      "max-age=-1",
      "s-maxage=60, no-store",
      "Mon, 02 Mar 2026 10:00:00 GMT"
    )
  )
)

/** What the client's site answers. */
const answer: fc.Arbitrary<TransportResult> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({
        status: fc.oneof(
          { weight: 8, arbitrary: fc.constant(200) },
          fc.constantFrom(204, 206, 301, 302, 304, 404, 500, 999)
        ),
        excerpt: text,
        elapsed: fc.oneof({ weight: 8, arbitrary: fc.constant(5) }, fc.constantFrom(2_999, 3_000, 60_000)),
        headers
      })
      .map((made) => ({ _tag: "Answered", retry_after: null, headers_elapsed: 1, ...made }) as const)
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("timeout", "blocked_address", "connection_refused", "dns", "tls", "invalid_response")
      .map((outcome) => ({ _tag: "Failed", outcome, detail: "secret of the network", elapsed: 5 }) as const)
  }
)

/** Asks for the authorize step of the client whose site gives an answer. */
const check = (answered: TransportResult, redirect_uri: string) => {
  const site = Layer.effect(
    Transport,
    Transport.fromPost(() => Effect.succeed(answered))
  )
  const settings = { clientIdMetadata: "any" } as const
  const documents = clientDocumentsLayer([]).pipe(Layer.provide([site, AuthorizationSettings.layer(settings)]))
  const pairs = Object.entries({
    client_id: id,
    redirect_uri,
    response_type: "code",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256"
  })
  return Effect.gen(function* () {
    const server = yield* AuthorizationServer
    return yield* server.checkAuthorize(Parameters.fromPairs(pairs), { address: "192.0.2.1", issuer })
  }).pipe(Effect.provide(Layer.provide(testLayer(settings), documents)), Effect.exit, Effect.runPromise)
}

describe("a document with random content, from a site that answers anything", () => {
  it("is refused with a reason, or opens only redirect URIs of its own origin and the user's machine", async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        answer,
        fc.constantFrom(foreign, foreign, own, "http://127.0.0.1:49152/cb"),
        async (answered, asked) => {
          const exit = await check(answered, asked)
          if (exit._tag === "Failure") return assert.fail(`it failed: ${JSON.stringify(exit)}`)
          const { value } = exit
          seen.add(value._tag)
          if (value._tag !== "Valid") {
            assert.notInclude(JSON.stringify(value), "secret of the network")
            return
          }
          assert.notStrictEqual(asked, foreign)
          assert.deepInclude<object>(answered, { _tag: "Answered", status: 200 })
          assert.strictEqual(value.request.client.id, id)
        }
      ),
      { numRuns: runs }
    )
    assert.includeMembers([...seen], ["Valid"])
    assert.isAbove(seen.size, 1)
  })
})
