/**
 * The database row of one integration is damaged. Deliveries to this integration wait, and all others continue. The
 * integration can be deleted.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { operatorKey, runDoorhook, startService } from "@doorhook/testkit/Doorhook"
import { listDeliveries } from "../harness/Accounting.ts"
import { configured } from "../harness/Delivering.ts"
import { event, live } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { tokensOf } from "../harness/KnownDirectory.ts"
import { callApi, createIntegration } from "../harness/ThirdParty.ts"

describe("doorhook with a damaged row", () => {
  live("sends to all other integrations, and can delete the row's integration", function* () {
    const file = join(yield* temporaryFolder, "doors.db")
    const service = yield* startService(yield* configured(file))
    const { url } = service
    let answer = 500
    const one = yield* startReceiver(() => answer)
    const other = yield* startReceiver(() => answer)
    const { access_token } = yield* Effect.promise(() => tokensOf(url))
    const damaged = yield* Effect.promise(() => createIntegration(url, access_token, one.url))
    yield* Effect.promise(() => createIntegration(url, access_token, other.url))
    const publish = Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/events", [event]))
    assert.strictEqual((yield* publish).status, 202)
    yield* Effect.promise(() => other.until(({ length }) => length >= 2))

    const database = new DatabaseSync(file, { timeout: 10_000 })
    database.exec(`UPDATE integrations SET signing_secret = 'sealed:v1:AAAA' WHERE id = ${damaged.id}`)
    database.close()
    // Both deliveries wait for a retry, so they are claimed together.
    yield* Effect.promise(() =>
      service.complained(new RegExp(`integration ${damaged.id} of building 1 can't be read: .*delete the integration`))
    )
    answer = 200
    yield* eventually("the other has its event", listDeliveries(url), (deliveries) =>
      deliveries.some(({ state }) => state === "delivered")
    )

    const accepted = yield* publish
    assert.strictEqual(accepted.status, 202)
    assert.match(yield* Effect.promise(() => accepted.text()), /"deliveries":2/)
    const listed = yield* runDoorhook(["integrations", "list", "--url", url], { DOORHOOK_OPERATOR_KEY: operatorKey })
    assert.match(listed.stdout, new RegExp(`^2 .*\\nintegration ${damaged.id} of building 1 can't be read: .*\\n$`))
    const path = `/v4/buildings/1/integrations/${damaged.id}`
    assert.strictEqual((yield* Effect.promise(() => callApi(url, access_token, "DELETE", path))).status, 204)
    const ended = yield* eventually("all have ended", listDeliveries(url), (deliveries) =>
      deliveries.every(({ state }) => ["delivered", "cancelled"].includes(state))
    )
    assert.deepEqual(ended.map(({ state }) => state).toSorted(), ["cancelled", "cancelled", "delivered", "delivered"])
  })
})
