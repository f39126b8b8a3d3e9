/**
 * A cell whose clients and tokens are in a database that it shares with others, while that database is down.
 */
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { event, live, mount, start, tokensFrom } from "./harness/Embedded.ts"
import { eventually } from "./harness/Eventually.ts"
import { callApi } from "./harness/ThirdParty.ts"

const Health = Schema.fromJsonString(Schema.Struct({ status: Schema.String }))

await describeOnPostgres("a cell with shared clients and tokens", (server) => {
  live("is not ready while their database is down, and names it; its own events go on", function* () {
    const name = yield* newDatabase(server)
    const doorhook = yield* start({ authorizationDatabase: server.url(name) })
    const { url } = yield* mount(doorhook)
    const { access_token } = yield* tokensFrom(url)
    const status = Effect.promise(async () => {
      const answer = await fetch(`${url}/health/ready`)
      return { code: answer.status, ...Schema.decodeUnknownSync(Health)(await answer.text()) }
    })
    const read = Effect.promise(async () => {
      const answer = await callApi(url, access_token, "GET", "/v4/buildings")
      return answer.status
    })
    assert.deepStrictEqual([yield* read, yield* status], [200, { code: 200, status: "ready" }])

    yield* Effect.promise(async () => {
      await server.administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
      await server.administer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
    })
    const down = yield* eventually("the service is not ready", status, ({ code }) => code === 503)
    assert.strictEqual(down.status, "authorization_unavailable")
    assert.strictEqual(yield* read, 503)
    assert.match((yield* Effect.promise(() => doorhook.publish(event))).id, /^evt_/)

    yield* Effect.promise(() => server.administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`))
    yield* eventually("the service is ready again", status, ({ code }) => code === 200)
    assert.strictEqual(yield* read, 200)
  })
})
