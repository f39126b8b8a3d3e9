/**
 * A failover between two PostgreSQL servers in streaming replication, while a service and a worker publish and deliver
 * through one address.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { administer } from "@doorhook/testkit/postgres/ServerProcess"
import type { ReplicatedServers } from "@doorhook/testkit/postgres/ReplicatedServers"
import { startReplicated } from "@doorhook/testkit/postgres/ReplicatedServers"
import { configured, end, startDelivering, startWorker } from "./Delivering.ts"
import { live } from "./Embedded.ts"
import { eventually, within } from "./Eventually.ts"
import { startLoad } from "./Load.ts"

export const replicated: Effect.Effect<ReplicatedServers, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => startReplicated()),
  ({ stop }) => Effect.promise(stop)
)

export interface Failover {
  readonly name: string
  /** What happens to the former primary before the standby is promoted. May return how to undo it at the end. */
  readonly before?: (servers: ReplicatedServers) => Promise<void | (() => void)>
  /** What happens to it after the address has moved. */
  readonly after?: (servers: ReplicatedServers) => Promise<void>
  /** Whether the former primary still accepts changes, so that what is published to it is lost. */
  readonly isUnfenced?: boolean
}

export const makeReadOnly = async ({ primary }: ReplicatedServers) => {
  await administer(primary.url, "ALTER SYSTEM SET default_transaction_read_only = on")
  await administer(primary.url, "SELECT pg_reload_conf()")
}

/** Declares a test: publishing works on the new primary, all replicated events arrive, and wake signals work. */
export const survives = ({ after, before, isUnfenced = false, name }: Failover): void =>
  live(`publishes and delivers on the new primary: ${name}`, function* () {
    const servers = yield* replicated
    // The poll interval is longer than this test, so processes depend on wake signals.
    const flags = yield* configured(servers.url, { pollInterval: "10m" })
    const { receiver, service } = yield* startDelivering(flags)
    const worker = yield* startWorker(flags)
    const said = () => [service, worker].map(({ stderr }) => stderr()).join("\n")
    const load = yield* startLoad(() => service.url)
    yield* Effect.promise(() => load.more(50))
    const replayed = new Set(load.accepted)
    let undo: void | (() => void)
    yield* Effect.addFinalizer(() => Effect.sync(() => undo?.()))
    yield* Effect.promise(async () => {
      await servers.awaitReplay()
      undo = await before?.(servers)
      await servers.promote()
    })
    servers.moveAddress()
    if (isUnfenced) {
      const notices = Effect.sync(() => service.stderr().includes("leads to another server"))
      yield* eventually("the service notices the new primary", notices, (hasNoticed) => hasNoticed)
      // The former primary may still have stored the calls that were in flight.
      yield* Effect.promise(() => load.more(20))
    }
    // Some of these were not replicated before the failover.
    const unsure = new Set(load.accepted)
    yield* within(
      "publishing works",
      Effect.promise(() => load.more(20)),
      said
    )
    yield* Effect.promise(async () => after?.(servers))
    yield* within(
      "publishing goes on",
      Effect.promise(() => load.more(50)),
      said
    )
    yield* Effect.promise(() => load.stop())
    const wanted = [...load.accepted].filter((id) => replayed.has(id) || !unsure.has(id))
    const arrived = () => new Set(receiver.received.map(({ headers }) => headers["webhook-id"]))
    const missing = () => wanted.filter((id) => !arrived().has(id))
    const all = Effect.promise(() => receiver.until(() => missing().length === 0))
    yield* within("all events arrive", all, () => `missing ${missing().join()}\n${said()}`)

    // Both processes hear the new primary's wake signals: each one alone delivers what SQL publishes.
    for (const [nth, running] of [service, worker].entries()) {
      const event = `{"resource_type":"access_log","action":"create","building_id":1,"data":{"id":${-nth}}}`
      const count = receiver.received.length
      yield* Effect.promise(() => administer(servers.url, `SELECT doorhook.publish('${event}')`))
      const signalled = Effect.promise(() => receiver.until(({ length }) => length > count))
      yield* within("a wake signal arrives", signalled, said)
      assert.strictEqual((yield* end(running, "SIGTERM")).code, 0)
    }
  })
