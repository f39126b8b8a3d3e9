/**
 * Kills a service that accepts and delivers events, and accounts for all of them.
 */
import type { TestServer } from "@doorhook/testkit/postgres/TestServer"
import { newDatabase } from "@doorhook/testkit/postgres/TestServer"
import { startService } from "@doorhook/testkit/Doorhook"
import { Effect } from "effect"
import { accountFor, assertClearRefusals } from "./Accounting.ts"
import { configured, end, startDelivering, startWorker } from "./Delivering.ts"
import { startLoad } from "./Load.ts"

/**
 * Returns the number of leased deliveries: the maximum number that killed processes can have sent without recording an
 * outcome.
 */
export const leased = (server: TestServer, database: string) =>
  Effect.promise(async () => {
    const held = "SELECT id FROM doorhook.queue WHERE worker IS NOT NULL"
    return (await server.administer(held, database)).length
  })

/** Kills a service beside a worker twice, and starts it again. `parameters` are added to the URL of the database. */
export const killService = Effect.fnUntraced(function* (server: TestServer, parameters = "") {
  const database = yield* newDatabase(server)
  const flags = yield* configured(`${server.url(database)}${parameters}`)
  const { receiver, service } = yield* startDelivering(flags)
  yield* startWorker(flags)
  let url = service.url
  const load = yield* startLoad(() => url)
  let cutOff = 0
  let running = service
  for (const _ of [1, 2]) {
    yield* Effect.promise(() => load.more(60))
    yield* end(running, "SIGKILL")
    cutOff += yield* leased(server, database)
    running = yield* startService(flags)
    url = running.url
  }
  yield* Effect.promise(() => load.more(60))
  assertClearRefusals(load)
  yield* accountFor({ url, load, receiver, cutOff })
})
