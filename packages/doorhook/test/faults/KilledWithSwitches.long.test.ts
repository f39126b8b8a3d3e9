/**
 * A service and a worker on a database without NOTIFY, advisory locks and SKIP LOCKED lose nothing when they are killed.
 */
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { live } from "../harness/Embedded.ts"
import { killService } from "../harness/Kills.ts"

await describeOnPostgres("doorhook with all switches for compatible engines", (server) => {
  live("loses nothing when the service is killed while it accepts and delivers events", function* () {
    yield* killService(server, "?notify=off&locks=rows&claim=update")
  })
})
