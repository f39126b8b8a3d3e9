import { mcp } from "@doorhook/mcp"
import { createDoorhook } from "doorhook"
for (const entry of [
  "doorhook/effect",
  "@doorhook/core",
  "@doorhook/core/testing",
  "@doorhook/sql",
  "@doorhook/sql/postgres",
  "@doorhook/node",
  "@doorhook/server",
  "@doorhook/receiver",
  "@doorhook/simulator",
  "@doorhook/conformance"
]) {
  if (Object.keys(await import(entry)).length === 0) throw new Error(entry + " exports nothing")
}
const doorhook = await createDoorhook({
  database: "memory",
  mcp: mcp(),
  directory: { client: () => null, authenticate: () => null, administers: () => true, isTenant: () => false }
})
const { id } = await doorhook.publish({ resource_type: "call", action: "create", building_id: 1, data: { id: 1 } })
if (!id.startsWith("evt_")) throw new Error(id)
const answer = await doorhook.fetch(new Request("http://localhost/health/ready"))
if (answer.status !== 200) throw new Error(await answer.text())
const refused = await doorhook.fetch(new Request("http://localhost/mcp", { method: "POST" }))
if (refused.status !== 401) throw new Error(await refused.text())
await doorhook.close()
