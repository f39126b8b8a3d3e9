/**
 * An assistant that knows only the URL of the endpoint logs in by metadata, with the MCP SDK's own client.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { live } from "../../doorhook/test/harness/Embedded.ts"
import { connect, startEndpoint } from "./Assistant.ts"

describe("the MCP SDK's client", () => {
  for (const database of ["memory", "SQLite"]) {
    live(`logs in by metadata alone, and lists and calls tools, over ${database}`, function* () {
      const file = join(yield* temporaryFolder, "doors.db")
      const endpoint = yield* startEndpoint({ database: database === "memory" ? database : file })
      const { authProvider, client } = yield* connect(endpoint)
      const asked = new URL(authProvider.asked).searchParams
      assert.strictEqual(asked.get("resource"), `${endpoint.url}/mcp`)
      assert.strictEqual(asked.get("client_id"), endpoint.id)
      assert.strictEqual(asked.get("scope"), "public")
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.includeMembers(
        tools.map(({ name }) => name),
        ["list_places"]
      )
      const { structuredContent } = yield* Effect.promise(() => client.callTool({ name: "list_places" }))
      assert.deepStrictEqual(structuredContent, {
        buildings: [{ id: 1, name: "Tower 1", time_zone: "Europe/Berlin", access_points: [{ id: 10, name: "Front" }] }],
        tenants: []
      })
    })
  }
})
