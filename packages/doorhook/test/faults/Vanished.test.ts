/**
 * A machine vanishes inside a transaction, and the server keeps the transaction open. Rings that other services accept
 * are sent in the meantime, and nothing is lost.
 */
import { assert } from "@effect/vitest"
import { describeOnPostgres } from "@doorhook/testkit/postgres/TestServer"
import { live } from "../harness/Embedded.ts"
import { startVanishing } from "./Vanishing.ts"

/** The last statement that the vanished transaction carried out, for each kind of transaction. */
const statements = {
  "a failed attempt": /^WITH attempted AS/,
  "a notification": /^INSERT INTO notices/,
  "a receiver that is gone": /^UPDATE integrations SET status = 'disabled'/,
  "a claim": /^WITH chosen AS/,
  "a heartbeat": /^UPDATE members SET until/,
  "a publication with a key": /^INSERT INTO idempotency_keys/,
  "a change of an integration": /^UPDATE integrations SET \(/
}

await describeOnPostgres("a machine that vanishes", (server) => {
  live("delays no ring of another", function* () {
    const world = yield* startVanishing(server, { hasLimit: false })
    for (const [kind, statement] of Object.entries(statements)) {
      const caught = yield* world.vanish(statement, "silent")
      yield* world.ringAll
      assert.isTrue(yield* world.isOpen(caught.pid), `${kind}: still open`)
      yield* world.comeBack("silent", caught)
    }
    yield* world.account
  })
})
