/**
 * `doorhook serve --mcp`: the command as a process, and the MCP SDK's own client, which knows only the URL.
 */
import { operatorKey, startService } from "@doorhook/testkit/Doorhook"
import { temporaryFolder } from "@doorhook/testkit/Process"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { live } from "../../doorhook/test/harness/Embedded.ts"
import { callApi } from "../../doorhook/test/harness/ThirdParty.ts"
import { connect, startAssistantSite } from "./Assistant.ts"

const directory = {
  clients: [],
  users: [{ login: "ada", password: "right", buildings: [1] }],
  buildings: [{ id: 1, name: "Tower 1", time_zone: "Europe/Berlin", access_points: [] }],
  tenants: []
}

/** Starts the service with these arguments. */
const started = Effect.fnUntraced(function* (...more: ReadonlyArray<string>) {
  const { id, site } = yield* startAssistantSite
  const folder = yield* temporaryFolder
  const write = (name: string, content: object) =>
    Effect.as(
      Effect.promise(() => writeFile(join(folder, name), JSON.stringify(content))),
      join(folder, name)
    )
  const people = yield* write("directory.json", directory)
  const config = yield* write("doorhook.json", { clientIdMetadata: "any", caFile: site.caFile })
  const { url } = yield* startService([
    "--database",
    "memory",
    "--directory",
    people,
    "--config",
    config,
    "--allow-target",
    "127.0.0.0/8",
    ...more
  ])
  return { id, url }
})

describe("doorhook serve", () => {
  live("--mcp lets an assistant log in and read events", function* () {
    const { id, url } = yield* started("--mcp")
    const event = { resource_type: "call", action: "create", building_id: 1, data: { id: 7 } }
    yield* Effect.promise(() => callApi(url, operatorKey, "POST", "/operator/events", event))
    const { client } = yield* connect({ id, url })
    const { content } = yield* Effect.promise(() =>
      client.callTool({ name: "list_events", arguments: { building_id: 1 } })
    )
    assert.include(JSON.stringify(content), String.raw`\"data\":{\"id\":7}`)
  })

  live("has no such endpoint without the flag", function* () {
    const { url } = yield* started()
    const answer = yield* Effect.promise(() => fetch(`${url}/mcp`, { method: "POST" }))
    assert.strictEqual(answer.status, 404)
  })
})
