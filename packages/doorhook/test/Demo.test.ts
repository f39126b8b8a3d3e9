/**
 * `npm start`: the demo as a process, and its summary of published events.
 */
import { EventId, noDeliveries } from "@doorhook/core"
import { demoProgram } from "@doorhook/testkit/Doorhook"
import { startNode, temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { endReport } from "../src/demo/Figures.ts"
import { live } from "./harness/Embedded.ts"
import { callApi } from "./harness/ThirdParty.ts"

const startDemo = (cwd: string, ...flags: ReadonlyArray<string>) =>
  startNode([demoProgram, "--port", "0", ...flags], { cwd })

describe("npm start", { concurrent: true }, () => {
  live("accounts for all events that it published, despite other publishers and earlier runs", function* () {
    const folder = yield* temporaryFolder
    const first = yield* startDemo(folder)
    const [, url = ""] = yield* Effect.promise(() => first.printed(/doorhook listening on (http:\S+)/))
    const [, key = ""] = yield* Effect.promise(() => first.printed(/operator key: (\S+)\)/))
    const guest = { resource_type: "access_log", action: "create", building_id: 2, data: { id: 1 } }
    const answer = yield* Effect.promise(() => callApi(url, key, "POST", "/operator/events", [guest]))
    assert.strictEqual(answer.status, 202)
    first.child.kill("SIGINT")
    const stopped = yield* Effect.promise(() => first.finished)
    assert.match(stopped.stdout, /also: 1 event published by others/)
    assert.match(stopped.stdout, /every accepted event is accounted for\n$/)
    assert.strictEqual(stopped.code, 0, stopped.stderr)

    const second = yield* Effect.flatMap(startDemo(folder, "--for", "2s"), ({ finished }) =>
      Effect.promise(() => finished)
    )
    assert.notMatch(second.stdout, /also:/, "events of earlier runs are not counted")
    assert.match(second.stdout, /accepted in this run: \d+ events with \d+ deliveries\nin the database: .*delivered/)
    assert.match(second.stdout, /every accepted event is accounted for\n$/)
    assert.strictEqual(second.code, 0, second.stderr)
  })
})

describe("the demo's summary", () => {
  const id = (n: number): EventId => EventId.make(`evt_${String(n).padStart(20, "0")}`)
  const summary = { events: 9, states: { ...noDeliveries, delivered: 12 }, oldest_due_at: null }
  const many = new Map(Array.from({ length: 5 }, (_, n) => [id(n), 2]))

  it("reports missing events and events with too few deliveries, and names some", () => {
    const { complete, lines } = endReport(many, new Map([[id(0), 1]]), summary)
    assert.isFalse(complete)
    assert.strictEqual(lines.at(-1), `NOT accounted for: 5 events (${id(0)}, ${id(1)}, ${id(2)}, ...)`)
  })

  it("reports nothing missing if there are additional events", () => {
    const { complete, lines } = endReport(many, new Map([...many, [id(7), 1]]), summary)
    assert.isTrue(complete)
    assert.deepStrictEqual(lines, [
      "accepted in this run: 5 events with 10 deliveries",
      "also: 1 event published by others, or whose response did not arrive",
      "in the database: delivered 12 = 12 deliveries of 9 events",
      "every accepted event is accounted for"
    ])
  })
})
