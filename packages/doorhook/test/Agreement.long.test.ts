/**
 * Processes on one PostgreSQL database: whose directory decides about the deliveries, and which settings must agree.
 */
import { assert, describe } from "@effect/vitest"
import { createDoorhook } from "doorhook"
import { Effect } from "effect"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { operatorKey, runDoorhook, startDoorhook, startService } from "@doorhook/testkit/Doorhook"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { startNode } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { publishInSql, untilDelivered, startApp, readiness } from "./harness/Apps.ts"
import { codeOf, directory as functions, event, integrate, live, mount, start } from "./harness/Embedded.ts"
import { end, integrate as integrateAsThirdParty } from "./harness/Delivering.ts"
import { directory } from "./harness/KnownDirectory.ts"
import { callApi } from "./harness/ThirdParty.ts"

await describeOnPostgres("processes on one database", (server) => {
  describe("agreement", { concurrent: true }, () => {
    const database = Effect.map(newDatabase(server), server.url)

    live("a worker without a directory starts only with --without-rights", function* () {
      const url = yield* database
      const { code, stderr } = yield* runDoorhook(["worker", "--database", url])
      assert.strictEqual(code, 3)
      assert.match(stderr, /^doorhook: worker: no --directory, .* --directory\. .*--without-rights\.\n$/)
      const both = yield* runDoorhook(["worker", "--database", url, "--directory", directory, "--without-rights"])
      assert.strictEqual(both.code, 3)
      assert.match(both.stderr, /^doorhook: worker: --without-rights contradicts the directory /)
      const { printed } = yield* startDoorhook(["worker", "--without-rights", "--database", url])
      yield* Effect.promise(() => printed(/rights are not rechecked[^]*doorhook worker ready/))
    })

    live("a service without a directory accepts events, and leaves them to workers with one", function* () {
      const url = yield* database
      const receiver = yield* startReceiver()
      const flags = ["--database", url, "--allow-target", "127.0.0.0/8"]
      yield* Effect.scoped(
        Effect.gen(function* () {
          const service = yield* startService([...flags, "--directory", directory])
          yield* integrateAsThirdParty(service.url, receiver.url)
        })
      )
      const { stdout, url: service } = yield* startService(flags)
      assert.match(stdout(), /^no --directory: .*this process delivers nothing/m)
      const published = yield* Effect.promise(() => callApi(service, operatorKey, "POST", "/operator/events", event))
      assert.strictEqual(published.status, 202)
      const { printed } = yield* startDoorhook(["worker", ...flags, "--directory", directory])
      yield* Effect.promise(() => printed(/doorhook worker ready/))
      yield* Effect.promise(() => receiver.until(({ length }) => length === 1))
    })

    live("an app does not start on the database of a service, until it is handed over", function* () {
      const url = yield* database
      yield* Effect.scoped(
        Effect.flatMap(startService(["--database", url, "--directory", directory]), (service) =>
          end(service, "SIGTERM")
        )
      )
      const options = { database: url, directory: functions, logger: false } as const
      const { code, message } = yield* codeOf(createDoorhook(options))
      assert.strictEqual(code, "database_unusable")
      assert.match(message, /belong to a service with a directory file.*doorhook settings accept [0-9a-f]{8}$/)
      const shown = yield* runDoorhook(["settings", "show", "--database", url])
      assert.match(
        shown.stdout,
        /^directory +file\nothers +the default\n[0-9a-f]{8} was proposed at .*directory: functions instead of file\n$/
      )
      const { stdout } = yield* runDoorhook(["settings", "show", "--json", "--database", url])
      const { agreed, proposed }: { agreed: unknown; proposed: object } = JSON.parse(stdout)
      assert.deepStrictEqual(agreed, { directory: "file" })
      assert.containsAllKeys(proposed, ["id", "at", "process"])
      assert.nestedPropertyVal(proposed, "settings.directory", "functions")
      const doctor = yield* runDoorhook(["doctor", "--database", url, "--directory", directory])
      assert.match(doctor.stdout, /^ok +agreement +.*; no process delivers from the database now$/m)
      assert.match(
        doctor.stdout,
        /^warn +agreement +no process delivers now\. .* differed: directory: functions instead of file\. .*accept [0-9a-f]{8}$/m
      )
      const unnamed = yield* runDoorhook(["settings", "accept", "--database", url])
      assert.strictEqual(unnamed.code, 3)
      const accepted = yield* runDoorhook(["settings", "accept", message.slice(-8), "--database", url])
      assert.match(accepted.stdout, /accepted: directory: functions instead of file/)
      yield* start(options)
      assert.strictEqual((yield* runDoorhook(["serve", "--database", url, "--directory", directory])).code, 3)
    })

    live("new settings are used once the last process with the old ones has ended", function* () {
      const url = yield* database
      const receiver = yield* startReceiver()
      const old = yield* startApp({ database: url })
      yield* integrate((yield* mount(old.doorhook)).url, receiver.url)
      const settings = {
        database: url,
        resourceTypes: { door_forced: {} },
        retry: { access_log: ["1s"] }
      }
      const next = yield* startApp(settings)
      const another = yield* startApp(settings)
      yield* next.logs(/Settings differ from .*: resourceTypes: .*; retry: .*access_log=1s.* instead of the default\./)
      const { code, text } = yield* readiness(next.doorhook)
      assert.strictEqual(code, 200)
      assert.match(text, /"status":"settings_differ","detail":"Settings differ/)
      assert.notInclude((yield* readiness(old.doorhook)).text, "settings_differ")
      // All processes accept events, of new types too, and the old one sends.
      yield* Effect.promise(() => next.doorhook.publish([event, { ...event, resource_type: "door_forced" }]))
      yield* publishInSql(url, JSON.stringify({ ...event, resource_type: "door_forced" }))
      yield* Effect.promise(() => old.doorhook.publish(event))
      yield* untilDelivered(old.doorhook, 2)
      yield* Effect.promise(() => old.doorhook.close())
      yield* next.logs(/settings are now: |settings agree/)
      yield* another.logs(/settings are now: |settings agree/)
      yield* Effect.promise(() => next.doorhook.publish(event))
      yield* untilDelivered(next.doorhook, 3)
      assert.notInclude((yield* readiness(next.doorhook)).text, "settings_differ")
      assert.lengthOf(receiver.received, 3)
    })

    live("the worker in docs/embed.md delivers, and ends with exit code 0", function* () {
      const url = yield* database
      const receiver = yield* startReceiver()
      const web = yield* startApp({ database: url, deliver: false })
      yield* integrate((yield* mount(web.doorhook)).url, receiver.url)
      const page = readFileSync(new URL("../../../docs/embed.md", import.meta.url), "utf8")
      const [, code = ""] = /^```ts\n\/\/ worker\.ts\n([^]*?)^```$/m.exec(page) ?? []
      // Inside the workspace, so that the program finds the package.
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(fileURLToPath(new URL("../../../node_modules/.cache/worker-", import.meta.url)))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      writeFileSync(
        join(folder, "options.mjs"),
        `export const options = ${JSON.stringify({ database: url, operatorKey, allowTargets: ["127.0.0.0/8"] })}
          options.directory = { client: () => null, authenticate: () => null, administers: () => true, isTenant: () => false }`
      )
      writeFileSync(join(folder, "worker.mjs"), code.replace("./options.ts", "./options.mjs"))
      const worker = yield* startNode(["--conditions=source", join(folder, "worker.mjs")])
      yield* Effect.promise(() => web.doorhook.publish(event))
      yield* untilDelivered(web.doorhook, 1)
      worker.child.kill("SIGTERM")
      assert.strictEqual((yield* Effect.promise(() => worker.finished)).code, 0)
    })
  })
})
