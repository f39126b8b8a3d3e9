/**
 * PostgreSQL fails over to a standby whose former primary freezes. The other ways are in
 * `PostgresFailovers.long.test.ts`.
 */
import { describe } from "vitest"
import { survives } from "../harness/Failover.ts"

describe("doorhook when PostgreSQL fails over to a standby", () => {
  survives({
    name: "the former primary freezes, and its connections stay open",
    before: ({ primary }) => primary.freeze()
  })
})
