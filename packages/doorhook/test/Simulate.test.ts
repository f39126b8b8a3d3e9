/**
 * `simulate plan` writes a plan and a directory. A service starts with this directory and delivers the plan.
 */
import { assert, describe } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { operatorKey } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { live } from "./harness/Embedded.ts"
import { runHere, serveHere } from "./harness/InProcess.ts"
import { createIntegration, discover, takeTokens } from "./harness/ThirdParty.ts"

const PlannedDirectory = Schema.fromJsonString(
  Schema.Struct({
    clients: Schema.NonEmptyArray(
      Schema.Struct({ id: Schema.String, secret: Schema.String, redirect_uris: Schema.NonEmptyArray(Schema.String) })
    ),
    users: Schema.NonEmptyArray(Schema.Struct({ login: Schema.String, password: Schema.String })),
    buildings: Schema.NonEmptyArray(Schema.Struct({ id: Schema.Int }))
  })
)

const textIn = (file: string) => Effect.promise(() => readFile(file, "utf8"))

describe("a plan and its directory", () => {
  live("start a service, which delivers them", function* () {
    const folder = yield* temporaryFolder
    const [plan, directory] = [join(folder, "events.ndjson"), join(folder, "directory.json")]
    const day = ["--preset", "quiet", "--start", "2026-03-02T00:00", "--duration", "24h"]
    const planned = yield* runHere(["simulate", "plan", ...day, "--out", plan, "--directory", directory])
    assert.strictEqual(planned.code, 0, planned.stderr)
    const { buildings, clients, users } = Schema.decodeSync(PlannedDirectory)(yield* textIn(directory))
    const [[client], [user], [building]] = [clients, users, buildings]

    const args = ["--database", "memory", "--directory", directory, "--allow-target", "127.0.0.0/8"]
    const { url } = yield* serveHere(args)
    const receiver = yield* startReceiver()
    yield* Effect.promise(async () => {
      const config = await discover(url, client.id, client.secret)
      const tokens = await takeTokens(config, client.redirect_uris[0], user.login, user.password)
      const path = `/v4/buildings/${building.id}/integrations`
      await createIntegration(url, tokens.access_token, receiver.url, undefined, path)
    })

    const target = ["--to", url, "--operator-key", operatorKey, "--slo", "lost=0,failed=0,open=0"]
    const run = yield* runHere(["simulate", "run", ...target, "--events", plan, "--as-fast-as-possible"])
    assert.strictEqual(run.code, 0, run.stdout + run.stderr)
    const lines = (yield* textIn(plan)).trimEnd().split("\n")
    assert.isAbove(lines.length, 20)
    const sent = lines.map((line) => {
      const { action, data, resource_type } = JSON.parse(line)
      return JSON.stringify({ event: { resource_type, action, data } })
    })
    assert.deepStrictEqual(receiver.received.map(({ body }) => body).toSorted(), sent.toSorted())
  })
})
