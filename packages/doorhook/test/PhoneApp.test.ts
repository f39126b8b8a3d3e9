/**
 * The scenario of a phone app, with real processes: a visitor rings, a neighbour answers, and the phone stops ringing. The
 * phone's receiver is slow to wake up, so the call has failed and waits for its retries when it ends.
 */
import { operatorKey, startDoorhook, startService } from "@doorhook/testkit/Doorhook"
import { describeOnPostgres, newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { startReceiver } from "@doorhook/testkit/Receiver"
import type { Received } from "@doorhook/testkit/Receiver"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { live } from "./harness/Embedded.ts"
import { eventually } from "./harness/Eventually.ts"
import { admin, directory } from "./harness/KnownDirectory.ts"
import { callApi } from "./harness/ThirdParty.ts"

/** The type of a request, and the id of its call. */
const readBody = ({ body }: Received): { readonly type: string; readonly call: number } => {
  const {
    event
  }: { readonly event: { readonly resource_type: string; readonly data: Readonly<Record<string, number>> } } =
    JSON.parse(body)
  return { type: event.resource_type, call: event.data["call_id"] ?? event.data["id"] ?? 0 }
}

/** Plays the scenario with a service at `url`, in which any of its processes may send. */
const play = Effect.fnUntraced(function* (url: string) {
  const ringing = new Set<number>()
  const phone = yield* startReceiver((received) => {
    const { call, type } = readBody(received)
    if (type === "call") ringing.add(call)
    else ringing.delete(call)
    return type === "call" ? 503 : 200
  })
  const attempts = (call: number): number =>
    phone.received.map(readBody).filter((one) => one.type === "call" && one.call === call).length
  const post = (path: string, body: unknown) =>
    Effect.promise(async () => {
      const answer = await callApi(url, operatorKey, "POST", path, body)
      assert.isBelow(answer.status, 300, await answer.clone().text())
      return answer.text()
    })
  const publish = (resource_type: string, data: object) =>
    post("/operator/events", { resource_type, action: "create", building_id: 1, data })
  yield* post("/operator/integrations", {
    user: admin.login,
    building: 1,
    url: phone.url,
    bindings: ["call", "call_end"].map((resource_type) => ({ resource_type, actions: ["create"] }))
  })

  const [event = ""] = /evt_\w+/.exec(yield* publish("call", { id: 7 })) ?? []
  yield* Effect.promise(() => phone.until(() => attempts(7) === 1))
  assert.isTrue(ringing.has(7))
  const deliveries = Effect.promise(async () =>
    (await callApi(url, operatorKey, "GET", `/operator/deliveries?event_id=${event}`)).text()
  )
  yield* eventually("the call waits for its retry", deliveries, (text) => text.includes('"retrying"'))
  yield* publish("call_end", { id: 8, call_id: 7, reason: "answered_elsewhere", ended_at: "2026-03-02T07:00:12Z" })
  yield* Effect.promise(() => phone.until(() => !ringing.has(7)))
  assert.include(yield* deliveries, '"cancelled"')

  // A later call rings three times, so every retry of the first would be over.
  yield* publish("call", { id: 9 })
  yield* Effect.promise(() => phone.until(() => attempts(9) === 3))
  assert.deepStrictEqual([attempts(7), [...ringing]], [1, [9]])
})

const shared = ["--directory", directory, "--allow-target", "127.0.0.0/8", "--call-end"]

describe("a phone that rings when a neighbour answers", () => {
  live("stops, and gets no further attempt, from one process", function* () {
    const { url } = yield* startService([...shared, "--database", join(yield* temporaryFolder, "doorhook.db")])
    yield* play(url)
  })
})

await describeOnPostgres("a phone that rings when a neighbour answers", (server) => {
  live("stops, and gets no further attempt, from a service and a worker", function* () {
    const database = server.url(yield* newDatabase(server))
    const { url } = yield* startService([...shared, "--database", database])
    const worker = yield* startDoorhook(["worker", ...shared, "--database", database])
    yield* Effect.promise(() => worker.printed(/doorhook worker ready/))
    yield* play(url)
  })
})
