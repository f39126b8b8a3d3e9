/**
 * Three services on one PostgreSQL, one of which can vanish inside a chosen transaction, under continuous load.
 */
import { assert } from "@effect/vitest"
import { operatorKey, startService } from "@doorhook/testkit/Doorhook"
import type { Caught } from "@doorhook/testkit/postgres/SilentLink"
import { silentLink } from "@doorhook/testkit/postgres/SilentLink"
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { startReceiver } from "@doorhook/testkit/Receiver"
import { Effect, Schema } from "effect"
import { setTimeout as pause } from "node:timers/promises"
import { listDeliveries } from "../harness/Accounting.ts"
import { configured } from "../harness/Delivering.ts"
import { eventually, within } from "../harness/Eventually.ts"
import { tokensOf } from "../harness/KnownDirectory.ts"
import { callApi, createIntegration } from "../harness/ThirdParty.ts"

/** How a machine vanishes: its link is silent, its processes are stopped, or both its process and its link are gone. */
export type Mode = "silent" | "stopped" | "killed"

const Accepted = Schema.Struct({ events: Schema.Array(Schema.Struct({ id: Schema.String })) })

const retry = { access_log: Array.from({ length: 50 }, () => "200ms"), call: ["1s", "3s", "8s"] }

/** Number of rings published to each healthy service while a transaction is open. */
const rings = 10

export const startVanishing = Effect.fnUntraced(function* (
  server: TestServer,
  options: Parameters<typeof silentLink>[1] = {}
) {
  const database = yield* newDatabase(server)
  const link = yield* silentLink(server.url(database), options)
  const settings = { lease: "25s", retry }
  const direct = yield* configured(server.url(database), settings)
  const flags = yield* configured(link.url, settings)
  const good = yield* startReceiver()
  const failing = yield* startReceiver((_, nth) => (nth % 3 === 0 ? 200 : 500))
  const gone = yield* startReceiver(() => 410)
  const healthy = [yield* startService(direct), yield* startService(direct)]
  let victim = yield* startService(flags)
  const token = (yield* Effect.promise(() => tokensOf(victim.url))).access_token
  const integrate = (url: string) => Effect.promise(() => createIntegration(victim.url, token, url))
  yield* integrate(good.url)
  const { id: failingId } = yield* integrate(failing.url)
  const { id: goneId } = yield* integrate(gone.url)

  const accepted = new Set<string>()
  const delays: Array<number> = []
  let next = 0
  const publish = async (url: string, resource_type: "access_log" | "call"): Promise<string> => {
    const event = { resource_type, action: "create", building_id: 1, data: { id: ++next } }
    const key = { "idempotency-key": `key-${next}` }
    const answer = await callApi(url, operatorKey, "POST", "/operator/events", event, key)
    const text = await answer.text()
    if (answer.status !== 202) throw new Error(`not accepted but ${answer.status}: ${text}`)
    const [{ id } = { id: "" }] = Schema.decodeUnknownSync(Accepted)(JSON.parse(text)).events
    accepted.add(id)
    return id
  }

  const enable = (url: string, id: string) =>
    callApi(url, token, "PATCH", `/v4/buildings/1/integrations/${id}`, {
      data: { type: "integrations", id, attributes: { status: "enabled" } }
    })

  /** Calls of the victim that cause each kind of transaction. They may fail while it vanishes. */
  const stirs = [
    () => publish(victim.url, "access_log"),
    () => publish(victim.url, "call"),
    () => enable(victim.url, goneId),
    () => enable(victim.url, failingId),
    () =>
      callApi(victim.url, operatorKey, "POST", `/operator/integrations/${failingId}/recover`, {
        since: new Date(0).toISOString()
      })
  ]
  const stopping = new AbortController()
  const stirring = stirs.map(async (stir) => {
    while (!stopping.signal.aborted) {
      await Promise.race([stir().catch(() => undefined), pause(1_000, undefined, { ref: false })])
      await pause(250)
    }
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => stopping.abort()))

  const ring = async (url: string): Promise<void> => {
    const began = performance.now()
    const id = await publish(url, "call")
    await good.until((received) => received.some(({ headers }) => headers["webhook-id"] === id))
    delays.push(performance.now() - began)
  }

  /** Whether the server still has the open transaction. */
  const isOpen = (pid: number) =>
    Effect.promise(() =>
      server.administer(`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid} AND state = 'idle in transaction'`, database)
    ).pipe(Effect.map(({ length }) => length > 0))

  const vanish = Effect.fnUntraced(function* (statement: RegExp, mode: Mode) {
    const caught: Caught = yield* within(
      `a transaction with ${statement}`,
      Effect.promise(() => link.catchAfter(statement)),
      () => [...link.seen].join("\n")
    )
    if (mode === "stopped") {
      victim.child.kill("SIGSTOP")
      link.heal()
    }
    if (mode === "killed") victim.child.kill("SIGKILL")
    return caught
  })

  /** Rings through the healthy services arrive. */
  const ringAll = Effect.promise(async () => {
    await Promise.all(
      healthy.map(async ({ url }) => {
        for (let n = 0; n < rings; n++) await ring(url)
      })
    )
  })

  const comeBack = Effect.fnUntraced(function* (mode: Mode, { pid }: Caught) {
    yield* Effect.promise(() => server.administer(`SELECT pg_terminate_backend(${pid})`, database))
    if (mode === "stopped") victim.child.kill("SIGCONT")
    link.cut()
    if (mode === "killed") victim = yield* startService(flags)
  })

  /** Each accepted event has arrived, and all deliveries have ended. */
  const account = Effect.gen(function* () {
    stopping.abort()
    yield* Effect.promise(() => Promise.all(stirring))
    const [{ url } = { url: "" }] = healthy
    const listed = yield* eventually("every delivery has ended", listDeliveries(url), (all) =>
      all.every(({ state }) => !["pending", "delivering", "retrying"].includes(state))
    )
    const received = new Set(good.received.map(({ headers }) => headers["webhook-id"]))
    const stored = new Set(listed.map(({ event_id }) => event_id))
    assert.deepEqual(
      [...accepted].filter((id) => !received.has(id) || !stored.has(id)),
      [],
      "accepted, but not received"
    )
  })

  return { vanish, ringAll, isOpen, comeBack, account, link, delays }
})
