/**
 * The disk fails to sync files. A call succeeds only if its data is on disk, and doorhook recovers without a restart.
 */
import { assert, describe } from "@effect/vitest"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { startService } from "@doorhook/testkit/Doorhook"
import { Effect } from "effect"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { readinessOf } from "../harness/Accounting.ts"
import { configured, end, integrate } from "../harness/Delivering.ts"
import { live } from "../harness/Embedded.ts"
import { eventually } from "../harness/Eventually.ts"
import { acme, tokensOf } from "../harness/KnownDirectory.ts"
import { callApi } from "../harness/ThirdParty.ts"

const shim = pathToFileURL(fileURLToPath(new URL("../fixtures/failingDisk.ts", import.meta.url))).href

const event = { resource_type: "access_log", action: "create", building_id: 1, data: { id: 1 } }

/** Publishes an event with an idempotency key. */
const publish = (url: string, key: string) =>
  Effect.promise(() =>
    fetch(`${url}/operator/events`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${operatorKey}`,
        "content-type": "application/json",
        "idempotency-key": key
      },
      body: JSON.stringify(event)
    })
  )

const revoke = (url: string, token: string) =>
  Effect.promise(() =>
    fetch(`${url}/oauth/revoke`, {
      method: "POST",
      body: new URLSearchParams({ token, client_id: acme.client_id, client_secret: acme.client_secret })
    })
  )

const count = (text: string, what: RegExp) => text.match(what)?.length ?? 0

describe("doorhook when its disk fails to sync", () => {
  live("publications, repetitions and revocations are refused until the log is on disk again", function* () {
    const folder = yield* temporaryFolder
    const sign = join(folder, "failing")
    const file = join(folder, "doors.db")
    const flags = yield* configured(file)
    const env = { FAILING_DISK: sign, NODE_OPTIONS: `--import=${shim}` }
    const receiver = yield* startReceiver()
    const service = yield* startService(flags, env)
    const { url } = service
    yield* integrate(url, receiver.url)
    const { access_token } = yield* Effect.promise(() => tokensOf(url))
    const other = (yield* Effect.promise(() => tokensOf(url))).refresh_token ?? ""
    assert.strictEqual((yield* publish(url, "before")).status, 202)

    writeFileSync(sign, "")
    assert.strictEqual((yield* publish(url, "unsure")).status, 503, "its own sync failed")
    for (const key of ["unsure", "before", "another"]) assert.strictEqual((yield* publish(url, key)).status, 503)
    for (const token of [access_token, access_token, other]) assert.strictEqual((yield* revoke(url, token)).status, 503)
    assert.strictEqual((yield* revoke(url, "unknown")).status, 200, "no commit can have issued or deleted it")
    const readiness = yield* readinessOf(url)
    assert.strictEqual(readiness.code, 503)
    assert.strictEqual(readiness.status, "sync_failed")
    assert.include(readiness.detail ?? "", "EIO")
    assert.strictEqual(
      (yield* Effect.promise(() => callApi(url, operatorKey, "GET", "/operator/deliveries"))).status,
      200
    )
    const listEvents = Effect.promise(() => callApi(url, access_token, "GET", "/v4/buildings/1/access_logs"))
    assert.strictEqual((yield* listEvents).status, 503, "a list without the newest events would be wrong")

    rmSync(sign)
    yield* eventually("ready", readinessOf(url), ({ code }) => code === 200)
    for (const key of ["unsure", "before", "another"]) assert.strictEqual((yield* publish(url, key)).status, 202)
    assert.strictEqual((yield* listEvents).status, 200)
    for (const token of [access_token, access_token, other]) assert.strictEqual((yield* revoke(url, token)).status, 200)
    const log = service.stdout() + service.stderr()
    assert.strictEqual(count(log, /failed to sync the database's log/g), 1)
    assert.strictEqual(count(log, /log is on disk again/g), 1)

    yield* Effect.promise(() => receiver.until(({ length }) => length >= 3))
    yield* end(service, "SIGKILL")
    const again = yield* startService(flags, env)
    assert.strictEqual((yield* publish(again.url, "unsure")).status, 202)
    assert.strictEqual(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size, 3)
  })
})
