/**
 * A process is killed between a subscription, an event and its delivery.
 */
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { startSite } from "../../doorhook/test/harness/ClientSite.ts"
import { live } from "../../doorhook/test/harness/Embedded.ts"
import { eventually } from "../../doorhook/test/harness/Eventually.ts"
import { acceptance, callerOf, isSignedBy, resultOf, secretOf, tokensOf, wanted } from "./Subscriber.ts"

const program = fileURLToPath(new URL("KilledApp.ts", import.meta.url))

const startApp = Effect.fnUntraced(function* (file: string, caFile: string) {
  const app = yield* startNode(["--conditions=source", program, file, caFile])
  const [, port] = yield* Effect.promise(() => app.printed(/listening on (\d+)/))
  return { app, url: `http://127.0.0.1:${port}` }
})

describe("a subscription in a file whose process is killed", () => {
  live("loses no event: the next process delivers it, and challenges nobody again", function* () {
    const file = join(yield* temporaryFolder, "killed.db")
    const site = yield* startSite
    const received: Array<{ readonly headers: Readonly<Record<string, string>>; readonly body: string }> = []
    let answers = false
    site.answer = (request, response) =>
      void text(request).then((body) => {
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)])
        )
        received.push({ headers, body })
        const { excerpt, status } = acceptance(body)
        // The first attempt of the event is never answered.
        if (answers || excerpt !== "") response.writeHead(status).end(excerpt)
      })
    const { app, url } = yield* startApp(file, site.caFile)
    const { access_token } = yield* tokensOf(url)
    const delivery = { url: `${site.url}/hook`, secret: secretOf(3) }
    const { id } = resultOf(yield* callerOf(url, access_token)("events/subscribe", wanted({ delivery })))
    yield* Effect.promise(() => fetch(`${url}/publish`, { method: "POST" }))
    const until = (count: number) =>
      eventually(
        `${count} requests`,
        Effect.sync(() => received.length),
        (found) => found >= count
      )
    yield* until(2)
    app.child.kill("SIGKILL")
    yield* Effect.promise(async () => app.child.exitCode ?? app.child.signalCode ?? once(app.child, "exit"))
    answers = true
    const next = yield* startApp(file, site.caFile)
    yield* until(3)
    const [, first, again] = received
    assert.ok(first !== undefined && again !== undefined)
    assert.strictEqual(again.body, first.body)
    assert.strictEqual(again.headers["webhook-id"], first.headers["webhook-id"])
    assert.strictEqual(again.headers["x-mcp-subscription-id"], id)
    assert.isTrue(yield* isSignedBy(secretOf(3), again, Date.now()))
    const call = callerOf(next.url, (yield* tokensOf(next.url)).access_token)
    assert.strictEqual(resultOf(yield* call("events/subscribe", wanted({ delivery })))["id"], id)
    assert.strictEqual(received.filter(({ body }) => body.includes("verification")).length, 1)
  })
})
