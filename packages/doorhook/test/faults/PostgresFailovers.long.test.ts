/**
 * All other ways in which PostgreSQL fails over to a standby.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { sample } from "@doorhook/testkit/Sample"
import { startDoorhook } from "@doorhook/testkit/Doorhook"
import { configured, end } from "../harness/Delivering.ts"
import { live } from "../harness/Embedded.ts"
import type { Failover } from "../harness/Failover.ts"
import { makeReadOnly, replicated, survives } from "../harness/Failover.ts"

const others: ReadonlyArray<Failover> = [
  { name: "the former primary stays up, and its sessions become read-only", before: makeReadOnly },
  { name: "nobody fences the former primary, which still accepts changes", isUnfenced: true },
  { name: "the former primary is killed", before: ({ primary }) => primary.halt("SIGKILL") },
  {
    name: "the former primary restarts read-only before the address moves",
    before: async (servers) => {
      await makeReadOnly(servers)
      await servers.primary.halt("SIGINT")
      await servers.primary.resume()
    }
  },
  {
    name: "the former primary is shut down after the address has moved",
    before: makeReadOnly,
    after: ({ primary }) => primary.halt("SIGINT")
  }
]

describe("doorhook when PostgreSQL fails over to a standby in other ways", () => {
  for (const failover of sample(others, 3)) survives(failover)

  live("a start waits for a read-only server, says so, and goes on when it accepts changes", function* () {
    const servers = yield* replicated
    servers.moveAddress()
    const flags = yield* configured(servers.url)
    const service = yield* startDoorhook(["serve", "--port", "0", ...flags])
    yield* Effect.promise(() => service.complained(/is a standby or a read-only server\. Waiting up to 60 s/))
    yield* Effect.promise(() => servers.promote())
    yield* Effect.promise(() => service.printed(/doorhook listening on/))
    assert.strictEqual((yield* end(service, "SIGTERM")).code, 0)
  })
})
