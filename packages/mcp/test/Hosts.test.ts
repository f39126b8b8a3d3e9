/**
 * The endpoint on the servers of hosts: with doorhook's own routes, and with a stream that asks the user.
 */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as Hosts from "../../doorhook/test/embedding/Hosts.ts"
import { live, start } from "../../doorhook/test/harness/Embedded.ts"
import { mcp } from "../src/index.ts"
import { directory, tokenFor, Wire } from "./Assistant.ts"

const publicUrl = "https://doors.example"

const hosts = [
  ["node:http", Hosts.plainHost],
  ["Express", Hosts.expressHost],
  ["Express, behind body parsers", Hosts.expressBehindParsers],
  ["Express, under a path", Hosts.expressUnderPath],
  ["Fastify", Hosts.fastifyHost],
  ["Hono", Hosts.honoHost]
] as const

describe("the endpoint", () => {
  for (const [name, host] of hosts) {
    live(`asks the user and answers on ${name}`, function* () {
      const tools = { open: { description: "Opens.", confirm: () => "Open?", run: () => ({ opened: true }) } }
      const doorhook = yield* start({ directory, publicUrl, mcp: mcp({ tools }) })
      const { url } = yield* host(doorhook)
      const wire = new Wire(url, yield* tokenFor(url, "ada", { resource: `${publicUrl}/mcp` }))
      const result = yield* Effect.promise(async () => {
        await wire.initialize({ elicitation: {} })
        const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "open" } }
        const stream = await wire.request(JSON.stringify(call))
        const reader = (stream.body ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader()
        const { value: question = "" } = await reader.read()
        const { id } = Object(JSON.parse(question.slice(question.indexOf("{"))))
        await wire.send({ id, result: { action: "accept", content: {} } })
        return (await reader.read()).value
      })
      assert.include(result, '"structuredContent":{"opened":true}')
    })
  }
})
