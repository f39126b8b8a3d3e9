/**
 * PostgreSQL stays connected but does not respond, because its processes are suspended. No call waits forever, accepted
 * events are delivered when PostgreSQL continues, and nothing needs a restart.
 */
import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { describeOnOwnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { accountFor, assertClearRefusals, readinessOf } from "../harness/Accounting.ts"
import { eventually } from "../harness/Eventually.ts"
import { configured, startDelivering, startWorker } from "../harness/Delivering.ts"
import { live } from "../harness/Embedded.ts"
import { startLoad } from "../harness/Load.ts"
import { operatorKey } from "@doorhook/testkit/Doorhook"

const Refusal = Schema.Struct({ errors: Schema.Tuple([Schema.Struct({ code: Schema.String, detail: Schema.String })]) })

const publish = (url: string) =>
  Effect.promise(async () => {
    const event = { resource_type: "access_log", action: "create", building_id: 999, data: { id: 1 } }
    const headers = { authorization: `Bearer ${operatorKey}`, "content-type": "application/json" }
    const answer = await fetch(`${url}/operator/events`, { method: "POST", headers, body: JSON.stringify(event) })
    return { status: answer.status, retryAfter: answer.headers.get("retry-after"), body: await answer.json() }
  })

await describeOnOwnPostgres("doorhook when PostgreSQL says nothing", (server) => {
  live("refuses within its time limit, is not ready, and continues when the server does", function* () {
    const database = yield* newDatabase(server)
    const flags = yield* configured(server.url(database), { databaseTimeout: "2s" })
    const { receiver, service } = yield* startDelivering(flags)
    yield* startWorker(flags)
    const load = yield* startLoad(() => service.url)
    yield* Effect.promise(() => load.more(50))

    const thaw = yield* Effect.acquireRelease(
      Effect.promise(() => server.freeze()),
      (go) => Effect.sync(go)
    )
    const refused = yield* publish(service.url)
    assert.deepStrictEqual([refused.status, refused.retryAfter], [503, "1"])
    const { errors } = Schema.decodeUnknownSync(Refusal)(refused.body)
    assert.strictEqual(errors[0].code, "unavailable")
    yield* eventually(
      "not ready",
      readinessOf(service.url),
      ({ code, status }) => code === 503 && status === "store_unreachable"
    )
    yield* Effect.promise(() => load.moreRefused(5))
    yield* Effect.promise(() => service.complained(/said nothing for \d+ ms/))
    thaw()

    yield* eventually("ready", readinessOf(service.url), ({ code }) => code === 200)
    yield* Effect.promise(() => load.more(50))
    assertClearRefusals(load)
    // Any number of leases might have ended while outcomes could not be recorded, so `cutOff` sets no limit.
    yield* accountFor({ url: service.url, load, receiver, cutOff: Number.POSITIVE_INFINITY })
  })
})
