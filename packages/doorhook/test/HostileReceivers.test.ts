/**
 * The whole engine among receivers that misbehave: each delivery tells how it went, and who is well is served at once.
 */
import { assert, describe, it } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import type { DeliveryDetail, Doorhook, HostDirectory } from "doorhook"
import { maxExcerptLength } from "@doorhook/core"
import { Effect, Schedule, Schema } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import { onHttp, onHttps } from "@doorhook/testkit/hostile/Catalogue"
import { makeAuthority } from "@doorhook/testkit/hostile/Certificates"
import { answers, ok, serve } from "@doorhook/testkit/hostile/RawReceiver"
import { callApi, integrationDocument, logIn } from "./harness/ThirdParty.ts"

const redirectUri = "https://client.example/cb"

const directory: HostDirectory = {
  client: (id) => (id === "c1" ? { id, name: "Acme", secret: "s1", redirect_uris: [redirectUri] } : null),
  authenticate: async (login) => ({ id: login }),
  administers: () => true,
  isTenant: () => false
}

/** One of each kind of misbehaviour. */
const chosen = [
  "neverAnswers",
  "neverReads",
  "dripsHeaders",
  "dripsBody",
  "endlessHeaders",
  "endlessBody",
  "endlessInterim",
  "sendsGzipBomb",
  "sendsInvalidUtf8",
  "resetsOnConnect",
  "resetsInHeaders",
  "endsWithoutAnswer",
  "greetsAsSsh",
  "hasTwoLengths",
  "isSelfSigned",
  "speaksPlainHttp",
  "stopsInHandshake"
]

const authority = makeAuthority()
const hostile = [...onHttp, ...onHttps(authority)].filter(({ name }) => chosen.includes(name))

const startDoorhook = Effect.acquireRelease(
  Effect.promise(() =>
    createDoorhook({
      database: "memory",
      directory,
      allowTargets: ["127.0.0.0/8"],
      retry: { access_log: [], call: [] },
      ackTimeout: "1s"
    })
  ),
  (doorhook) => Effect.promise(() => doorhook.close())
)

const decodeToken = Schema.decodeUnknownSync(Schema.Struct({ access_token: Schema.String }))

const takeToken = async (base: string): Promise<string> => {
  const query = new URLSearchParams({ response_type: "code", client_id: "c1", redirect_uri: redirectUri })
  const answer = await logIn(new URL(`${base}/oauth/authorize?${query.toString()}`), "admin", "any")
  const code = new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? ""
  const grant = { grant_type: "authorization_code", code, client_id: "c1", client_secret: "s1" }
  const body = new URLSearchParams({ ...grant, redirect_uri: redirectUri })
  return decodeToken(await (await fetch(`${base}/oauth/token`, { method: "POST", body })).json()).access_token
}

/** Makes integrations as a third party does, over HTTP; answers their ids. */
const integrate = (doorhook: Doorhook, urls: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const server = createServer(doorhook.node).listen(0, "127.0.0.1")
          await once(server, "listening")
          return server
        }),
        (server) => Effect.sync(() => server.close().closeAllConnections())
      )
      const address = server.address()
      const base = `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`
      return yield* Effect.promise(async () => {
        const token = await takeToken(base)
        const path = "/v4/buildings/1/integrations"
        const created = await Promise.all(
          urls.map((url) => callApi(base, token, "POST", path, integrationDocument(url)))
        )
        return Promise.all(created.map(async (answer) => decodeIntegration(await answer.json()).data.id))
      })
    })
  )

const decodeIntegration = Schema.decodeUnknownSync(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))

const endsOf = ({ attempts }: DeliveryDetail): ReadonlyArray<number> =>
  attempts.map(({ duration_ms, started_at }) => Date.parse(started_at) + duration_ms)

describe("doorhook among hostile receivers", () => {
  it.live("tells of each how it went, and serves who is well at once", () =>
    Effect.scoped(
      Effect.gen(function* () {
        assert.strictEqual(hostile.length, chosen.length)
        const doorhook = yield* startDoorhook
        const healthy = yield* serve(answers(ok))
        const receivers = yield* Effect.forEach(hostile, ({ behave, scheme }) => serve(behave, { scheme }))
        const gone = yield* Effect.scoped(serve(answers(ok)))
        const redirects = yield* serve(
          answers(`HTTP/1.1 302 Found\r\nlocation: ${healthy.url}\r\ncontent-length: 0\r\n\r\n`)
        )
        const expected: ReadonlyArray<readonly [name: string, url: string, outcome: string]> = [
          ...hostile.map(({ name, outcome }, i) => [name, receivers[i]?.url ?? "", outcome] as const),
          ["nobody", gone.url, "connection_refused"],
          ["no address", "http://receiver.invalid/hook", "dns"],
          ["redirects", redirects.url, "bad_status"],
          ["healthy", healthy.url, "acknowledged"]
        ]
        const integrations = yield* integrate(
          doorhook,
          expected.map(([, url]) => url)
        )
        const published = yield* Effect.promise(() =>
          doorhook.publish({ resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } })
        )
        assert.strictEqual(published.deliveries, expected.length)

        const { deliveries } = yield* Effect.promise(() => doorhook.deliveries.list({ event_id: published.id })).pipe(
          Effect.repeat({
            schedule: Schedule.spaced("20 millis"),
            until: (page) => page.deliveries.every(({ state }) => state === "delivered" || state === "exhausted")
          })
        )
        const shown = new Map<string, DeliveryDetail>()
        for (const { id, integration_id } of deliveries) {
          shown.set(integration_id, yield* Effect.promise(() => doorhook.deliveries.show(id)))
        }
        for (const [i, [name, , outcome]] of expected.entries()) {
          const delivery = shown.get(integrations[i] ?? "")
          assert.deepStrictEqual(
            delivery?.attempts.map((attempt) => attempt.outcome),
            [outcome],
            name
          )
          assert.strictEqual(delivery?.state, outcome === "acknowledged" ? "delivered" : "exhausted", name)
          const [attempt] = delivery?.attempts ?? []
          if (attempt?.status === null) assert.match(attempt.detail ?? "", /^\S.{10,500}$/, name)
          else assert.isAtMost(Buffer.byteLength(attempt?.response_excerpt ?? ""), maxExcerptLength, name)
        }
        // Whoever is well had its event before the time of the others was over, and exactly once.
        const all = [...shown.values()]
        const late = all.filter(({ attempts }) => attempts.some(({ outcome }) => outcome === "timeout")).flatMap(endsOf)
        const well = shown.get(integrations.at(-1) ?? "")
        assert.isBelow(Math.max(...(well === undefined ? [Number.NaN] : endsOf(well))), Math.min(...late))
        assert.strictEqual(healthy.accepted(), 1)
      })
    )
  )
})
