/**
 * Processes on one PostgreSQL database: whose directory decides about the deliveries, and which settings must agree.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { operatorKey, runDoorhook, startDoorhook, startService } from "@doorhook/testkit/Doorhook"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { listed, publishInSql, readiness, startApp, stoppedApp, untilDelivered } from "./harness/Apps.ts"
import { event, integrate, live, mount } from "./harness/Embedded.ts"
import { integrate as integrateAsThirdParty } from "./harness/Delivering.ts"
import { eventually } from "./harness/Eventually.ts"
import { directory } from "./harness/KnownDirectory.ts"
import { callApi } from "./harness/ThirdParty.ts"

await describeOnPostgres("processes on one database", (server) => {
  describe("agreement", { concurrent: true }, () => {
    const database = Effect.map(newDatabase(server), server.url)

    live("the command does not deliver from the database of an app that embeds doorhook", function* () {
      const url = yield* database
      const receiver = yield* startReceiver()
      const { options, removeRight } = yield* stoppedApp(url, receiver)
      removeRight()
      yield* publishInSql(url)
      for (const args of [
        ["worker"],
        ["worker", "--allow-target", "127.0.0.0/8"],
        ["worker", "--directory", directory],
        ["serve", "--port", "0"],
        ["serve", "--port", "0", "--directory", directory]
      ]) {
        const { code, stderr } = yield* runDoorhook(args, { DOORHOOK_DATABASE: url })
        assert.strictEqual(code, 3, args.join(" "))
        assert.match(stderr, /^doorhook: .*application that embeds doorhook.*createDoorhook.*docs\/embed\.md.*\n$/)
      }
      const { doorhook } = yield* startApp(options)
      yield* eventually("the app cancels it", listed(doorhook), ([only]) => only?.state === "cancelled")
      assert.deepStrictEqual(yield* listed(doorhook), [{ state: "cancelled", attempts: 0 }])
      assert.deepStrictEqual(receiver.received, [])
    })

    live("a worker with other settings says which, and sends nothing while others deliver", function* () {
      const url = yield* database
      const receiver = yield* startReceiver()
      const flags = ["--database", url, "--directory", directory]
      const service = yield* startService([...flags, "--allow-target", "127.0.0.0/8"])
      yield* integrateAsThirdParty(service.url, receiver.url)
      const worker = yield* startDoorhook(["worker", ...flags, "--ack-timeout", "6s"])
      yield* Effect.promise(() =>
        worker.complained(
          /Settings differ.*: ackTimeout: 6s instead of the default; allowTargets: the default instead of 127\.0\.0\.0\/8\./
        )
      )
      for (let n = 0; n < 40; n++) yield* publishInSql(url)
      yield* Effect.promise(() => receiver.until(({ length }) => length === 40))
      const list = Effect.promise(async () => {
        const answer = await callApi(service.url, operatorKey, "GET", "/operator/deliveries?limit=100")
        return answer.text()
      })
      const states = yield* eventually("all are delivered", list, (text) => text.split('"delivered"').length === 41)
      assert.lengthOf(states.match(/"attempts":1,/g) ?? [], 40)
      assert.notInclude(states, "blocked_address")
      service.child.kill("SIGTERM")
      yield* Effect.promise(() =>
        worker.complained(/No other process delivers from this database, so its settings are now: ackTimeout: 6s/)
      )
    })

    live("accepted settings stop the processes with the old ones, whose open attempts are recorded", function* () {
      const url = yield* database
      let answer = (): void => undefined
      const answered = new Promise<number>((resolve) => (answer = () => resolve(200)))
      const receiver = yield* startReceiver(() => answered)
      const old = yield* startApp({ database: url, ackTimeout: "1m" })
      yield* integrate((yield* mount(old.doorhook)).url, receiver.url)
      const next = yield* startApp({ database: url, ackTimeout: "1m", retry: { access_log: ["1s"] } })
      const log = yield* next.logs(/doorhook settings accept [0-9a-f]{8}/)
      const [, id = ""] = /settings accept ([0-9a-f]{8})/.exec(log) ?? []
      yield* Effect.promise(() => old.doorhook.publish(event))
      yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
      const wrong = yield* runDoorhook(["settings", "accept", "00000000", "--database", url])
      assert.strictEqual(wrong.code, 1)
      const accepted = yield* runDoorhook(["settings", "accept", id, "--database", url])
      assert.match(accepted.stdout, /^[0-9a-f]{8} accepted: retry: /)
      yield* next.logs(/settings agree/)
      yield* old.logs(/Settings differ/)
      // The old process has proposed its own by now.
      const again = yield* runDoorhook(["settings", "accept", id, "--database", url])
      assert.strictEqual(again.stdout, `${id} is in use already\n`)
      yield* Effect.promise(() => old.doorhook.publish(event))
      yield* Effect.promise(() => receiver.until(({ length }) => length === 2))
      answer()
      yield* untilDelivered(next.doorhook, 2)
      assert.deepStrictEqual(yield* listed(next.doorhook), [
        { state: "delivered", attempts: 1 },
        { state: "delivered", attempts: 1 }
      ])
      assert.lengthOf(receiver.received, 2)
    })

    live("processes with `deliver: false` leave deliveries to the app's workers", function* () {
      const url = yield* database
      const receiver = yield* startReceiver()
      const web = yield* startApp({ database: url, deliver: false })
      yield* integrate((yield* mount(web.doorhook)).url, receiver.url)
      yield* Effect.promise(() => web.doorhook.publish(event))
      assert.deepStrictEqual(yield* listed(web.doorhook), [{ state: "pending", attempts: 0 }])
      assert.match((yield* readiness(web.doorhook)).text, /"status":"ready".*"last_claim_at":null/)
      // A worker of one's own: the same options, and no server. Only wake signals start its claims.
      const worker = yield* startApp({ database: url, pollInterval: "1h" })
      yield* untilDelivered(web.doorhook, 1)
      yield* Effect.promise(() => web.doorhook.publish(event))
      yield* untilDelivered(web.doorhook, 2)
      assert.lengthOf(receiver.received, 2)
      yield* Effect.promise(() => web.doorhook.close())
      yield* Effect.promise(() => worker.doorhook.close())
    })
  })
})
