/**
 * All other ways in which PostgreSQL fails over to a standby.
 */
import { describe } from "vitest"
import { makeReadOnly, survives } from "../harness/Failover.ts"

describe("doorhook when PostgreSQL fails over to a standby in other ways", () => {
  survives({ name: "nobody fences the former primary, which still accepts changes", isUnfenced: true })
  survives({ name: "the former primary is killed", before: ({ primary }) => primary.halt("SIGKILL") })
  survives({
    name: "the former primary restarts read-only before the address moves",
    before: async (servers) => {
      await makeReadOnly(servers)
      await servers.primary.halt("SIGINT")
      await servers.primary.resume()
    }
  })
  survives({
    name: "the former primary is shut down after the address has moved",
    before: makeReadOnly,
    after: ({ primary }) => primary.halt("SIGINT")
  })
})
